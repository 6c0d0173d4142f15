# Initializers that draw nothing, those that draw by their moments, ParamAttr of all kinds.
import numpy as np
import paddle
import paddle.nn as nn
from paddle.nn import initializer as I

linear = nn.Linear(3, 2, weight_attr=I.Assign(np.arange(6).reshape(3, 2).astype("float32")), bias_attr=I.Constant(0.5))
print(linear.weight.numpy().tolist(), linear.bias.numpy().tolist())
conv = nn.Conv2D(2, 2, 3, weight_attr=paddle.ParamAttr(initializer=I.Dirac()), bias_attr=False)
x = paddle.rand([1, 2, 5, 5])
print("dirac", bool((conv(x) - x[:, :, 1:-1, 1:-1]).abs().max().item() < 1e-6))
up = nn.Conv2DTranspose(
    1, 1, 4, stride=2, padding=1, weight_attr=paddle.ParamAttr(initializer=I.Bilinear()), bias_attr=False
)
print(["%.4f" % v for v in up.weight.numpy().ravel()])
frozen = nn.Linear(
    2, 2, weight_attr=paddle.ParamAttr(name="frozen_w", learning_rate=0.1, trainable=False, initializer=I.Constant(2.0))
)
print(
    frozen.weight.name,
    frozen.weight.stop_gradient,
    frozen.weight.trainable,
    frozen.weight.optimize_attr["learning_rate"],
)

# learning_rate of a ParamAttr scales the optimizer's.
pair = nn.LayerList(
    [
        nn.Linear(1, 1, weight_attr=paddle.ParamAttr(learning_rate=rate, initializer=I.Constant(1.0)), bias_attr=False)
        for rate in (1.0, 0.1)
    ]
)
opt = paddle.optimizer.SGD(0.5, parameters=pair.parameters())
sum(layer(paddle.ones([1, 1])).sum() for layer in pair).backward()
opt.step()
print(["%.4f" % layer.weight.item() for layer in pair])


def moments(initializer, shape):
    p = paddle.create_parameter(shape, "float32", default_initializer=initializer)
    v = p.numpy()
    return v


checks = {
    "normal": lambda v: abs(v.std() - 0.2) < 0.01,
    "truncated": lambda v: abs(v).max() <= 2.0,
    "uniform": lambda v: v.min() >= -0.3 and v.max() <= 0.1,
    "xavier_uniform": lambda v: abs(v).max() <= (6 / 300) ** 0.5 + 1e-6,
    "xavier_normal": lambda v: abs(v.std() - (2 / 300) ** 0.5) < 0.005,
    "kaiming_uniform": lambda v: abs(v).max() <= (6 / 100) ** 0.5 + 1e-6,
    "kaiming_normal": lambda v: abs(v.std() - (2 / 100) ** 0.5) < 0.01,
}
made = {
    "normal": I.Normal(0.0, 0.2),
    "truncated": I.TruncatedNormal(0.0, 0.2),
    "uniform": I.Uniform(-0.3, 0.1),
    "xavier_uniform": I.XavierUniform(),
    "xavier_normal": I.XavierNormal(),
    "kaiming_uniform": I.KaimingUniform(),
    "kaiming_normal": I.KaimingNormal(),
}
for name, initializer in made.items():
    print(name, bool(checks[name](moments(initializer, [100, 200]))))
q = moments(I.Orthogonal(), [6, 6])
print("orthogonal", bool(np.abs(q @ q.T - np.eye(6)).max() < 1e-5))
print("gain", "%.5f %.5f" % (I.calculate_gain("tanh"), I.calculate_gain("leaky_relu", 0.1)))
I.set_global_initializer(I.Constant(0.25), I.Constant(0.125))
layer = nn.Linear(2, 2)
print(layer.bias.numpy().tolist())
I.set_global_initializer(None)
