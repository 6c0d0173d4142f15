"""References of the joins, in NumPy."""

import numpy as np


def reference_concat(xs, axis=0):
    return np.concatenate(xs, axis)


def reference_stack(xs, axis=0):
    return np.stack(xs, axis)
