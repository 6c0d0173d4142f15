"""Reference of batch normalization as part of a weight."""

import numpy as np


def reference_fold_batch_norm(
    weight, mean, variance, bias=None, norm_weight=None, norm_bias=None, epsilon=1e-5, channel_dim=0, groups=1
):
    scale = (1 if norm_weight is None else norm_weight) / np.sqrt(variance + epsilon)
    shift = ((0 if bias is None else bias) - mean) * scale + (0 if norm_bias is None else norm_bias)
    if channel_dim == 0:
        return weight * scale.reshape((-1,) + (1,) * (weight.ndim - 1)), shift
    rows = np.split(weight, groups)
    scales = np.split(scale, groups)
    parts = [r * s.reshape((1, -1) + (1,) * (weight.ndim - 2)) for r, s in zip(rows, scales, strict=True)]
    return np.concatenate(parts), shift
