"""References of activations."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e) + 0 * np.where(np.isnan(x), x, 0)


def _times(x, factor):
    """x * factor, where a factor of 0 wins over an infinite x."""
    return np.where(factor == 0, 0, x * np.where(factor == 0, 1, factor))


def reference_relu(x):
    return np.maximum(x, 0)


def reference_relu_backward(grad_out, out):
    return np.where(out > 0, grad_out, 0).astype(np.result_type(grad_out, out))


def reference_relu6(x):
    return np.minimum(np.maximum(x, 0), 6)


def reference_leaky_relu(x, negative_slope=0.01):
    return np.where(x < 0, x * negative_slope, x)


def reference_leaky_relu_backward(grad_out, x, negative_slope=0.01):
    return np.where(x > 0, grad_out, negative_slope * grad_out)


def reference_thresholded_relu(x, threshold=1.0):
    return np.where(x <= threshold, 0, x)


def reference_elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


def reference_selu(x, scale=1.0507009873554805, alpha=1.6732632423543772):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(x))


def reference_celu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def reference_softplus(x, beta=1.0, threshold=20.0):
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


def reference_logsigmoid(x):
    return -np.logaddexp(0, -x)


def reference_silu(x):
    return _times(x, _sigmoid(x))


def reference_silu_backward(grad_out, x):
    s = _sigmoid(x)
    return grad_out * s * (1 + x * (1 - s))


def reference_silu_second(x):
    s = _sigmoid(x)
    return s * (1 - s) * (2 + x * (1 - 2 * s))


def reference_swish(x):
    return reference_silu(x)


def reference_mish(x):
    return _times(x, np.tanh(np.logaddexp(0, x)))


def _tanh_argument(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def reference_gelu(x, approximate=False):
    factor = np.tanh(_tanh_argument(x)) if approximate else _erf(x / math.sqrt(2))
    return _times(x, 0.5 * (1 + factor))


def reference_gelu_backward(grad_out, x, approximate=False):
    if approximate:
        t = np.tanh(_tanh_argument(x))
        du = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
        return grad_out * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * du)
    density = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    return grad_out * (0.5 * (1 + _erf(x / math.sqrt(2))) + x * density)


def reference_gelu_second(x, approximate=False):
    step = 1e-5
    derivative = lambda v: reference_gelu_backward(1.0, v, approximate)
    return (derivative(x + step) - derivative(x - step)) / (2 * step)


def reference_softsign(x):
    return x / (1 + np.abs(x))


def reference_tanhshrink(x):
    return x - np.tanh(x)


def reference_stanh(x, scale_a=0.67, scale_b=1.7159):
    return scale_b * np.tanh(scale_a * x)


def reference_hardsigmoid(x, slope=0.1666667, offset=0.5):
    return np.minimum(np.maximum(slope * x + offset, 0), 1)


def reference_hardswish(x):
    return np.where(x <= -3, 0, np.where(x >= 3, x, x * (x + 3) / 6))


def reference_hardtanh(x, min=-1.0, max=1.0):
    return np.minimum(np.maximum(x, min), max)


def reference_hardshrink(x, threshold=0.5):
    return np.where(np.abs(x) <= threshold, 0, x)


def reference_softshrink(x, threshold=0.5):
    return np.where(np.abs(x) <= threshold, 0, x - np.sign(x) * threshold)


# Gradients at the kinks, as PaddlePaddle chooses them, and far out, where a factor that is not chosen overflows.


def _at(x, gradient, second=None, **attributes):
    point = ({"x": np.array(x), **attributes}, {"x": np.array(gradient)})
    return point if second is None else (*point, {"x": np.array(second)})


def gradients_relu():
    yield _at([0.0], [0.0])


def gradients_relu6():
    yield _at([0.0, 6.0], [0.0, 0.0])


def gradients_leaky_relu():
    yield _at([0.0], [0.25], negative_slope=0.25)


def gradients_elu():
    yield _at([0.0], [0.5], alpha=0.5)
    yield _at([1000.0], [1.0], [0.0], alpha=0.5)


def gradients_selu():
    yield _at([0.0], [0.75], scale=1.5, alpha=0.5)
    yield _at([1000.0], [1.5], [0.0], scale=1.5, alpha=0.5)


def gradients_celu():
    yield _at([0.0], [1.0], alpha=0.5)
    yield _at([1000.0], [1.0], [0.0], alpha=0.5)


def gradients_softplus():
    yield _at([1.0], [1 / (1 + np.exp(-1.0))], threshold=1.0)


def gradients_hardsigmoid():
    yield _at([-1.0, 1.0], [0.0, 0.0], slope=0.5, offset=0.5)


def gradients_hardswish():
    yield _at([-3.0, 3.0], [0.0, 1.0])


def gradients_hardtanh():
    yield _at([-0.5, 2.0], [0.0, 0.0], min=-0.5, max=2.0)


def gradients_hardshrink():
    yield _at([-0.5, 0.5], [0.0, 0.0], threshold=0.5)


def gradients_softshrink():
    yield _at([-0.5, 0.5], [0.0, 0.0], threshold=0.5)


def gradients_thresholded_relu():
    yield _at([1.0], [0.0], threshold=1.0)


TOLERANCE = {
    "gelu_second": {
        "float64": (1e-5, 1e-6),
        "float32": (1e-4, 1e-5),
        "float16": (1e-2, 1e-2),
        "bfloat16": (1e-1, 1e-1),
    },
    "silu_second": {"float16": (1e-2, 1e-2), "bfloat16": (1e-1, 1e-1)},
    "tanhshrink": {"float32": (1e-5, 1e-6)},
}
