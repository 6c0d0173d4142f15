"""References of norms."""

import numpy as np


def _axis(x, axis):
    return tuple(axis) if axis and x.ndim else None


def reference_p_norm(x, p=2.0, axis=(), keepdim=False):
    size = np.abs(x.astype(np.float64))
    axis = _axis(x, axis)
    if p == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdim).astype(np.float64)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    return np.sum(size**p, axis=axis, keepdims=keepdim) ** (1 / p)


def reference_p_norm_backward(grad_out, x, out, p=2.0, axis=(), keepdim=False):
    if not keepdim and axis:
        grad_out, out = np.expand_dims(grad_out, tuple(axis)), np.expand_dims(out, tuple(axis))
    if p == 0:
        return np.zeros_like(x)
    if np.isinf(p):
        return grad_out * np.sign(x) * (np.abs(x) == out)
    return grad_out * np.sign(x) * np.abs(x) ** (p - 1) * out ** (1 - p)


def gradients_p_norm():
    zeros = np.zeros((2, 2))
    mixed = np.array([[0.0, 0.0], [3.0, -4.0]])
    for p in (2.0, 1.0, 3.5, 0.5, np.inf, 0.0):
        yield {"x": zeros, "p": p}, {"x": zeros}, {"x": zeros}
    yield {"x": mixed, "axis": [1]}, {"x": [[0.0, 0.0], [0.6, -0.8]]}
    # An extreme element that occurs twice gets the gradient twice.
    yield {"x": np.array([2.0, -2.0, 1.0]), "p": np.inf}, {"x": [1.0, -1.0, 0.0]}
    yield {"x": np.array([2.0, -1.0, 1.0]), "p": -np.inf}, {"x": [0.0, -1.0, 1.0]}
    # At 0 a power below 1 has a pole, which counts as 0.
    yield {"x": np.array([0.0, 4.0]), "p": 0.5}, {"x": [0.0, 1.0]}
