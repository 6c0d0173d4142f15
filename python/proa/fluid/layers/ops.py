"""Functions of one tensor, under their old names and arguments."""

import functools

import proa
from proa import _C
from proa.fluid.layers.blocks import write
from proa.nn import functional as F

# From the old name to the function; each takes (x, name=None).
_SAME = {
    "abs": proa.abs,
    "acos": proa.acos,
    "asin": proa.asin,
    "atan": proa.atan,
    "ceil": proa.ceil,
    "cos": proa.cos,
    "cosh": proa.cosh,
    "erf": proa.erf,
    "exp": proa.exp,
    "floor": proa.floor,
    "log": proa.log,
    "logsigmoid": F.log_sigmoid,
    "reciprocal": proa.reciprocal,
    "relu": F.relu,
    "round": proa.round,
    "rsqrt": proa.rsqrt,
    "sigmoid": F.sigmoid,
    "sign": proa.sign,
    "sin": proa.sin,
    "sinh": proa.sinh,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "sqrt": proa.sqrt,
    "square": proa.square,
    "tanh": proa.tanh,
    "tanh_shrink": F.tanhshrink,
    "log1p": proa.log1p,
    "isfinite": lambda x: proa.all(proa.isfinite(x)).reshape([1]),
    "has_inf": lambda x: proa.any(proa.isinf(x)).reshape([1]),
    "has_nan": lambda x: proa.any(proa.isnan(x)).reshape([1]),
    "rank": proa.rank,
    "size": proa.numel,
    "shape": _C.ops.shape,
    "zeros_like": lambda x: proa.zeros_like(x),
    "ones_like": lambda x: proa.ones_like(x),
}


def _plain(name, function):
    def call(x=None, out=None, name=None, input=None):
        return function(input if x is None else x)

    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__
    call.__doc__ = f"{name} of each element of x." if name not in ("rank", "size", "shape") else f"The {name} of x."
    return call


for _name, _function in _SAME.items():
    globals()[_name] = _plain(_name, _function)


def _refusing(message):
    raise _C.located(ValueError(message))


def relu6(x, threshold=6.0, name=None):
    """min(max(0, x), threshold)."""
    return _C.ops.clip(x, 0.0, threshold)


def leaky_relu(x, alpha=0.02, name=None):
    """x, and alpha * x where x is negative."""
    return F.leaky_relu(x, alpha)


def elu(x, alpha=1.0, name=None):
    """x, and alpha * (exp(x) - 1) where x is negative."""
    return F.elu(x, alpha)


def selu(x, scale=None, alpha=None, name=None):
    """scale * (x, or alpha * (exp(x) - 1) where x is negative)."""
    given = {key: value for key, value in (("scale", scale), ("alpha", alpha)) if value is not None}
    return F.selu(x, **given)


def gelu(x, approximate=False):
    """x times the share of a normal distribution below x."""
    return F.gelu(x, approximate)


def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """x between t_min and t_max."""
    return _C.ops.clip(x, t_min, t_max)


def soft_relu(x, threshold=40.0, name=None):
    """log(1 + exp(x)), of x between -threshold and threshold."""
    return proa.log1p(proa.exp(_C.ops.clip(x, -threshold, threshold)))


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b * tanh(scale_a * x)."""
    return proa.stanh(x, scale_a, scale_b)


def hard_sigmoid(x, slope=0.2, offset=0.5, name=None):
    """slope * x + offset, between 0 and 1."""
    return _C.ops.clip(x * slope + offset, 0.0, 1.0)


def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """x * min(max(0, x + offset), threshold) / scale."""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return F.hardswish(x)
    return x * _C.ops.clip(x + offset, 0.0, threshold) / scale


def swish(x, beta=1.0, name=None):
    """x * sigmoid(beta * x)."""
    return x * F.sigmoid(x * beta) if beta != 1.0 else F.silu(x)


def mish(x, threshold=20, name=None):
    """x * tanh(softplus(x))."""
    return F.mish(x)


def maxout(x, groups, name=None, axis=1):
    """The maxima of groups of channels."""
    return F.maxout(x, groups, axis)


def softshrink(x, alpha=None):
    """x nearer to 0 by alpha."""
    return F.softshrink(x, 0.5 if alpha is None else alpha)


def hard_shrink(x, threshold=None):
    """x, and 0 where x is within threshold of 0."""
    return F.hardshrink(x, 0.5 if threshold is None else threshold)


def thresholded_relu(x, threshold=None):
    """x, and 0 where x is not above threshold."""
    return F.thresholded_relu(x, 1.0 if threshold is None else threshold)


def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Running sums along axis (the last unless given); `exclusive` leaves out the element itself, `reverse` starts at the end."""
    axis = -1 if axis is None else axis
    x = x.flip([axis]) if reverse else x
    total = proa.cumsum(x, axis)
    total = total - x if exclusive else total
    return total.flip([axis]) if reverse else total


def pow(x, factor=1.0, name=None):
    """x to the power of factor."""
    return proa.pow(x, factor)


def clip(x, min, max, name=None):
    """x between min and max."""
    return _C.ops.clip(x, min, max)


def clip_by_norm(x, max_norm, name=None):
    """x, scaled down if its L2 norm is above max_norm."""
    norm = proa.sqrt(proa.sum(proa.square(x)))
    return x * (max_norm / _C.ops.clip(norm, max_norm, None))


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale * x + bias; or scale * (x + bias)."""
    from proa.fluid.layers.arguments import act_on

    return act_on(proa.scale(x, scale, bias, bias_after_scale), act)


def increment(x, value=1.0, in_place=True):
    """x + value; x itself is changed unless in_place is False."""
    if not in_place:
        return x + value
    return write(x, x + _C.ops.full_like(x, value))


@functools.wraps(proa.uniform)
def uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0, name=None):
    return proa.uniform(shape, dtype, min, max, seed)


def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32", name=None):
    """Random numbers of a normal distribution."""
    return _C.ops.gaussian(shape, dtype, float(mean), float(std), seed)


def sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """For each row of probabilities, a random column."""
    return proa.multinomial(x, 1).reshape([-1])


__all__ = [
    *_SAME, "brelu", "clip", "clip_by_norm", "cumsum", "elu", "gaussian_random", "gelu", "hard_shrink", "hard_sigmoid",
    "hard_swish", "increment", "leaky_relu", "maxout", "mish", "pow", "relu6", "sampling_id", "scale", "selu",
    "soft_relu", "softshrink", "stanh", "swish", "thresholded_relu", "uniform_random",
]  # fmt: skip
