"""Activations that are more than one op, or have other arguments than their op."""

from proa import _C
from proa.framework.attributes import is_late, known_int, real, reals
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import as_tensor, require, require_multiple
from proa.tensor.manipulation import known_axis_of

__all__ = [
    "elu_",
    "glu",
    "gumbel_softmax",
    "log_sigmoid",
    "log_softmax",
    "maxout",
    "prelu",
    "relu_",
    "selu",
    "softmax",
    "softmax_",
    "softshrink",
    "tanh",
    "tanh_",
]


def _cast(x, dtype):
    return x if dtype is None else x.astype(dtype)


def softmax(x, axis=-1, dtype=None, name=None):
    """exp(x) over its sum along `axis`.

    Args:
        x (Tensor): floating point.
        axis (int): along which the result sums to 1.
        dtype (str, optional): x is cast to it first.

    Examples:
        >>> proa.nn.functional.softmax(proa.zeros([1, 4])).tolist()
        [[0.25, 0.25, 0.25, 0.25]]
    """
    return _C.ops.softmax(_cast(x, dtype), axis)


def log_softmax(x, axis=-1, dtype=None, name=None):
    """The logarithm of softmax, without overflow; arguments as in softmax.

    Examples:
        >>> np.round(proa.nn.functional.log_softmax(proa.to_tensor([0.0, 0.0])).astype("float64").numpy(), 4).tolist()
        [-0.6931, -0.6931]
    """
    return _C.ops.log_softmax(_cast(x, dtype), axis)


def softmax_(x, axis=-1, dtype=None, name=None):
    """softmax in place.

    Examples:
        >>> x = proa.to_tensor([0.0, 0.0])
        >>> _ = proa.nn.functional.softmax_(x)
        >>> x.tolist()
        [0.5, 0.5]
    """
    if dtype is not None and _cast(x, dtype).dtype != x.dtype:
        raise _C.located(TypeError(f"softmax_: the result in place has the dtype of x, {x.dtype.name}, not {dtype}"))
    return _C.ops.softmax_(x, axis)


def selu(x, scale=1.0507009873554805, alpha=1.6732632423543772, name=None):
    """scale * x for x > 0, else scale * alpha * (e^x - 1) (Klambauer et al., 2017).

    Args:
        x (Tensor): floating point.
        scale (float): above 1.
        alpha (float): not negative.

    Examples:
        >>> round(proa.nn.functional.selu(proa.to_tensor([1.0])).item(), 4)
        1.0507
    """
    if type(scale) is not float or type(alpha) is not float:
        scale, alpha = reals("selu", scale=scale, alpha=alpha)
    if not scale > 1.0:
        raise _C.located(ValueError(f"selu: scale must be above 1; it is {scale}"))
    if not alpha >= 0.0:
        raise _C.located(ValueError(f"selu: alpha must not be negative; it is {alpha}"))
    return _C.ops.selu(x, scale, alpha)


def softshrink(x, threshold=0.5, name=None):
    """x moved towards 0 by `threshold`, and 0 where |x| <= threshold.

    Args:
        x (Tensor): floating point.
        threshold (float): not negative.

    Examples:
        >>> proa.nn.functional.softshrink(proa.to_tensor([-1.0, 0.2, 2.0])).tolist()
        [-0.5, 0.0, 1.5]
    """
    if type(threshold) is not float:
        threshold = real("softshrink", "threshold", threshold)
    if not threshold >= 0.0:
        raise _C.located(ValueError(f"softshrink: threshold must not be negative; it is {threshold}"))
    return _C.ops.softshrink(x, threshold)


def relu_(x, name=None):
    """relu in place.

    Examples:
        >>> x = proa.to_tensor([-1.0, 1.0])
        >>> _ = proa.nn.functional.relu_(x)
        >>> x.tolist()
        [0.0, 1.0]
    """
    return _C.ops.relu_(x)


def elu_(x, alpha=1.0, name=None):
    """elu in place, for alpha >= 0: of a negative one the result does not tell the sign of x.

    Examples:
        >>> x = proa.to_tensor([0.0, 1.0])
        >>> _ = proa.nn.functional.elu_(x)
        >>> x.tolist()
        [0.0, 1.0]
    """
    if not alpha >= 0:
        raise _C.located(ValueError(f"elu_: alpha must not be negative; it is {alpha}; use elu"))
    return _C.ops.elu_(x, alpha)


def tanh(x, name=None):
    """Hyperbolic tangent.

    Examples:
        >>> proa.nn.functional.tanh(proa.to_tensor([0.0])).tolist()
        [0.0]
    """
    return _C.ops.tanh(x)


def tanh_(x, name=None):
    """tanh in place.

    Examples:
        >>> x = proa.to_tensor([0.0])
        >>> _ = proa.nn.functional.tanh_(x)
        >>> x.tolist()
        [0.0]
    """
    return _C.ops.tanh_(x)


def log_sigmoid(x, name=None):
    """log(1 / (1 + exp(-x))), without overflow.

    Examples:
        >>> np.round(proa.nn.functional.log_sigmoid(proa.to_tensor([0.0])).astype("float64").numpy(), 4).tolist()
        [-0.6931]
    """
    return _C.ops.logsigmoid(x)


def glu(x, axis=-1, name=None):
    """First half times sigmoid of the second half along `axis` (Dauphin et al., 2017).

    Examples:
        >>> proa.nn.functional.glu(proa.to_tensor([3.0, 0.0])).tolist()
        [1.5]
    """
    x = _C.tensor_argument(x, "glu", "x")
    axis = known_axis_of("glu", axis, x)
    x = require_multiple(x, x.shape[axis], 2, f"glu: the size of axis {axis} is odd; x is {{}} {x.dtype.name}", x)
    half = x.shape[axis] // 2
    a, b = _C.ops.split(x, [half, half], axis)
    return a * _C.ops.sigmoid(b)


def maxout(x, groups, axis=1, name=None):
    """The highest of `groups` channels that lie side by side along `axis` (Goodfellow et al., 2013).

    Examples:
        >>> proa.nn.functional.maxout(proa.to_tensor([[[[1.0]], [[2.0]]]]), groups=2).flatten().tolist()
        [2.0]
    """
    x, groups = _C.tensor_argument(x, "maxout", "x"), known_int("maxout", "groups", groups)
    axis = known_axis_of("maxout", axis, x)
    says = (
        f"maxout: groups must be above 1 and divide the size of axis {axis}; it is {groups}, x is {{}} {x.dtype.name}"
    )
    if groups <= 1:
        raise _C.located(ValueError(says.format(list(x.shape))))
    x = require_multiple(x, x.shape[axis], groups, says, x)
    split = [*x.shape[:axis], x.shape[axis] // groups, groups, *x.shape[axis + 1 :]]
    return _C.ops.max(_C.ops.reshape(x, split), axis + 1)


def prelu(x, weight, data_format="NCHW", name=None):
    """x where positive, weight * x elsewhere.

    Args:
        x (Tensor): [N, C, ...], or with the channels last.
        weight (Tensor): [1], or [C].
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.functional.prelu(proa.to_tensor([-2.0, 2.0]), proa.to_tensor([0.25])).tolist()
        [-0.5, 2.0]
    """
    x = _C.tensor_argument(x, "prelu", "x")
    weight = _C.tensor_argument(weight, "prelu", "weight")
    if not is_late(weight.size) and weight.size == 1:
        slope = _C.ops.reshape(weight, [1] * len(x.shape))
    else:
        if len(x.shape) < 2:
            raise _C.located(
                ValueError(f"prelu: a weight of each channel needs x of 2 dims or more; x is {list(x.shape)}")
            )
        axis = len(x.shape) - 1 if data_format[-1] == "C" and data_format != "NC" else 1
        sizes = [*weight.shape, x.shape[axis]]
        says = f"prelu: weight must be [1] or [{'C' if is_late(sizes) else sizes[1]}]; it is {{}}"
        if len(weight.shape) != 1 or not is_late(sizes) and sizes[0] != sizes[1]:
            raise _C.located(ValueError(says.format(list(weight.shape))))
        if is_late(sizes):
            given, channels = (as_tensor([n]) for n in sizes)
            weight = require(weight, (given == 1).logical_or(given == channels), says, _C.ops.shape(weight))
        shape = [1] * len(x.shape)
        shape[axis] = -1
        slope = _C.ops.reshape(weight, shape)
    return _C.ops.where(x > 0.0, x, x * slope)


def gumbel_softmax(x, temperature=1.0, hard=False, axis=-1, name=None):
    """Softmax of x plus Gumbel noise: a differentiable draw of a class (Jang et al., 2017).

    Args:
        x (Tensor): logits.
        temperature (float): positive; the lower, the nearer to one-hot.
        hard (bool): one-hot in the result, soft in the gradient.
        axis (int): where the classes are.

    Examples:
        >>> proa.nn.functional.gumbel_softmax(proa.ones([2, 3]), hard=True).sum(-1).tolist()
        [1.0, 1.0]
    """
    x = _C.tensor_argument(x, "gumbel_softmax", "x")
    temperature = real("gumbel_softmax", "temperature", temperature)
    if temperature <= 0:
        raise _C.located(ValueError(f"gumbel_softmax: temperature must be positive; it is {temperature}"))
    ops = _C.ops
    # Away from 0 and 1, so that both logarithms are finite.
    even = ops.clip(ops.uniform(x.shape, x.dtype, 0.0, 1.0), 1e-6, 1.0 - 1e-6)
    soft = ops.softmax((x - (-even.log()).log()) * (1.0 / temperature), axis)
    if not hard:
        return soft
    index = ops.argmax(soft, axis, True)
    one = ops.full_like(index, 1.0, x.dtype)
    hot = ops.put_along_axis(ops.full_like(soft.detach(), 0.0), index, one, axis)
    return hot - soft.detach() + soft


__getattr__ = _borrow(__name__, "proa.nn.functional")
