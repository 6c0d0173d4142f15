"""Layers as functions, with the old arguments; those with parameters make them, in static mode only."""

import builtins
import sys

import proa
from proa import _C
from proa.fluid.layers.math import *
from proa.fluid.layers.math import __all__ as _math
from proa.fluid.layers.ops import *
from proa.fluid.layers.ops import __all__ as _ops
from proa.fluid.layers.tensor import *
from proa.fluid.layers.tensor import __all__ as _tensor
from proa.nn import functional as F
from proa.static import nn as static_nn

__all__ = [
    *_math, *_ops, *_tensor, "adaptive_pool2d", "adaptive_pool3d", "batch_norm", "continuous_value_model", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "dropout", "embedding", "fc", "group_norm", "image_resize", "instance_norm", "label_smooth",
    "layer_norm", "log_softmax", "lrn", "pixel_shuffle", "pool2d", "pool3d", "prelu", "py_func", "resize_bilinear",
    "resize_nearest", "resize_trilinear", "row_conv", "sequence_mask", "shuffle_channel", "softmax", "spectral_norm",
    "temporal_shift", "unfold",
]  # fmt: skip


def _in_training():
    """Whether the layer whose forward calls is in training; True outside of layers."""
    from proa.nn import Layer

    frame = sys._getframe(2)
    while frame is not None:
        layer = frame.f_locals.get("self")
        if isinstance(layer, Layer):
            return layer.training
        frame = frame.f_back
    return True


def fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
    """`static.nn.fc`."""
    return static_nn.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
    """`static.nn.embedding` of indices whose last dim is one: it goes away."""
    if len(input.shape) > 1 and input.shape[-1] == 1:
        input = _C.ops.squeeze(input, [-1])
    return static_nn.embedding(input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


conv2d = static_nn.conv2d
conv3d = static_nn.conv3d
conv2d_transpose = static_nn.conv2d_transpose
conv3d_transpose = static_nn.conv3d_transpose
batch_norm = static_nn.batch_norm
group_norm = static_nn.group_norm
instance_norm = static_nn.instance_norm
layer_norm = static_nn.layer_norm
row_conv = static_nn.row_conv
spectral_norm = static_nn.spectral_norm
py_func = static_nn.py_func


def prelu(x, mode, param_attr=None, name=None):
    """`static.nn.prelu`."""
    return static_nn.prelu(x, mode, param_attr, name=name)


def softmax(input, use_cudnn=False, name=None, axis=-1):
    """exp(x) over its sum along `axis`."""
    return F.softmax(input, axis)


def log_softmax(input, axis=None, dtype=None, name=None):
    """The logarithm of `softmax`."""
    return F.log_softmax(input, -1 if axis is None else axis, dtype)


def dropout(x, dropout_prob, is_test=None, seed=None, name=None, dropout_implementation="downgrade_in_infer"):
    """Zeros at random in training.

    Args:
        dropout_prob (float): how many.
        is_test (bool, optional): False in training; unless given, as the layer that calls is.
        dropout_implementation (str): "downgrade_in_infer": later, all are scaled by 1 - dropout_prob.
            "upscale_in_train": in training, what stays is scaled by 1 / (1 - dropout_prob).
    """
    training = _in_training() if is_test is None else not is_test
    return F.dropout(x, dropout_prob, training=training, mode=dropout_mode(dropout_implementation))


def dropout_mode(implementation):
    """What `nn.functional.dropout` calls it."""
    return {"downgrade_in_infer": "downscale_in_infer"}.get(implementation, implementation)


def _pool(
    rank, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode, exclusive, data_format
):
    if pool_type not in ("max", "avg"):
        raise _C.located(ValueError(f"pool{rank}d: pool_type must be 'max' or 'avg', not {pool_type!r}"))
    if global_pooling:
        first = 2 if data_format.startswith("NC") else 1
        function = _C.ops.max if pool_type == "max" else _C.ops.mean
        return function(input, axis=list(builtins.range(first, first + rank)), keepdim=True)
    function = getattr(F, f"{pool_type}_pool{rank}d")
    given = {"ceil_mode": ceil_mode, "data_format": data_format}
    if pool_type == "avg":
        given["exclusive"] = exclusive
    return function(input, pool_size, pool_stride, pool_padding, **given)


def pool2d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
           ceil_mode=False, name=None, exclusive=True, data_format="NCHW"):  # fmt: skip
    """The largest element, or the mean, of windows; of the whole image with `global_pooling`."""
    return _pool(
        2, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode, exclusive, data_format
    )


def pool3d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
           ceil_mode=False, name=None, exclusive=True, data_format="NCDHW"):  # fmt: skip
    """The largest element, or the mean, of windows; of all with `global_pooling`."""
    return _pool(
        3, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode, exclusive, data_format
    )


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """The largest element, or the mean, of windows so large that the result has this size."""
    if pool_type == "max":
        return F.adaptive_max_pool2d(input, pool_size, require_index)
    return F.adaptive_avg_pool2d(input, pool_size)


def adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None):
    """The largest element, or the mean, of windows so large that the result has this size."""
    if pool_type == "max":
        return F.adaptive_max_pool3d(input, pool_size, require_index)
    return F.adaptive_avg_pool3d(input, pool_size)


def image_resize(input, out_shape=None, scale=None, name=None, resample="BILINEAR", actual_shape=None,
                 align_corners=True, align_mode=1, data_format="NCHW"):  # fmt: skip
    """An image at another size."""
    size = actual_shape if actual_shape is not None else out_shape
    mode = resample.lower()
    corners = align_corners if mode != "nearest" else False
    return F.interpolate(input, size, scale, mode, corners, align_mode, data_format)


def resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
                    data_format="NCHW"):  # fmt: skip
    """An image at another size."""
    return image_resize(input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode, data_format)


def resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
                   data_format="NCHW"):  # fmt: skip
    """An image at another size, of its own pixels."""
    if align_corners:
        return _nearest_by_corners(input, out_shape if actual_shape is None else actual_shape, scale, data_format)
    return image_resize(input, out_shape, scale, name, "NEAREST", actual_shape, False, 1, data_format)


def _nearest_by_corners(x, size, scale, data_format):
    """Corner pixels stay corner pixels: pixel i comes from round(i * (in - 1) / (out - 1))."""
    first = 2 if data_format.startswith("NC") else 1
    if size is None:
        factors = scale if isinstance(scale, (list, tuple)) else [scale, scale]
        size = [int(x.shape[first + i] * factors[i]) for i in (0, 1)]
    for i in (0, 1):
        old, new = x.shape[first + i], int(size[i])
        ratio = (old - 1) / (new - 1) if new > 1 else 0.0
        index = [int(ratio * j + 0.5) for j in builtins.range(new)]
        x = proa.index_select(x, _C.to_tensor(index), first + i)
    return x


def resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
                     data_format="NCDHW"):  # fmt: skip
    """A volume at another size."""
    return image_resize(
        input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode, data_format
    )


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """(1 - epsilon) * label + epsilon * prior_dist, which is uniform unless given."""
    return F.label_smooth(label, prior_dist, epsilon)


def lrn(input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"):
    """input / (k + alpha * sum of squares of n neighboring channels) ** beta."""
    return F.local_response_norm(input, n, alpha * n, beta, k, data_format)


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """Ones for the first x of `maxlen`."""
    return F.sequence_mask(x, maxlen, dtype)


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW"):
    """`nn.functional.temporal_shift`."""
    return F.temporal_shift(x, seg_num, shift_ratio, data_format=data_format)


def pixel_shuffle(x, upscale_factor):
    """`nn.functional.pixel_shuffle`."""
    return F.pixel_shuffle(x, upscale_factor)


def shuffle_channel(x, group, name=None):
    """Channels of `group` groups, one of each in turn."""
    n, c, h, w = x.shape
    return x.reshape([n, group, c // group, h, w]).transpose([0, 2, 1, 3, 4]).reshape([n, c, h, w])


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """`nn.functional.unfold`."""
    return F.unfold(x, kernel_sizes, strides, paddings, dilations)


def continuous_value_model(input, cvm, use_cvm=True):
    """What a model of click rates knows of how often something was shown and clicked: the first two columns.

    The gradient of these two columns is `cvm` itself, whatever that of the result is.

    Args:
        input (Tensor): [N, 2 + D]: shows, clicks, an embedding.
        cvm (Tensor): [N, 2]: shows and clicks of this batch.
        use_cvm (bool): the result has the columns log(shows + 1) and log(clicks + 1) - log(shows + 1) before the embedding;
            otherwise it is the embedding.

    Returns:
        Tensor: [N, 2 + D], or [N, D].

    Raises:
        ValueError: input has fewer than two columns.

    Examples:
        >>> x = proa.to_tensor([[1.0, 0.0, 5.0]])
        >>> [round(v, 3) for v in proa.fluid.layers.continuous_value_model(x, proa.ones([1, 2])).tolist()[0]]
        [0.693, -0.693, 5.0]
        >>> proa.fluid.layers.continuous_value_model(x, proa.ones([1, 2]), use_cvm=False).tolist()
        [[5.0]]
    """
    import proa
    from proa.autograd import PyLayer

    if len(input.shape) != 2 or (type(input.shape[1]) is int and input.shape[1] < 2):
        raise _C.located(ValueError(f"continuous_value_model: input must be [N, 2 or more]; it is {list(input.shape)}"))

    class Values(PyLayer):
        @staticmethod
        def forward(ctx, x, counts):
            ctx.save_for_backward(counts)
            if not use_cvm:
                return x[:, 2:] * 1.0
            shows = proa.log(x[:, :1] + 1.0)
            return proa.concat([shows, proa.log(x[:, 1:2] + 1.0) - shows, x[:, 2:]], 1)

        @staticmethod
        def backward(ctx, gradient):
            (counts,) = ctx.saved_tensor()
            return proa.concat([counts.astype(gradient.dtype), gradient[:, 2:] if use_cvm else gradient], 1), None

    return Values.apply(input, cvm)
