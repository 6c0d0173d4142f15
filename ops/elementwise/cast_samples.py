"""References of changes of element type."""

import numpy as np


def reference_cast(x, dtype):
    if dtype == "bool":
        return x != 0
    if x.dtype.kind == "c" and not dtype.startswith("complex"):
        x = x.real
    if dtype in ("bfloat16", "float16"):
        return x.astype(np.float64)
    if dtype.startswith(("int", "uint")) and x.dtype.kind == "f":
        return np.trunc(x).astype(np.int64).astype(dtype)
    return x.astype(dtype)


def reference_assign(x):
    return x.copy()


TOLERANCE = {
    # Half a unit in the last place of the narrow type.
    "cast": {"float16": (5e-4, 6e-8), "bfloat16": (4e-3, 1e-38)},
}
