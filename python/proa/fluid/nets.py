"""Small networks as functions, in static mode."""

from proa.fluid import layers

__all__ = ["glu", "img_conv_group", "scaled_dot_product_attention", "sequence_conv_pool", "simple_img_conv_pool"]


def simple_img_conv_pool(input, num_filters, filter_size, pool_size, pool_stride, pool_padding=0, pool_type="max",
                         global_pooling=False, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1,
                         param_attr=None, bias_attr=None, act=None, use_cudnn=True):  # fmt: skip
    """A convolution and a pool."""
    conv = layers.conv2d(input, num_filters, filter_size, conv_stride, conv_padding, conv_dilation, conv_groups,
                         param_attr, bias_attr, act=act)  # fmt: skip
    return layers.pool2d(conv, pool_size, pool_type, pool_stride, pool_padding, global_pooling)


def _each(value, count):
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def img_conv_group(input, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3, conv_act=None, param_attr=None,
                   conv_with_batchnorm=False, conv_batchnorm_drop_rate=0.0, pool_stride=1, pool_type="max",
                   use_cudnn=True):  # fmt: skip
    """Convolutions one after another (with batch normalization and dropout, if asked for), and a pool."""
    count = len(conv_num_filter)
    paddings, sizes = _each(conv_padding, count), _each(conv_filter_size, count)
    attrs, norms, rates = (_each(v, count) for v in (param_attr, conv_with_batchnorm, conv_batchnorm_drop_rate))
    x = input
    for i, filters in enumerate(conv_num_filter):
        act = None if norms[i] else conv_act
        x = layers.conv2d(x, filters, sizes[i], padding=paddings[i], param_attr=attrs[i], act=act)
        if norms[i]:
            x = layers.batch_norm(x, act=conv_act)
            x = layers.dropout(x, rates[i]) if abs(rates[i]) > 1e-5 else x
    return layers.pool2d(x, pool_size, pool_type, pool_stride)


def sequence_conv_pool(
    input, num_filters, filter_size, param_attr=None, act="sigmoid", pool_type="max", bias_attr=None
):
    """A convolution along sequences, and one row for each."""
    conv = layers.sequence_conv(input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act)
    return layers.sequence_pool(conv, pool_type)


def glu(input, dim=-1):
    """The first half times the sigmoid of the second."""
    a, b = layers.split(input, 2, dim)
    return a * layers.sigmoid(b)


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """Attention of several heads, of [N, T, D]."""

    def heads(x):
        if num_heads == 1:
            return x
        size = x.shape[-1] // num_heads
        return layers.transpose(layers.reshape(x, [0, 0, num_heads, size]), [0, 2, 1, 3])

    q, k, v = heads(queries), heads(keys), heads(values)
    scores = layers.softmax(layers.matmul(q * (q.shape[-1] ** -0.5), k, transpose_y=True))
    scores = layers.dropout(scores, dropout_rate) if dropout_rate else scores
    mixed = layers.matmul(scores, v)
    if num_heads == 1:
        return mixed
    mixed = layers.transpose(mixed, [0, 2, 1, 3])
    return layers.reshape(mixed, [0, 0, mixed.shape[2] * mixed.shape[3]])
