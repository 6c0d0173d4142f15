"""References of what goes by the places of maxima."""

from ops.nn.conv_samples import each, from_first, to_first
from ops.nn.max_pool_samples import gather, scatter


def _first(shape, data_format):
    return [shape[0], shape[-1], *shape[1:-1]] if data_format[-1] == "C" else list(shape)


def reference_pool_scatter(values, indices, input_shape, data_format="NCHW"):
    v, i = to_first(values, data_format), to_first(indices, data_format)
    return from_first(scatter(v, i, _first(input_shape, data_format)), data_format)


def reference_pool_gather(x, indices, data_format="NCHW"):
    return from_first(gather(to_first(x, data_format), to_first(indices, data_format)), data_format)


def _unpool(x, indices, kernel_size, stride=(), padding=0, output_size=(), data_format="NCHW"):
    v, i = to_first(x, data_format), to_first(indices, data_format)
    n = v.ndim - 2
    kernel, pads = each(kernel_size, n), each(padding, n)
    steps = each(stride, n) if len(each(stride, n)) else kernel
    sizes = [(v.shape[2 + d] - 1) * steps[d] - 2 * pads[d] + kernel[d] for d in range(n)]
    if len(output_size):
        sizes = each(output_size, n)
    return from_first(scatter(v, i, [*v.shape[:2], *sizes], add=False), data_format)


reference_max_unpool1d = reference_max_unpool2d = reference_max_unpool3d = _unpool
