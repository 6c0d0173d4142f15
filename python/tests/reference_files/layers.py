"""What write.py saves and reference_files_test.py makes again: the same calls for both packages, `p`."""

import numpy as np

LAYERS = {
    "linear": lambda p: p.nn.Linear(4, 3),
    "conv_bn": lambda p: p.nn.Sequential(p.nn.Conv2D(2, 3, 3), p.nn.BatchNorm2D(3), p.nn.PReLU(3)),
    "lstm": lambda p: p.nn.LSTM(4, 3, num_layers=2, direction="bidirect"),
    "gru": lambda p: p.nn.GRU(4, 3),
    "rnn": lambda p: p.nn.SimpleRNN(4, 3, num_layers=2),
    "embedding": lambda p: p.nn.Embedding(10, 3),
    "encoder_layer": lambda p: p.nn.TransformerEncoderLayer(4, 2, 6),
    "norms": lambda p: p.nn.Sequential(p.nn.GroupNorm(1, 2), p.nn.InstanceNorm2D(2), p.nn.LayerNorm(5)),
    "transposed": lambda p: p.nn.Conv2DTranspose(2, 3, 3, stride=2),
}

OPTIMIZERS = {
    "adam": lambda p, lr, params: p.optimizer.Adam(lr, parameters=params),
    "momentum": lambda p, lr, params: p.optimizer.Momentum(lr, 0.9, parameters=params),
    "rmsprop": lambda p, lr, params: p.optimizer.RMSProp(lr, momentum=0.9, centered=True, parameters=params),
    "lamb": lambda p, lr, params: p.optimizer.Lamb(lr, parameters=params),
}


def input_of(name):
    rng = np.random.default_rng(len(name))
    if name == "embedding":
        return rng.integers(0, 10, [2, 3])
    shape = [2, 2, 5, 5] if name in ("conv_bn", "norms", "transposed") else [2, 3, 4]
    return rng.standard_normal(shape).astype("float32")


def training(p, make):
    """(network, optimizer, schedule of its rate)."""
    net = p.nn.Sequential(p.nn.Linear(4, 3), p.nn.Linear(3, 2))
    for i, parameter in enumerate(net.parameters()):
        values = np.random.default_rng(i).standard_normal(parameter.shape).astype("float32")
        parameter.set_value(p.to_tensor(values))
    schedule = p.optimizer.lr.StepDecay(0.1, step_size=2)
    return net, make(p, schedule, net.parameters()), schedule


def steps(p, net, optimizer, schedule, count):
    x = p.to_tensor(np.arange(8, dtype="float32").reshape(2, 4) / 8)
    for _ in range(count):
        (net(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
