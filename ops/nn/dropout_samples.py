"""References of dropout, and what holds of it whatever was drawn."""

import numpy as np


def _scale(p, training, mode):
    up = mode == "upscale_in_train"
    if not training:
        return 1.0 if up else 1.0 - p
    if not up:
        return 1.0
    return 1.0 / (1.0 - p) if p < 1 else 0.0


def reference_dropout(x, p=0.5, training=True, mode="upscale_in_train"):
    """For the samples, of which none is random."""
    mask = np.full(x.shape, not training or p == 0)
    return np.where(mask, x * _scale(p, training, mode), 0.0), mask


def reference_dropout_grad(grad_out, mask, p=0.5, training=True, mode="upscale_in_train"):
    return np.where(mask, grad_out * _scale(p, training, mode), 0.0)
