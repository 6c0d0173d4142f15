# Functions with gradients of their own: straight-through rounding, gradient reversal, tanh.
import numpy as np
import paddle
import paddle.nn as nn
from paddle.autograd import PyLayer


class Tanh(PyLayer):
    @staticmethod
    def forward(ctx, x, func1, func2=paddle.square):
        ctx.func = func2
        y = func1(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return dy * (1 - ctx.func(y))


class Quantize(PyLayer):
    @staticmethod
    def forward(ctx, x, bits):
        scale = 2**bits - 1
        ctx.save_for_backward(x)
        return paddle.round(paddle.clip(x, 0.0, 1.0) * scale) / scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        inside = paddle.logical_and(x >= 0, x <= 1).astype(grad.dtype)
        return grad * inside


class ReverseGrad(PyLayer):
    @staticmethod
    def forward(ctx, x, y, alpha):
        ctx.alpha = alpha
        return x * 1.0, y * 2.0

    @staticmethod
    def backward(ctx, gx, gy):
        return -ctx.alpha * gx, 2.0 * gy


data = paddle.to_tensor(np.linspace(-1.5, 1.5, 12).reshape(3, 4).astype("float32"))
data.stop_gradient = False
z = Tanh.apply(data, func1=paddle.tanh)
z.mean().backward()
print(["%.6f" % v for v in data.grad.numpy().ravel()])

layer = nn.Linear(4, 3)
out = Quantize.apply(nn.functional.sigmoid(layer(data.detach())), 3)
loss = (out**2).sum()
loss.backward()
print("%.5f" % loss.item(), ["%.5f" % v for v in layer.weight.grad.numpy().ravel()])

a = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
b = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
u, v = ReverseGrad.apply(a, b, 0.5)
paddle.autograd.backward([u.sum(), (v * v).sum()])
print(a.grad.tolist(), b.grad.tolist())
