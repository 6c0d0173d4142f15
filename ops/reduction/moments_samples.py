"""References of variance and of sums in other scales."""

import numpy as np


def _axis(x, axis):
    return tuple(axis) if axis and x.ndim else None


def _wide(x):
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def reference_var(x, axis=(), unbiased=True, keepdim=False):
    return np.var(_wide(x), axis=_axis(x, axis), ddof=int(unbiased), keepdims=keepdim)


def reference_std(x, axis=(), unbiased=True, keepdim=False):
    return np.sqrt(reference_var(x, axis, unbiased, keepdim))


def reference_var_backward(grad_out, x, axis=(), unbiased=True, keepdim=False):
    if not keepdim and axis:
        grad_out = np.expand_dims(grad_out, tuple(axis))
    mean = np.mean(x, axis=_axis(x, axis), keepdims=True)
    count = x.size / mean.size
    return grad_out * 2 * (x - mean) / (count - int(unbiased))


def reference_std_backward(grad_out, x, out, axis=(), unbiased=True, keepdim=False):
    # 1 / (2 out) times the gradient of var.
    return reference_var_backward(grad_out / (2 * out), x, axis, unbiased, keepdim)


def reference_logsumexp_backward(grad_out, x, out, axis=(), keepdim=False):
    if not keepdim and axis:
        grad_out, out = np.expand_dims(grad_out, tuple(axis)), np.expand_dims(out, tuple(axis))
    return grad_out * np.exp(x - out)


def reference_logsumexp(x, axis=(), keepdim=False):
    x = _wide(x)
    return (
        np.logaddexp.reduce(x, axis=_axis(x, axis), keepdims=keepdim)
        if x.ndim < 2 or axis and len(axis) == 1
        else (np.log(np.sum(np.exp(x), axis=_axis(x, axis), keepdims=keepdim)))
    )


def reference_nanmean(x, axis=(), keepdim=False):
    return np.nanmean(_wide(x), axis=_axis(x, axis), keepdims=keepdim)


def reference_count_nonzero(x, axis=(), keepdim=False):
    return np.count_nonzero(x, axis=_axis(x, axis), keepdims=keepdim) if x.ndim else np.asarray(int(x != 0))


def gradients_std():
    flat = np.array([[3.0, 3.0], [1.0, 3.0]])
    yield {"x": flat[0]}, {"x": [0.0, 0.0]}, {"x": [0.0, 0.0]}
    half = 0.5**0.5
    yield {"x": flat, "axis": [1]}, {"x": [[0.0, 0.0], [-half, half]]}
