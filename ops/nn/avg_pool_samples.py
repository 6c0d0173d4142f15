"""References of mean pooling in one to three dims: loops over windows, with channels first."""

import numpy as np

from ops.nn.conv_samples import from_first, to_first
from ops.nn.max_pool_samples import Windows


def _divisor(part, counted, exclusive, divisor_override):
    if divisor_override is not None:
        return divisor_override
    return int(np.prod(part.shape[2:])) if exclusive else counted


def means(x, windows, exclusive=True, divisor_override=None):
    out = np.zeros((*x.shape[:2], *windows.sizes))
    for to, seen, counted in windows:
        part = x[seen]
        divisor = _divisor(part, counted, exclusive, divisor_override)
        empty = np.nan if exclusive else 0
        out[to] = part.sum(axis=tuple(range(2, x.ndim))) / divisor if divisor else empty
    return out


def mean_grads(g, shape, windows, exclusive=True, divisor_override=None):
    out = np.zeros(shape)
    for to, seen, counted in windows:
        divisor = _divisor(out[seen], counted, exclusive, divisor_override)
        if divisor:
            out[seen] += (g[to] / divisor).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return out


def _avg_pool(
    x,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    exclusive=True,
    data_format="NCHW",
    divisor_override=None,
    padding_algorithm="EXPLICIT",
):
    x = to_first(x, data_format)
    windows = Windows.of_pool(x.shape[2:], kernel_size, stride, padding, ceil_mode, padding_algorithm)
    return from_first(means(x, windows, exclusive, divisor_override), data_format)


reference_avg_pool = reference_avg_pool1d = reference_avg_pool2d = reference_avg_pool3d = _avg_pool


def first_shape(shape, data_format):
    return [shape[0], shape[-1], *shape[1:-1]] if data_format[-1] == "C" else list(shape)


def reference_avg_pool_grad(
    grad_out,
    input_shape,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    exclusive=True,
    data_format="NCHW",
    divisor_override=None,
    padding_algorithm="EXPLICIT",
):
    shape = first_shape(input_shape, data_format)
    windows = Windows.of_pool(shape[2:], kernel_size, stride, padding, ceil_mode, padding_algorithm)
    g = to_first(grad_out, data_format)
    return from_first(mean_grads(g, shape, windows, exclusive, divisor_override), data_format)
