# Activation layers and functions on one line of numbers, with gradients.
import numpy as np
import paddle
import paddle.nn as nn

values = np.linspace(-4, 4, 9).astype("float32") + 0.05
layers = [
    nn.CELU(0.8),
    nn.ELU(0.5),
    nn.GELU(),
    nn.GELU(True),
    nn.Hardshrink(),
    nn.Hardsigmoid(),
    nn.Hardswish(),
    nn.Hardtanh(-0.9, 1.2),
    nn.LeakyReLU(0.2),
    nn.LogSigmoid(),
    nn.LogSoftmax(),
    nn.Maxout(3),
    nn.Mish(),
    nn.PReLU(1, 0.3),
    nn.ReLU(),
    nn.ReLU6(),
    nn.SELU(),
    nn.Sigmoid(),
    nn.Silu(),
    nn.Softmax(),
    nn.Softplus(2.0, 15.0),
    nn.Softshrink(0.4),
    nn.Softsign(),
    nn.Swish(),
    nn.Tanh(),
    nn.Tanhshrink(),
    nn.ThresholdedReLU(0.9),
]
for layer in layers:
    x = paddle.to_tensor(values, stop_gradient=False)
    y = layer(x.reshape([1, 9, 1, 1]) if isinstance(layer, nn.Maxout) else x)
    (y * paddle.arange(1, y.size + 1, dtype="float32").reshape(y.shape)).sum().backward()
    print(type(layer).__name__, "%.5f" % float(y.sum()), "%.5f" % float(x.grad.sum()))
print(nn.functional.glu(paddle.to_tensor(values[:8])).numpy().round(4).astype("float64").tolist())
