"""References of parts by strides, over flat index arrays."""

import numpy as np


def _places(shape, strides, offset):
    places = np.full(tuple(shape), offset, np.int64)
    for dim, step in enumerate(strides):
        along = np.arange(shape[dim], dtype=np.int64) * step if shape[dim] > 0 else np.zeros(0, np.int64)
        places = places + along.reshape([-1] + [1] * (len(shape) - dim - 1))
    return places


def reference_as_strided(x, shape, strides, offset=0):
    return x.reshape(-1)[_places(shape, strides, offset)]


def reference_as_strided_grad(dy, shape, strides, offset=0):
    out = np.zeros(shape, dy.dtype)
    np.add.at(out.reshape(-1), _places(dy.shape, strides, offset), dy)
    return out


def reference_as_strided_set(x, value, shape, strides, offset=0):
    out = np.array(x, order="C")
    out.reshape(-1)[_places(shape, strides, offset)] = value
    return out
