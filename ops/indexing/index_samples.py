"""References of NumPy's indexing, by NumPy."""

import math

import numpy as np

from ops.conformance.samples import Sample


def _places(shape, indices, axes, position=-1):
    """Flat indices in a tensor of the shape of the elements that an index takes."""
    rank = len(shape)
    axes = [a % rank for a in axes]
    key = [slice(None)] * rank
    for a, i in zip(axes, indices):
        key[a] = i % shape[a] if i.size else i
    places = np.arange(math.prod(shape)).reshape(shape)
    # By hand, since NumPy's own place for the index dims knows nothing of `position` or
    # of axes in falling order.
    kept = [d for d in range(rank) if d not in axes]
    dims = np.broadcast_shapes(*(i.shape for i in indices))
    moved = np.transpose(places, axes + kept)[tuple(key[a] for a in axes)]
    if position == -1:
        rising = all(a == axes[0] + k for k, a in enumerate(axes))
        position = axes[0] if rising else 0
    return np.moveaxis(moved, range(len(dims)), range(position, position + len(dims)))


def samples_index_get():
    x = np.arange(120.0).reshape(2, 3, 4, 5)
    i = np.array([1, 0, 1])
    for axes in ([0, 1], [1, 2], [2, 3], [0, 3], [1, 3], [3, 1]):
        yield Sample((x, [i, i], axes), {}, f"float64 axes {axes}")


def reference_index_get(x, indices, axes, position=-1):
    return x.reshape(-1)[_places(x.shape, indices, axes, position)]


def reference_index_get_grad(dy, indices, shape, axes, position=-1):
    out = np.zeros(math.prod(shape), dy.dtype)
    np.add.at(out, _places(shape, indices, axes, position), dy)
    return out.reshape(shape)


def _in_order(places, indices, axes, rank, position):
    """The places with the index dims in front, so that a later index comes later."""
    dims = len(np.broadcast_shapes(*(i.shape for i in indices)))
    if position == -1:
        axes = [a % rank for a in axes]
        position = axes[0] if all(a == axes[0] + k for k, a in enumerate(axes)) else 0
    return np.moveaxis(places, range(position, position + dims), range(dims))


def reference_index_put(x, indices, value, axes, position=-1, accumulate=False):
    places = _places(x.shape, indices, axes, position)
    value = np.broadcast_to(value, places.shape)
    out = x.copy().reshape(-1)
    if accumulate:
        np.add.at(out, places, value)
    else:
        order = lambda a: _in_order(a, indices, axes, x.ndim, position).reshape(-1)
        for p, v in zip(order(places), order(value)):
            out[p] = v
    return out.reshape(x.shape)


def reference_index_put_value_grad(dy, indices, axes, position=-1):
    places = _places(dy.shape, indices, axes, position)
    numbers = np.arange(places.size).reshape(places.shape)
    order = lambda a: _in_order(a, indices, axes, dy.ndim, position).reshape(-1)
    last = dict(zip(order(places).tolist(), order(numbers).tolist()))
    out = np.zeros(places.size, dy.dtype)
    for p, k in last.items():
        out[k] = dy.reshape(-1)[p]
    return out.reshape(places.shape)


def reference_slice_set(x, value, axes, starts, ends, strides=()):
    out = x.copy()
    key = [slice(None)] * x.ndim
    for k, a in enumerate(axes):
        key[a] = slice(starts[k], ends[k], strides[k] if strides else 1)
    out[tuple(key)] = value
    return out
