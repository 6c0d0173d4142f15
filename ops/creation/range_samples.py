"""References of tensors whose elements follow from their index."""

import math

import numpy as np

TOLERANCE = {"logspace": {"float32": (1e-6, 0)}}


def _whole(values, dtype):
    """Integer types drop fractions."""
    values = np.asarray(values)
    return np.trunc(values) if dtype and dtype.startswith(("int", "uint")) else values


def reference_arange(start=0, end=None, step=1, dtype=None, place=None):
    if end is None:
        start, end = 0, start
    if all(isinstance(v, int) for v in (start, end, step)):
        return np.array(list(range(start, end, step)), np.int64)
    n = max(0, math.ceil((end - start) / step))
    return _whole(start + step * np.arange(n), dtype)


def reference_linspace(start, stop, num, dtype=None, place=None):
    values = np.linspace(start, stop, num)
    return np.floor(values) if dtype and dtype.startswith(("int", "uint")) else values


def reference_logspace(start, stop, num, base=10.0, dtype=None, place=None):
    return _whole(np.logspace(start, stop, num, base=base), dtype)


def reference_eye(num_rows, num_columns=None, dtype=None, place=None):
    return np.eye(num_rows, num_columns)


def reference_tril_indices(row, col, offset=0, dtype="int64", place=None):
    return np.array([(i, j) for i in range(row) for j in range(col) if j - i <= offset], np.int64).reshape(-1, 2).T


def reference_triu_indices(row, col, offset=0, dtype="int64", place=None):
    return np.array([(i, j) for i in range(row) for j in range(col) if j - i >= offset], np.int64).reshape(-1, 2).T
