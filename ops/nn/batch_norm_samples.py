"""References of batch normalization."""

import numpy as np


def _channel(x, data_format):
    return x.ndim - 1 if data_format[-1] == "C" and data_format != "NC" else 1


def _axes(x, data_format):
    return tuple(d for d in range(x.ndim) if d != _channel(x, data_format))


def _over(v, x, data_format):
    shape = [1] * x.ndim
    shape[_channel(x, data_format)] = -1
    return np.reshape(v, shape)


def _count(x, data_format):
    return x.size // max(x.shape[_channel(x, data_format)], 1)


def _affine(out, weight, bias, data_format):
    if weight is not None:
        out = out * _over(weight, out, data_format)
    return out if bias is None else out + _over(bias, out, data_format)


def reference_batch_norm(
    x, running_mean, running_var, weight=None, bias=None, momentum=0.9, epsilon=1e-5, data_format="NCHW"
):
    axes = _axes(x, data_format)
    if _count(x, data_format) == 0:
        zeros = np.zeros_like(running_mean)
        return x, running_mean, running_var, zeros, zeros + 1 / np.sqrt(epsilon)
    mean = x.mean(axis=axes)
    centered = x - _over(mean, x, data_format)
    variance = (centered**2).mean(axis=axes)
    r = 1 / np.sqrt(variance + epsilon)
    return (
        _affine(centered * _over(r, x, data_format), weight, bias, data_format),
        momentum * running_mean + (1 - momentum) * mean,
        momentum * running_var + (1 - momentum) * variance,
        mean,
        r,
    )


def reference_batch_norm_again(x, mean, inv_std, weight=None, bias=None, relu=False, data_format="NCHW"):
    out = _affine(reference_normalize_channels(x, mean, inv_std, data_format), weight, bias, data_format)
    return np.maximum(out, 0) if relu else out


def reference_batch_norm_inference(x, mean, variance, weight=None, bias=None, epsilon=1e-5, data_format="NCHW"):
    out = reference_normalize_channels(x, mean, 1 / np.sqrt(variance + epsilon), data_format)
    return _affine(out, weight, bias, data_format)


def reference_normalize_channels(x, mean, inv_std, data_format="NCHW"):
    return (x - _over(mean, x, data_format)) * _over(inv_std, x, data_format)


def reference_channel_mean(x, data_format="NCHW"):
    return x.mean(axis=_axes(x, data_format))


def reference_batch_norm_input_grad(grad_out, x, weight, mean, inv_std, shift=None, slope=None, data_format="NCHW"):
    n = _count(x, data_format)
    if n == 0:
        return x
    xh = reference_normalize_channels(x, mean, inv_std, data_format)
    axes = _axes(x, data_format)
    over = lambda v: _over(v, x, data_format)
    out = over(inv_std) * (grad_out - over(grad_out.mean(axis=axes)) - xh * over((grad_out * xh).mean(axis=axes)))
    if weight is not None:
        out = out * over(weight)
    if shift is not None:
        out = out + over(shift) / n
    return out if slope is None else out + over(slope) * xh / n


def reference_batch_norm_weight_grad(grad_out, x, mean, inv_std, data_format="NCHW"):
    return (grad_out * reference_normalize_channels(x, mean, inv_std, data_format)).sum(axis=_axes(x, data_format))


def _differences(f, x, grad):
    """Central differences of sum(f(x) * grad)."""
    out, step = np.zeros_like(x), 1e-5
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = sum(((a - b) * g).sum() for a, b, g in zip(f(up), f(down), grad)) / (2 * step)
    return out


def reference_batch_norm_grad(grad_out, x, weight, mean, inv_std, shift=None, slope=None, data_format="NCHW"):
    return (
        reference_batch_norm_input_grad(grad_out, x, weight, mean, inv_std, shift, slope, data_format),
        reference_batch_norm_weight_grad(grad_out, x, mean, inv_std, data_format),
        grad_out.sum(axis=_axes(x, data_format)),
    )


def reference_batch_norm_grads(
    grad_out,
    grad_running_mean,
    grad_running_var,
    grad_mean,
    grad_inv_std,
    x,
    weight,
    mean,
    inv_std,
    momentum=0.9,
    data_format="NCHW",
):
    fresh = 1 - momentum
    shift = grad_mean + fresh * grad_running_mean
    slope = 2 * fresh * grad_running_var / inv_std - inv_std**2 * grad_inv_std
    return reference_batch_norm_grad(grad_out, x, weight, mean, inv_std, shift, slope, data_format)


def reference_batch_norm_grad_grad_x(grad, grad_out, x, weight, mean, inv_std, slope=None, data_format="NCHW"):
    f = lambda v: [reference_batch_norm_input_grad(grad_out, v, weight, mean, inv_std, None, slope, data_format)]
    return _differences(f, x, [grad])


def reference_batch_norm_grad_grad_inv_std(grad, grad_out, x, weight, mean, inv_std, slope=None, data_format="NCHW"):
    f = lambda v: [reference_batch_norm_input_grad(grad_out, x, weight, mean, v, None, slope, data_format)]
    return _differences(f, inv_std, [grad])


_HALF = {"float16": (1e-2, 1e-2), "bfloat16": (8e-2, 8e-2), "float32": (5e-5, 5e-5)}
TOLERANCE = {
    "batch_norm": _HALF,
    "batch_norm_inference": _HALF,
    "batch_norm_input_grad": _HALF,
    "batch_norm_weight_grad": _HALF,
    "batch_norm_grad": _HALF,
    "batch_norm_grads": {"float32": (1e-4, 1e-4)},
    "batch_norm_grad_grad_x": {"float32": (1e-4, 1e-4), "float64": (1e-6, 1e-6)},
    "batch_norm_grad_grad_inv_std": {"float32": (1e-4, 1e-4), "float64": (1e-6, 1e-6)},
}
