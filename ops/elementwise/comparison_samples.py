"""References of comparisons."""

import numpy as np


def reference_equal(x, y):
    return np.equal(x, y)


def reference_not_equal(x, y):
    return np.not_equal(x, y)


def reference_less_than(x, y):
    return np.less(x, y)


def reference_less_equal(x, y):
    return np.less_equal(x, y)


def reference_greater_than(x, y):
    return np.greater(x, y)


def reference_greater_equal(x, y):
    return np.greater_equal(x, y)


def reference_isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    if x.dtype.kind in "bu":
        x, y = x.astype(np.int64), y.astype(np.int64)
    return np.isclose(x, y, rtol, atol, equal_nan)


def reference_allclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.all(reference_isclose(x, y, rtol, atol, equal_nan))


def reference_equal_all(x, y):
    return np.asarray(x.shape == y.shape and bool(np.all(x == y)))
