"""References of softmax and log_softmax."""

import numpy as np


def _axis(x, axis):
    return None if x.ndim == 0 else axis


def reference_softmax(x, axis=-1):
    if x.size == 0:
        return x
    axis = _axis(x, axis)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def reference_softmax_grad(out, grad_out, axis=-1):
    return out * (grad_out - (out * grad_out).sum(axis=axis, keepdims=True))


def reference_log_softmax(x, axis=-1):
    if x.size == 0:
        return x
    axis = _axis(x, axis)
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def reference_log_softmax_grad(out, grad_out, axis=-1):
    return grad_out - np.exp(out) * grad_out.sum(axis=axis, keepdims=True)


TOLERANCE = {
    "softmax_grad": {"float16": (1e-2, 1e-2), "bfloat16": (6e-2, 6e-2)},
    "log_softmax_grad": {"float16": (2e-2, 2e-2), "bfloat16": (1e-1, 1e-1)},
}
