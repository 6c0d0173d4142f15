"""Reference of dropped dims, in NumPy."""

import numpy as np


def reference_drop_dims(x, axis):
    return np.squeeze(x, tuple(axis))
