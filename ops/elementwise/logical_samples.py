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
