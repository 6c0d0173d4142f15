"""References of the gamma family, by mpmath's 40 digits."""

import math

import mpmath
import numpy as np

# Near zeros of polygamma below 0 the error is relative to 1.
TOLERANCE = {"polygamma": {"float64": (1e-10, 1e-9), "float32": (1e-5, 2e-5)}}


def _each(f, x):
    with mpmath.workdps(40):
        return np.array([f(float(v)) for v in np.asarray(x, np.float64).reshape(-1)], np.float64).reshape(np.shape(x))


def _pole(v):
    return v <= 0 and v == math.floor(v)


def _lgamma(v):
    if math.isnan(v):
        return v
    return math.inf if math.isinf(v) or _pole(v) else float(mpmath.log(abs(mpmath.gamma(v))))


def reference_lgamma(x):
    return _each(_lgamma, x)


def _polygamma(n, v):
    if math.isnan(v) or v == -math.inf:
        return math.nan
    if v == math.inf:
        return math.inf if n == 0 else 0.0
    if not _pole(v):
        return float(mpmath.polygamma(n, v))
    if n % 2 == 1:
        return math.inf
    return math.nan if v else math.copysign(math.inf, -math.copysign(1, v))


def reference_digamma(x):
    return _each(lambda v: _polygamma(0, v), x)


def reference_polygamma(x, n):
    return _each(lambda v: _polygamma(n, v), x)
