"""What training uses inside of converted functions: layers of Python with gradients of their own, recompute, mixed precision."""

import proa as paddle
from proa import nn
from proa.autograd import PyLayer
from proa.distributed.fleet.utils import recompute
from python.tests.converted_registry import supported


class _Steep(PyLayer):
    """tanh whose gradient is twice as steep."""

    @staticmethod
    def forward(ctx, x):
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensor()
        return grad * 2.0 * (1.0 - y * y)


@supported
def own_gradient(x):
    """A PyLayer"""
    return _Steep.apply(x) * x


@supported
def own_gradient_in_branch(x):
    """A PyLayer in a branch of a tensor"""
    y = x * 0.5
    if x.sum() > 0:
        y = _Steep.apply(y)
    return y + x


def _block(x):
    y = paddle.tanh(x) * x
    return paddle.exp(-y)


@supported
def computed_again(x):
    """`recompute` of a function"""
    return recompute(_block, x) + x


@supported
def computed_again_before_a_branch(x):
    """`recompute`, and a branch on what it gives"""
    y = recompute(_block, x)
    if y.mean() > 1.0:
        y = y * 2.0
    return y


paddle.seed(5)
_linear, _head = nn.Linear(4, 4), nn.Linear(4, 3)
_norm = nn.BatchNorm1D(4)
_norm.eval()
_drop = nn.Dropout(0.5)


@supported
def lower_precision(x):
    """`amp.auto_cast` around some of the layers"""
    with paddle.amp.auto_cast(dtype="bfloat16"):
        y = _linear(x)
    return y.astype("float32") * x


@supported
def lower_precision_around_a_branch(x):
    """A branch of a tensor under `amp.auto_cast`"""
    with paddle.amp.auto_cast(dtype="bfloat16"):
        if x.sum() > 0:
            y = _linear(x)
        else:
            y = _linear(-x)
    return y.astype("float32")


@supported
def statistics(x):
    """Batch normalization in evaluation mode, which reads its buffers"""
    return _norm(x * 2.0)


@supported
def modes(x):
    """Dropout that `eval` turns off, and a mode that the function asks for"""
    _drop.eval()
    y = _drop(x)
    if _drop.training:
        y = y * 100.0
    return y + x


class _Counted(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", paddle.to_tensor([0.5, -0.5, 1.0, 0.0]))
        self.inner = _head

    def forward(self, x):
        y = x + self.shift
        if self.shift.sum() > 0:
            y = y * 2.0
        return self.inner(y)


_counted = _Counted()


@supported
def buffers(x):
    """A buffer of a layer, in a condition too"""
    return _counted(x)


@supported
def slope_inside(x):
    """`paddle.grad` of a value inside of the function"""
    y = (x * x * x).sum()
    (slope,) = paddle.grad(y, x, create_graph=True)
    return slope + x


@supported
def limited_by_norm(x):
    """A value that is scaled by its norm where that is too large"""
    norm = paddle.sqrt((x * x).sum())
    if norm > 1.0:
        x = x * (1.0 / norm)
    return x
