"""References of adaptive pooling in one to three dims: loops over windows, with channels first."""

from ops.nn.avg_pool_samples import first_shape, mean_grads, means
from ops.nn.conv_samples import from_first, to_first
from ops.nn.max_pool_samples import Windows, maxima


def _avg(x, output_size, data_format="NCHW"):
    x = to_first(x, data_format)
    return from_first(means(x, Windows.adaptive(x.shape[2:], output_size)), data_format)


reference_adaptive_avg_pool1d = reference_adaptive_avg_pool2d = reference_adaptive_avg_pool3d = _avg


def reference_adaptive_avg_pool_grad(grad_out, input_shape, data_format="NCHW"):
    shape = first_shape(input_shape, data_format)
    g = to_first(grad_out, data_format)
    return from_first(mean_grads(g, shape, Windows.adaptive(shape[2:], g.shape[2:])), data_format)


def reference_adaptive_avg_pool_like(x, out_shape, data_format="NCHW"):
    return _avg(x, first_shape(out_shape, data_format)[2:], data_format)


def _max(x, output_size, data_format="NCHW"):
    x = to_first(x, data_format)
    return tuple(from_first(t, data_format) for t in maxima(x, Windows.adaptive(x.shape[2:], output_size)))


reference_adaptive_max_pool1d = reference_adaptive_max_pool2d = reference_adaptive_max_pool3d = _max
