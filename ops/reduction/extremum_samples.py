"""References of extrema and of tests of all or any."""

import numpy as np


def _axis(x, axis):
    return tuple(axis) if axis and x.ndim else None


def reference_max(x, axis=(), keepdim=False):
    return np.max(x, axis=_axis(x, axis), keepdims=keepdim)


def reference_min(x, axis=(), keepdim=False):
    return np.min(x, axis=_axis(x, axis), keepdims=keepdim)


reference_amax = reference_max
reference_amin = reference_min


def reference_all(x, axis=(), keepdim=False):
    return np.all(x, axis=_axis(x, axis), keepdims=keepdim)


def reference_any(x, axis=(), keepdim=False):
    return np.any(x, axis=_axis(x, axis), keepdims=keepdim)


def reference_extremum_backward(grad_out, x, out, axis=(), keepdim=False, evenly=False):
    if not keepdim and axis:
        grad_out, out = (np.expand_dims(v, tuple(axis)) for v in (grad_out, out))
    chosen = x == out
    if evenly:
        grad_out = grad_out / chosen.sum(axis=_axis(x, axis), keepdims=True)
    return np.where(chosen, grad_out, 0.0)


# Of equal extrema each gets the whole gradient, with amax and amin its share.


def _ties(sign, of_each):
    x = sign * np.array([[2.0, 1.0, 2.0], [0.0, 3.0, 1.0]])
    gradient = {"x": np.array([[of_each, 0.0, of_each], [0.0, 1.0, 0.0]])}
    yield {"x": x, "axis": [1]}, gradient
    yield {"x": x, "axis": [1], "keepdim": True}, gradient


def gradients_max():
    return _ties(1.0, 1.0)


def gradients_min():
    return _ties(-1.0, 1.0)


def gradients_amax():
    return _ties(1.0, 0.5)


def gradients_amin():
    return _ties(-1.0, 0.5)
