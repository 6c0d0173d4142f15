"""References of logic and bits."""

import numpy as np


def reference_logical_and(x, y):
    return np.logical_and(x, y)


def reference_logical_or(x, y):
    return np.logical_or(x, y)


def reference_logical_xor(x, y):
    return np.logical_xor(x, y)


def reference_logical_not(x):
    return np.logical_not(x)


def reference_bitwise_and(x, y):
    return np.bitwise_and(x, y)


def reference_bitwise_or(x, y):
    return np.bitwise_or(x, y)


def reference_bitwise_xor(x, y):
    return np.bitwise_xor(x, y)


def reference_bitwise_not(x):
    return np.bitwise_not(x)


def _shifted(x, y, one):
    """`one(number, places, bits)` of each pair, in numbers without end, cut to the dtype."""
    x, y = np.broadcast_arrays(x, y)
    dtype = np.promote_types(x.dtype, y.dtype)
    bits = 8 * dtype.itemsize
    out = np.empty(x.shape, dtype)
    for at in np.ndindex(x.shape):
        value = one(int(x[at]), int(y[at]), bits) % 2**bits
        out[at] = value - 2**bits if dtype.kind == "i" and value >= 2 ** (bits - 1) else value
    return out


def reference_bitwise_left_shift(x, y, is_arithmetic=True):
    return _shifted(x, y, lambda a, b, bits: a * 2**b if 0 <= b < bits else 0)


def reference_bitwise_right_shift(x, y, is_arithmetic=True):
    def one(a, b, bits):
        if is_arithmetic:
            return a // 2 ** (b if 0 <= b < bits else bits)
        return a % 2**bits // 2**b if 0 <= b < bits else 0

    return _shifted(x, y, one)
