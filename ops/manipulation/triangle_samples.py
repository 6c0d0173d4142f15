"""References of triangles and diagonals, in NumPy."""

import numpy as np


def _clamp(k):
    return max(-1000, min(1000, k))


def reference_tril(x, diagonal=0):
    return np.tril(x, _clamp(diagonal))


def reference_triu(x, diagonal=0):
    return np.triu(x, _clamp(diagonal))


def reference_diag(x, offset=0, padding_value=0):
    if x.ndim == 2:
        return np.diagonal(x, offset)
    n = x.size + abs(offset)
    out = np.full((n, n), padding_value, x.dtype)
    rows = np.arange(x.size) + max(-offset, 0)
    out[rows, rows + offset] = x
    return out


def reference_diag_grad(dy, shape, offset=0):
    if len(shape) == 1:
        return np.diagonal(dy, offset)
    out = np.zeros(shape, dy.dtype)
    rows = np.arange(dy.size) + max(-offset, 0)
    out[rows, rows + offset] = dy
    return out


def reference_diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros(x.shape[:-1] + (n, n), x.dtype)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    out[..., rows, rows + offset] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))
