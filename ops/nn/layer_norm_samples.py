"""References of layer normalization."""

import numpy as np


def _axes(x, begin_axis):
    return tuple(range(begin_axis % x.ndim, x.ndim))


def _normalized(x, begin_axis, epsilon):
    axes = _axes(x, begin_axis)
    centered = x - x.mean(axis=axes, keepdims=True)
    r = 1 / np.sqrt((centered**2).mean(axis=axes, keepdims=True) + epsilon)
    return centered * r, r


def _row(v, x, begin_axis):
    return v.reshape(x.shape[begin_axis % x.ndim :])


def reference_layer_norm(x, weight=None, bias=None, begin_axis=-1, epsilon=1e-5):
    out, _ = _normalized(x, begin_axis, epsilon)
    if weight is not None:
        out = out * _row(weight, x, begin_axis)
    return out if bias is None else out + _row(bias, x, begin_axis)


def reference_layer_norm_input_grad(grad_out, x, weight=None, begin_axis=-1, epsilon=1e-5):
    xh, r = _normalized(x, begin_axis, epsilon)
    axes = _axes(x, begin_axis)
    h = grad_out if weight is None else grad_out * _row(weight, x, begin_axis)
    return r * (h - h.mean(axis=axes, keepdims=True) - xh * (h * xh).mean(axis=axes, keepdims=True))


def reference_layer_norm_weight_grad(grad_out, x, begin_axis=-1, epsilon=1e-5, dtype=None):
    xh, _ = _normalized(x, begin_axis, epsilon)
    return (grad_out * xh).sum(axis=tuple(range(begin_axis % x.ndim)))


def reference_layer_norm_bias_grad(grad_out, bias_shape, begin_axis=-1, dtype=None):
    return grad_out.sum(axis=tuple(range(begin_axis % grad_out.ndim))).reshape(bias_shape)


def reference_layer_norm_grad_grad_out(grad, x, weight=None, begin_axis=-1, epsilon=1e-5):
    out = reference_layer_norm_input_grad(grad, x, None, begin_axis, epsilon)
    return out if weight is None else out * _row(weight, x, begin_axis)


def reference_layer_norm_grad_x(grad, grad_out, x, weight=None, begin_axis=-1, epsilon=1e-5):
    """By central differences."""
    out, step = np.zeros_like(x), 1e-5
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        f = [reference_layer_norm_input_grad(grad_out, v, weight, begin_axis, epsilon) for v in (up, down)]
        out[i] = ((f[0] - f[1]) * grad).sum() / (2 * step)
    return out


_HALF = {"float16": (1e-2, 1e-2), "bfloat16": (6e-2, 6e-2), "float32": (5e-5, 5e-5)}
TOLERANCE = {
    "layer_norm": _HALF,
    "layer_norm_input_grad": _HALF,
    "layer_norm_weight_grad": _HALF,
    "layer_norm_grad_x": {"float32": (1e-4, 1e-4), "float64": (1e-6, 1e-6)},
}
