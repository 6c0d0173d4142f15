"""References of indices of extrema."""

import numpy as np


def reference_argmax(x, axis=None, keepdim=False, dtype="int64"):
    if x.ndim == 0:
        return np.asarray(0)
    return np.argmax(x, axis=axis, keepdims=keepdim)


def reference_argmin(x, axis=None, keepdim=False, dtype="int64"):
    if x.ndim == 0:
        return np.asarray(0)
    return np.argmin(x, axis=axis, keepdims=keepdim)
