"""References of functions of one tensor."""

import numpy as np


def _wide(x):
    """Integers and bool as the op computes in floating point."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def reference_neg(x):
    return np.negative(x)


def reference_abs(x):
    return np.abs(x)


def reference_sign(x):
    return np.sign(x)


def reference_sgn(x):
    if x.dtype.kind != "c":
        return np.sign(x)
    r = np.abs(x)
    return np.where(r == 0, 0, x / np.where(r == 0, 1, r))


def reference_square(x):
    return x * x


def reference_reciprocal(x):
    return 1 / _wide(x)


def reference_sqrt(x):
    return np.sqrt(_wide(x))


def reference_rsqrt(x):
    return 1 / np.sqrt(_wide(x))


def reference_floor(x):
    return np.floor(x)


def reference_ceil(x):
    return np.ceil(x)


def reference_round(x):
    return np.round(x)


def reference_trunc(x):
    return np.trunc(x)


def reference_frac(x):
    return x - np.trunc(x)


def reference_signbit(x):
    return np.signbit(_wide(x)) if x.dtype.kind == "f" else x < 0


def reference_isnan(x):
    return np.isnan(_wide(x))


def reference_isinf(x):
    return np.isinf(_wide(x))


def reference_isfinite(x):
    return np.isfinite(_wide(x))


def gradients_abs():
    yield {"x": np.array([0.0])}, {"x": np.array([0.0])}


def gradients_sgn():
    yield {"x": np.array([0.0, 1.0, -2.0])}, {"x": np.array([0.0, 0.0, 0.0])}
    yield {"x": np.array([0j, 3 + 4j])}, {"x": np.array([0j, (16 - 12j) / 125])}
