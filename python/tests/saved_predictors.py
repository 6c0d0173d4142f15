"""Predictors of networks that a test makes, and numbers for both."""

import numpy as np

import proa
from proa import inference, nn

# Those that predictors compute in one operation with a convolution or a linear layer.
ACTIVATIONS = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "leaky_relu": lambda: nn.LeakyReLU(0.3),
    "hardtanh": lambda: nn.Hardtanh(-0.4, 0.7),
    "hardsigmoid": nn.Hardsigmoid,
    "hardswish": nn.Hardswish,
    "mish": nn.Mish,
    "silu": nn.Silu,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate=True),
}


def random(shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def randomize(net):
    """Other numbers for all parameters and statistics, so that each matters."""
    rng = np.random.RandomState(0)
    for name, value in net.state_dict().items():
        low = 0.5 if name.endswith("variance") else -0.5
        value.set_value((low + rng.rand(*value.shape)).astype("float32"))


def predictor_of(net, specs, folder, change=lambda config: None):
    """A predictor of `net` as saved in `folder`; `change` has the Config before."""
    net.eval()
    proa.jit.save(net, str(folder / "net"), specs)
    config = inference.Config(str(folder / "net"))
    change(config)
    return inference.create_predictor(config)
