"""References of cross entropy and negative log likelihood."""

import numpy as np


def _log_softmax(x, axis):
    if x.size == 0:
        return x
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _target(logits, label, soft_label, ignore_index, axis):
    """The label as a distribution over axis; zeros where it is ignored."""
    if soft_label:
        return label
    axis %= logits.ndim
    label = label if label.ndim == logits.ndim else np.expand_dims(label, axis)
    shape = [1] * logits.ndim
    shape[axis] = logits.shape[axis]
    classes = np.arange(logits.shape[axis]).reshape(shape)
    return ((classes == label) & (label != ignore_index)).astype(np.float64)


def reference_softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, axis=-1):
    target = _target(logits, label, soft_label, ignore_index, axis)
    return -(target * _log_softmax(logits, axis)).sum(axis=axis, keepdims=True)


def reference_softmax_with_cross_entropy_grad(grad_loss, logits, label, soft_label=False, ignore_index=-100, axis=-1):
    target = _target(logits, label, soft_label, ignore_index, axis)
    p = np.exp(_log_softmax(logits, axis))
    return (p * target.sum(axis=axis, keepdims=True) - target) * grad_loss


def reference_cross_entropy_grad_logits(
    grad_out, grad_loss, logits, label, soft_label=False, ignore_index=-100, axis=-1
):
    target = _target(logits, label, soft_label, ignore_index, axis)
    p = np.exp(_log_softmax(logits, axis))
    v = grad_out * grad_loss * target.sum(axis=axis, keepdims=True)
    return p * (v - (p * v).sum(axis=axis, keepdims=True))


def _picked(label, weight, ignore_index):
    """The class to pick, and what to multiply with."""
    kept = label != ignore_index
    classes = np.where(kept, label, 0).astype(np.int64)
    factor = kept * (1.0 if weight is None else weight[classes])
    return classes, factor


def reference_nll_loss(x, label, weight=None, ignore_index=-100):
    classes, factor = _picked(label, weight, ignore_index)
    return -np.take_along_axis(x, classes[:, None], axis=1)[:, 0] * factor


def reference_nll_loss_grad(grad_loss, label, weight, x_shape, ignore_index=-100):
    classes, factor = _picked(label, weight, ignore_index)
    out = np.zeros(x_shape)
    np.put_along_axis(out, classes[:, None], (-grad_loss * factor)[:, None], axis=1)
    return out


def reference_nll_loss_weight(label, weight, ignore_index=-100):
    return _picked(label, weight, ignore_index)[1]
