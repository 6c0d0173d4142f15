"""Reference of the inverse error function."""

import numpy as np
import scipy.special


def reference_erfinv(x):
    return scipy.special.erfinv(np.asarray(x, np.float64))
