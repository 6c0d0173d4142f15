"""References of choosing by a condition, in NumPy."""

import numpy as np

from ops.conformance.samples import Sample


def reference_nonzero(x):
    return np.stack(np.nonzero(np.atleast_1d(x)), -1)[:, : x.ndim]


def samples_nonzero():
    yield Sample(((np.arange(40000) % 3 == 0).reshape(200, 200),), {}, "bool several chunks")


def reference_masked_select(x, mask):
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def samples_masked_select():
    x = np.arange(40000).reshape(200, 200)
    yield Sample((x, x % 3 == 0), {}, "int64 several chunks")


def reference_masked_select_grad(dy, mask, shape):
    mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, tuple(shape)))
    out = np.zeros(mask.shape, dy.dtype)
    out[mask] = dy
    return out


def samples_masked_select_grad():
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    yield Sample((np.arange(4.0), mask, [3, 4]), {}, "float64 same shape")
    yield Sample((np.arange(4.0), mask, [4]), {}, "float64 broadcast")


def reference_masked_fill(x, mask, value):
    return np.where(mask, value, x)
