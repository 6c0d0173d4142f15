"""References of modified Bessel functions, by SciPy."""

import numpy as np
import scipy.special


def _wide(x):
    return np.asarray(x, np.float64)


def reference_bessel_i(x, order):
    # SciPy makes NaN of infinities.
    ends = np.where(order % 2 == 0, np.inf, np.sign(x) * np.inf)
    return np.where(np.isinf(x), ends, scipy.special.iv(order, _wide(x)))


def reference_bessel_ie(x, order):
    return np.where(np.isinf(x), 0.0, scipy.special.ive(order, _wide(x)))


def reference_i0(x):
    return scipy.special.i0(_wide(x))


def reference_i0e(x):
    return scipy.special.i0e(_wide(x))


def reference_i1(x):
    return scipy.special.i1(_wide(x))


def reference_i1e(x):
    return scipy.special.i1e(_wide(x))
