"""References of a convolution with what follows it."""

import math

import numpy as np

from ops.nn import conv_samples

_erf = np.vectorize(math.erf, otypes=[np.float64])

ACTIVATIONS = {
    "none": lambda y, alpha, beta: y,
    "relu": lambda y, alpha, beta: np.maximum(y, 0),
    "relu6": lambda y, alpha, beta: np.clip(y, 0, 6),
    "leaky_relu": lambda y, alpha, beta: np.where(y < 0, alpha * y, y),
    "hardtanh": lambda y, alpha, beta: np.clip(y, alpha, beta),
    "hardsigmoid": lambda y, alpha, beta: np.clip(alpha * y + beta, 0, 1),
    "hardswish": lambda y, alpha, beta: y * np.clip(y + 3, 0, 6) / 6,
    "mish": lambda y, alpha, beta: y * np.tanh(np.log1p(np.exp(y))),
    "silu": lambda y, alpha, beta: y / (1 + np.exp(-y)),
    "sigmoid": lambda y, alpha, beta: 1 / (1 + np.exp(-y)),
    "tanh": lambda y, alpha, beta: np.tanh(y),
    "gelu": lambda y, alpha, beta: y * 0.5 * (1 + _erf(y / np.sqrt(2))),
    "gelu_tanh": lambda y, alpha, beta: y * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))),
}


def reference_conv2d_activation(
    x,
    weight,
    bias=None,
    residual=None,
    scale=None,
    activation="none",
    alpha=0.0,
    beta=0.0,
    stride=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
):
    if scale is not None:
        weight = weight * scale.reshape(-1, 1, 1, 1)
    out = conv_samples.reference_conv2d(
        x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm
    )
    return ACTIVATIONS[activation](out if residual is None else out + residual, alpha, beta)
