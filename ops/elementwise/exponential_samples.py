"""References of exponentials and logarithms."""

import math

import numpy as np

from ops.conformance.samples import Sample


def _wide(x):
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def reference_exp(x):
    return np.exp(_wide(x))


def reference_expm1(x):
    return np.expm1(_wide(x))


def reference_log(x):
    return np.log(_wide(x))


def reference_log2(x):
    return np.log2(_wide(x))


def reference_log10(x):
    return np.log10(_wide(x))


def reference_log1p(x):
    return np.log1p(_wide(x))


def reference_logit(x):
    x = _wide(x)
    return np.log(x) - np.log1p(-x)


def samples_logit():
    for dtype in ("float32", "float64"):
        yield Sample((np.linspace(0.03, 0.97, 300, dtype=dtype),))


def reference_tanh(x):
    return np.tanh(_wide(x))


def reference_sigmoid(x):
    x = _wide(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e) + 0 * np.where(np.isnan(x), x, 0)


def reference_erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(_wide(x))


def reference_tanh_backward(grad_out, out):
    return grad_out * np.conj(1 - out * out)


def reference_sigmoid_backward(grad_out, out):
    return grad_out * out * (1 - out)


TOLERANCE = {
    "tanh_backward": {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)},
}
