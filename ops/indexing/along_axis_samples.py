"""References of elementwise gather and scatter along an axis, in NumPy."""

import itertools

import numpy as np


def _points(x_shape, indices, axis):
    """Pairs (index in the result, index in x), in row-major order."""
    axis %= len(x_shape)
    space = [m if d == axis or m != 1 else n for d, (n, m) in enumerate(zip(x_shape, indices.shape))]
    for at in itertools.product(*map(range, space)):
        i = indices[tuple(0 if m == 1 else a for a, m in zip(at, indices.shape))]
        to = [0 if n == 1 else a for a, n in zip(at, x_shape)]
        to[axis] = i % x_shape[axis]
        yield at, tuple(to), tuple(space)


def _space(x_shape, indices, axis):
    axis %= len(x_shape)
    return tuple(m if d == axis or m != 1 else n for d, (n, m) in enumerate(zip(x_shape, indices.shape)))


def reference_take_along_axis(x, indices, axis):
    out = np.zeros(_space(x.shape, indices, axis), x.dtype)
    for at, to, _ in _points(x.shape, indices, axis):
        out[at] = x[to]
    return out


def reference_take_along_axis_grad(dy, indices, shape, axis):
    out = np.zeros(shape, dy.dtype)
    for at, to, _ in _points(shape, indices, axis):
        out[to] += dy[at]
    return out


def _put(x, indices, value, axis, f):
    out = x.copy()
    value = np.broadcast_to(value, _space(x.shape, indices, axis))
    for at, to, _ in _points(x.shape, indices, axis):
        out[to] = f(out[to], value[at])
    return out


def reference_put_along_axis_assign(x, indices, value, axis):
    return _put(x, indices, value, axis, lambda a, b: b)


def reference_put_along_axis_add(x, indices, value, axis):
    return _put(x, indices, value, axis, lambda a, b: a + b)


def reference_put_along_axis_multiply(x, indices, value, axis):
    return _put(x, indices, value, axis, lambda a, b: a * b)


def reference_put_along_axis(x, indices, value, axis, reduce="assign"):
    f = {
        "assign": reference_put_along_axis_assign,
        "add": reference_put_along_axis_add,
        "multiply": reference_put_along_axis_multiply,
    }
    return f[reduce](x, indices, value, axis)


def reference_put_along_axis_value_grad(dy, indices, axis):
    last = {to: at for at, to, _ in _points(dy.shape, indices, axis)}
    out = np.zeros(_space(dy.shape, indices, axis), dy.dtype)
    for to, at in last.items():
        out[at] = dy[to]
    return out


def reference_put_along_axis_multiply_grad(grad_out, x, indices, value, out, axis):
    """For samples without zeros, whatever their `out` is."""
    value = np.broadcast_to(value, _space(x.shape, indices, axis))
    result = np.zeros(value.shape, value.dtype)
    for at, to, _ in _points(x.shape, indices, axis):
        result[at] = grad_out[to] * np.conj(out[to]) / np.conj(value[at])
    return result


def gradients_put_along_axis_multiply():
    """One zero, two zeros and none in a place."""
    x, indices = np.array([[2.0, 3.0, 5.0]]), np.array([[0, 0, 1, 1, 1, 2]])
    value = np.array([[0.0, 7.0, 0.0, 0.0, 11.0, 13.0]])
    yield (
        {"x": x, "indices": indices, "value": value, "axis": 1},
        {"x": np.array([[0.0, 0.0, 13.0]]), "value": np.array([[14.0, 0.0, 0.0, 0.0, 0.0, 5.0]])},
    )
