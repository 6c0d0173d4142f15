"""Random tensors."""

from proa import _C
from proa.framework.attributes import reals
from proa.framework.dtype import as_dtype, convert_dtype
from proa.framework.names import borrow as _borrow
from proa.tensor.attribute import tensor_or_number

__all__ = [
    "normal",
    "rand",
    "randint_like",
    "randn",
    "standard_normal",
]


def rand(shape, dtype=None, name=None):
    """Independent numbers, evenly distributed in [0, 1).

    Examples:
        >>> proa.rand([2, 3]).shape
        [2, 3]
    """
    return _C.ops.uniform(shape, as_dtype(dtype) or _C.get_default_dtype(), 0.0, 1.0)


def gaussian(shape, mean=0.0, std=1.0, dtype=None, name=None):
    """Independent numbers of the normal distribution with this mean and deviation, as initializers of programs draw them."""
    return _C.ops.gaussian(shape, as_dtype(dtype) or _C.get_default_dtype(), mean, std)


def randn(shape, dtype=None, name=None):
    """Independent numbers of the normal distribution with mean 0 and deviation 1.

    Examples:
        >>> proa.randn([2, 3]).shape
        [2, 3]
    """
    return _C.ops.gaussian(shape, as_dtype(dtype) or _C.get_default_dtype(), 0.0, 1.0)


def standard_normal(shape, dtype=None, name=None):
    """The same as randn.

    Examples:
        >>> proa.standard_normal([2, 3]).shape
        [2, 3]
    """
    return randn(shape, dtype)


def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Independent numbers of normal distributions.

    Args:
        mean (float|Tensor): a mean for all, or one each.
        std (float|Tensor): a deviation for all, or one each.
        shape (list[int]|Tensor, optional): of the result, if both are numbers.

    Examples:
        >>> proa.normal(mean=0.0, std=1.0, shape=[2, 3]).shape
        [2, 3]
    """
    mean, std = tensor_or_number(mean, "normal", "mean"), tensor_or_number(std, "normal", "std")
    if isinstance(mean, _C.Tensor) or isinstance(std, _C.Tensor):
        mean, std = reals("normal", mean=mean, std=std)
        like = mean + std
        return _C.ops.gaussian(like.shape, like.dtype, 0.0, 1.0) * std + mean
    if shape is None:
        shape = [1]
    return _C.ops.gaussian(shape, _C.get_default_dtype(), float(mean), float(std))


def randint_like(x, low=0, high=None, dtype=None, name=None):
    """Independent integers in [low, high), or [0, low) without high, in the shape and dtype of x.

    Examples:
        >>> proa.randint_like(proa.ones([2, 3]), 0, 10).shape
        [2, 3]
    """
    x = _C.tensor_argument(x, "randint_like", "x")
    dtype = as_dtype(dtype) or x.dtype
    whole = dtype if convert_dtype(dtype).startswith(("int", "uint")) else _C.int64
    out = _C.ops.randint(low, high, x.shape, whole)
    return out if whole is dtype else _C.ops.cast(out, dtype)


__getattr__ = _borrow(__name__, "proa")
