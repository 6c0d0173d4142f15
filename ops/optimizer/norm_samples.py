"""References of norms, in NumPy."""

import numpy as np


def reference_squared_norm(xs):
    return sum((np.square(x.astype(np.float64)).sum() for x in xs), np.float64(0))
