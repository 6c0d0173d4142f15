"""References of taking and putting rows, in NumPy."""

import math

import numpy as np


def _places(shape):
    """An array of the shape that holds the flat index of each element."""
    return np.arange(math.prod(shape)).reshape(shape)


def _added(dy, shape, places):
    out = np.zeros(math.prod(shape), dy.dtype)
    np.add.at(out, places.reshape(-1), dy.reshape(-1))
    return out.reshape(shape)


def reference_gather(x, index, axis=0):
    return np.take(x, index, axis)


def reference_gather_grad(dy, index, shape, axis=0):
    return _added(dy, shape, np.take(_places(shape), index, axis))


def reference_index_select(x, index, axis=0):
    return np.take(x, index, axis)


def reference_gather_nd(x, index):
    if index.shape[-1] == 0:
        return np.broadcast_to(x, index.shape[:-1] + x.shape)
    return x[tuple(np.moveaxis(index, -1, 0))]


def reference_scatter_nd(index, updates, shape):
    return _added(updates, shape, reference_gather_nd(_places(shape), index))


def reference_scatter_nd_add(x, index, updates):
    return x + reference_scatter_nd(index, updates, x.shape)


def reference_scatter(x, index, updates, overwrite=True):
    x = x.copy()
    if overwrite:
        for k, i in enumerate(index.reshape(-1)):
            x[i] = updates.reshape((-1,) + x.shape[1:])[k]
    else:
        x[index] = 0
        np.add.at(x, index, updates)
    return x


def reference_scatter_grad(dy, index):
    dy = dy.copy()
    dy[index] = 0
    return dy


def reference_scatter_updates_grad(dy, index, overwrite):
    out = dy[index]
    for k, i in enumerate(index if index.ndim else ()):  # a single one is the last
        if overwrite and i in index[k + 1 :]:
            out[k] = 0
    return out
