"""References of ops/manipulation/bits.yaml: arrays come as they lie in memory."""

import numpy as np


def reference_view_dtype(x, dtype):
    return np.ascontiguousarray(x).view("uint16" if dtype == "bfloat16" else dtype)
