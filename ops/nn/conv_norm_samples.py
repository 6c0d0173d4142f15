"""References of a convolution with what follows it."""

import numpy as np

from ops.nn import batch_norm_samples, conv_samples


def reference_conv2d_batch_norm_relu_inference(
    x,
    weight,
    mean,
    variance,
    bias=None,
    norm_weight=None,
    norm_bias=None,
    residual=None,
    epsilon=1e-5,
    stride=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
):
    out = conv_samples.reference_conv2d(
        x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm
    )
    out = batch_norm_samples.reference_batch_norm_inference(
        out, mean, variance, norm_weight, norm_bias, epsilon, data_format
    )
    return np.maximum(out if residual is None else out + residual, 0)
