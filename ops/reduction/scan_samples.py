"""References of running sums and products."""

import numpy as np


def _kind(x, dtype):
    if dtype is not None and dtype not in ("float16", "bfloat16"):
        return np.dtype(dtype)
    return np.dtype(np.int64) if x.dtype.kind in "biu" else x.dtype


def _scan(f, x, axis, dtype):
    x = x.astype(_kind(x, dtype))
    return x if x.ndim == 0 and axis is not None else f(x, axis=axis)


def reference_cumsum(x, axis=None, dtype=None):
    return _scan(np.cumsum, x, axis, dtype)


def reference_cumprod(x, dim=None, dtype=None):
    dtype = "int32" if dtype is None and x.dtype == np.int32 else dtype
    return _scan(np.cumprod, x, dim, dtype)


def reference_cumsum_backward(grad_out, shape, axis=None):
    if axis is None:
        return np.cumsum(grad_out[::-1])[::-1].reshape(shape)
    return np.flip(np.cumsum(np.flip(grad_out, axis), axis), axis)


def reference_cumprod_backward(grad_out, x, dim=None):
    flat = x.reshape(-1) if dim is None else x
    axis = 0 if dim is None else dim
    terms = grad_out * np.conj(np.cumprod(flat, axis))
    return (np.flip(np.cumsum(np.flip(terms, axis), axis), axis) / np.conj(flat)).reshape(x.shape)


def gradients_cumprod():
    """No zero, one and two."""
    x = np.array([[2.0, 3.0, 5.0, 7.0], [2.0, 0.0, 5.0, 7.0], [2.0, 0.0, 5.0, 0.0]])
    gradient = np.array(
        [[1 + 3 + 15 + 105, 2 + 10 + 70, 6 + 42, 30], [1, 2 + 10 + 70, 0, 0], [1, 2 + 10, 0, 0]], dtype=np.float64
    )
    yield {"x": x, "dim": 1}, {"x": gradient}
