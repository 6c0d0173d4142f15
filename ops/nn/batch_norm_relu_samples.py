"""References of batch normalization followed by relu."""

import numpy as np

from ops.nn import batch_norm_samples as plain


def _relu(out, residual=None):
    return np.maximum(out if residual is None else out + residual, 0)


def reference_batch_norm_relu(x, *args, **kwargs):
    out, *statistics = plain.reference_batch_norm(x, *args, **kwargs)
    return _relu(out), *statistics


def reference_batch_norm_add_relu(x, residual, *args, **kwargs):
    out, *statistics = plain.reference_batch_norm(x, *args, **kwargs)
    return _relu(out, residual), *statistics


def reference_batch_norm_add_relu_again(x, residual, mean, inv_std, weight=None, bias=None, data_format="NCHW"):
    return _relu(plain.reference_batch_norm_again(x, mean, inv_std, weight, bias, False, data_format), residual)


def reference_batch_norm_relu_inference(x, *args, **kwargs):
    return _relu(plain.reference_batch_norm_inference(x, *args, **kwargs))


def reference_batch_norm_add_relu_inference(x, residual, *args, **kwargs):
    return _relu(plain.reference_batch_norm_inference(x, *args, **kwargs), residual)


def _let_through(grad_out, x, weight, bias, mean, inv_std, data_format):
    y = plain.reference_normalize_channels(x, mean, inv_std, data_format)
    return np.where(plain._affine(y, weight, bias, data_format) > 0, grad_out, 0)


def reference_batch_norm_relu_grad(
    grad_out, x, weight, bias, mean, inv_std, shift=None, slope=None, data_format="NCHW"
):
    g = _let_through(grad_out, x, weight, bias, mean, inv_std, data_format)
    return plain.reference_batch_norm_grad(g, x, weight, mean, inv_std, shift, slope, data_format)


def reference_batch_norm_add_relu_grad(
    grad_out, y, x, weight, mean, inv_std, shift=None, slope=None, data_format="NCHW"
):
    g = np.where(y > 0, grad_out, 0)
    return *plain.reference_batch_norm_grad(g, x, weight, mean, inv_std, shift, slope, data_format), g


def reference_batch_norm_relu_grads(
    grad_out,
    grad_running_mean,
    grad_running_var,
    grad_mean,
    grad_inv_std,
    x,
    weight,
    bias,
    mean,
    inv_std,
    momentum=0.9,
    data_format="NCHW",
):
    g = _let_through(grad_out, x, weight, bias, mean, inv_std, data_format)
    of_statistics = (grad_running_mean, grad_running_var, grad_mean, grad_inv_std)
    return plain.reference_batch_norm_grads(g, *of_statistics, x, weight, mean, inv_std, momentum, data_format)


def reference_batch_norm_relu_grad_grads(
    grad_x, grad_weight, grad_bias, grad_out, x, weight, bias, mean, inv_std, slope=None, data_format="NCHW"
):
    grads, last = (grad_x, grad_weight, grad_bias), (None, slope, data_format)
    f = reference_batch_norm_relu_grad
    return (
        plain._differences(lambda t: f(t, x, weight, bias, mean, inv_std, *last), grad_out, grads),
        plain._differences(lambda t: f(grad_out, t, weight, bias, mean, inv_std, *last), x, grads),
        plain._differences(lambda t: f(grad_out, x, t, bias, mean, inv_std, *last), weight, grads),
        plain._differences(lambda t: f(grad_out, x, weight, bias, t, inv_std, *last), mean, grads),
        plain._differences(lambda t: f(grad_out, x, weight, bias, mean, t, *last), inv_std, grads),
    )


def reference_batch_norm_add_relu_grads(
    grad_out,
    grad_running_mean,
    grad_running_var,
    grad_mean,
    grad_inv_std,
    y,
    x,
    weight,
    mean,
    inv_std,
    momentum=0.9,
    data_format="NCHW",
):
    g = np.where(y > 0, grad_out, 0)
    of_statistics = (grad_running_mean, grad_running_var, grad_mean, grad_inv_std)
    return *plain.reference_batch_norm_grads(g, *of_statistics, x, weight, mean, inv_std, momentum, data_format), g


_HALF = {"float16": (1e-2, 1e-2), "bfloat16": (8e-2, 8e-2), "float32": (5e-5, 5e-5)}
TOLERANCE = {
    "batch_norm_relu": _HALF,
    "batch_norm_add_relu": _HALF,
    "batch_norm_relu_inference": _HALF,
    "batch_norm_add_relu_inference": _HALF,
    "batch_norm_relu_grad": _HALF,
    "batch_norm_relu_grads": {"float32": (1e-4, 1e-4)},
    "batch_norm_relu_grad_grads": {"float32": (1e-3, 1e-3), "float64": (1e-6, 1e-6)},
    "batch_norm_add_relu_grads": {"float32": (1e-4, 1e-4)},
}
