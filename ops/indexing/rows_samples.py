"""References of row-sparse tensors, in NumPy."""

import numpy as np


def reference_row_sparse(rows, values, height):
    out = np.zeros((height, *values.shape[1:]), values.dtype)
    np.add.at(out, rows, values)
    return out


def reference_merge_rows(x):
    return x


def reference_to_dense(x):
    return x


def reference_held_rows(x):
    return np.arange(len(x))


def reference_held_values(x):
    return x


def reference_held_values_grad(dy, x):
    return dy
