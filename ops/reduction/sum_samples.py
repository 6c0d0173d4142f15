"""References of sums, means and products."""

import numpy as np


def _axis(x, axis):
    return tuple(axis) if axis and x.ndim else None


def _kind(x, dtype):
    """The type that NumPy should add up in."""
    if dtype is not None and dtype not in ("float16", "bfloat16"):
        return np.dtype(dtype)
    return np.dtype(np.int64) if x.dtype.kind in "biu" else x.dtype


def reference_sum(x, axis=(), dtype=None, keepdim=False):
    return np.sum(x.astype(_kind(x, dtype)), axis=_axis(x, axis), keepdims=keepdim)


def reference_nansum(x, axis=(), dtype=None, keepdim=False):
    return reference_sum(np.where(np.isnan(x), np.zeros((), x.dtype), x), axis, dtype, keepdim)


def reference_prod(x, axis=(), keepdim=False, dtype=None):
    dtype = "int32" if dtype is None and x.dtype == np.int32 else dtype
    return np.prod(x.astype(_kind(x, dtype)), axis=_axis(x, axis), keepdims=keepdim)


def reference_mean(x, axis=(), keepdim=False):
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x
    return np.mean(x, axis=_axis(x, axis), keepdims=keepdim)


def reference_prod_backward(grad_out, x, axis=(), keepdim=False):
    others = np.prod(x, axis=_axis(x, axis), keepdims=True) / x
    return reference_unreduce(grad_out, x.shape, axis, keepdim) * np.conj(others)


def reference_sum_to(x, shape):
    lead = x.ndim - len(shape)
    axis = tuple(range(lead)) + tuple(lead + i for i, d in enumerate(shape) if d == 1 and x.shape[lead + i] != 1)
    out = np.sum(x, axis=axis, keepdims=True, dtype=x.dtype) if axis else x
    return out.astype(x.dtype).reshape(shape)


def reference_reduce_to(x, shape):
    if x.dtype.kind == "b":
        return reference_sum_to(x.astype(np.int64), shape) != 0
    return reference_sum_to(x, shape)


def reference_unreduce(x, shape, axis=(), keepdim=False):
    if not keepdim and axis:
        x = np.expand_dims(x, tuple(a % len(shape) for a in axis))
    return np.broadcast_to(x, shape)


def reference_divide_by_count(x, shape, axis=()):
    return x / np.prod([shape[a] for a in axis] if axis else shape)


TOLERANCE = {
    "nansum": {"float32": (1e-5, 1e-4), "complex64": (1e-5, 1e-4), "float64": (1e-10, 1e-10)},
    "sum": {"float32": (1e-5, 1e-4), "complex64": (1e-5, 1e-4), "float64": (1e-10, 1e-10)},
    "mean": {"float32": (1e-5, 1e-5)},
}
