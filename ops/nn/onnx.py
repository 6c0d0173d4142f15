"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

import math

from proa.onnx.rule import (
    cast,
    constant,
    known_size,
    onnx,
    opset_version,
    refuse,
    result,
    size,
    to_result,
    wanted,
)


def _channels_last(data_format):
    return len(data_format) > 2 and data_format.endswith("C")


def _channels_first(x, data_format):
    """An image as ONNX has them, with the channels in dim 1."""
    if not _channels_last(data_format):
        return x
    out = onnx.Transpose(x, perm=[0, x.rank - 1, *range(1, x.rank - 1)])
    out.shape = (x.shape[0], x.shape[-1], *x.shape[1:-1])
    return out


def _as_given(x, data_format, rank):
    """What `_channels_first` did, undone."""
    return onnx.Transpose(x, perm=[0, *range(2, rank), 1]) if _channels_last(data_format) else x


def _each(values, dims):
    return list(values) * dims if len(values) == 1 else list(values)


def _padding(padding, algorithm, image, kernel, strides, dilations=(1, 1, 1)):
    """Attributes of ONNX: what stands before all dims, then what behind."""
    dims = image.rank - 2
    if algorithm == "SAME":
        return _same_padding(image.shape[2:], kernel, strides, dilations)
    if algorithm == "VALID":
        return {"pads": [0] * 2 * dims}
    if len(padding) == 2 * dims and dims > 0 and len(padding) != 1:
        return {"pads": [*padding[0::2], *padding[1::2]]}
    return {"pads": _each(padding, dims) * 2}


def _same_padding(sizes, kernel, strides, dilations):
    """What makes ceil(size / stride) results, the odd one behind the image; left to ONNX where sizes are open."""
    if min(*sizes, *kernel) < 0:
        if max(dilations) > 1:
            refuse("SAME padding with dilation of an image of open size", "give its size in input_spec, or numbers")
        return {"auto_pad": "SAME_UPPER"}
    windows = zip(sizes, kernel, strides, dilations, strict=False)
    whole = [max((-(n // -s) - 1) * s + d * (k - 1) + 1 - n, 0) for n, k, s, d in windows]
    return {"pads": [w // 2 for w in whole] + [w - w // 2 for w in whole]}


# Convolution -------------------------------------------------------------------------------------------------------------


def _bias(bias, channels):
    """A bias for each channel."""
    return onnx.Expand(bias, [channels]) if bias is not None and bias.shape == (1,) and channels != 1 else bias


def _conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm):
    x, weight, bias = to_result(x, weight, bias)
    dims = x.rank - 2
    image = _channels_first(x, data_format)
    window = {"strides": _each(stride, dims), "dilations": _each(dilation, dims), "group": groups}
    kernel = list(weight.shape[2:])
    made = onnx.Conv(
        image,
        weight,
        _bias(bias, weight.shape[0]),
        kernel_shape=kernel if min(kernel, default=0) >= 0 else None,
        **window,
        **_padding(padding, padding_algorithm, image, kernel, window["strides"], window["dilations"]),
    )
    return _as_given(made, data_format, x.rank)


onnx_conv1d = onnx_conv2d = onnx_conv3d = _conv


def _conv_transpose(
    x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format, padding_algorithm
):
    x, weight, bias = to_result(x, weight, bias)
    dims = x.rank - 2
    image = _channels_first(x, data_format)
    strides, dilations = _each(stride, dims), _each(dilation, dims)
    if padding_algorithm == "SAME":
        refuse("a transposed convolution with SAME padding", "give numbers")
    kernel = [known_size(weight, 2 + d, "a transposed convolution") for d in range(dims)]
    pads = _padding(padding, padding_algorithm, image, kernel, strides)["pads"]
    more = _each(output_padding, dims) if output_padding else [0] * dims
    if output_size:
        for d in range(dims):
            whole = (known_size(image, 2 + d, "output_size") - 1) * strides[d] - pads[d] - pads[dims + d]
            more[d] = output_size[d] - whole - dilations[d] * (weight.shape[2 + d] - 1) - 1
    made = onnx.ConvTranspose(
        image,
        weight,
        _bias(bias, weight.shape[1] * groups),
        kernel_shape=kernel,
        strides=strides,
        dilations=dilations,
        group=groups,
        pads=pads,
        output_padding=more,
    )
    return _as_given(made, data_format, x.rank)


onnx_conv1d_transpose = onnx_conv2d_transpose = onnx_conv3d_transpose = _conv_transpose


# Pools -------------------------------------------------------------------------------------------------------------------


def _window(x, kernel_size, stride, padding, algorithm):
    dims = x.rank - 2
    kernel = _each(kernel_size, dims)
    strides = _each(stride, dims) if stride else kernel
    return {"kernel_shape": kernel, "strides": strides, **_padding(padding, algorithm, x, kernel, strides)}


def _check_ceil(image, window):
    """Windows of ceil_mode that start behind the image hold nothing here, and are not there in ONNX."""
    dims = image.rank - 2
    made = result().shape
    channels_last = made[1:-1] if result().rank == image.rank else made[2:]
    for d in range(dims):
        if image.shape[2 + d] < 0 or "auto_pad" in window:
            continue
        sizes = {made[2 + d], channels_last[d]}
        n, before, step = image.shape[2 + d], window["pads"][d], window["strides"][d]
        if all(s >= 0 and (s - 1) * step >= n + before for s in sizes):
            refuse("a pool with ceil_mode whose last window starts behind the image")


def _max_pool(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm):
    image = _channels_first(x, data_format)
    window = _window(image, kernel_size, stride, padding, padding_algorithm)
    if ceil_mode:
        _check_ceil(image, window)
    made = onnx.MaxPool(image, ceil_mode=1 if ceil_mode else None, **window)
    return _as_given(made, data_format, x.rank)


onnx_max_pool1d = onnx_max_pool2d = onnx_max_pool3d = _max_pool


def _places(found, image):
    """Places in an image from those in the batch."""
    sizes = [known_size(image, 2 + d, "places of maxima") for d in range(image.rank - 2)]
    return onnx.Mod(found, constant(math.prod(sizes), "int64"))


def _max_pool_with_index(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm):
    image = _channels_first(x, data_format)
    window = _window(image, kernel_size, stride, padding, padding_algorithm)
    if ceil_mode:
        _check_ceil(image, window)
    made, places = onnx.MaxPool(image, ceil_mode=1 if ceil_mode else None, outputs=2, **window)
    if not wanted(1):
        return _as_given(made, data_format, x.rank), None
    places = cast(_places(places, image), result(1).dtype)
    return _as_given(made, data_format, x.rank), _as_given(places, data_format, x.rank)


onnx_max_pool1d_with_index = onnx_max_pool2d_with_index = onnx_max_pool3d_with_index = _max_pool_with_index


def _avg_pool(x, kernel_size, stride, padding, ceil_mode, exclusive, data_format, divisor_override, padding_algorithm):
    image = _channels_first(x, data_format)
    window = _window(image, kernel_size, stride, padding, padding_algorithm)
    if ceil_mode:
        _check_ceil(image, window)
        if divisor_override is not None:
            refuse("a pool with ceil_mode and divisor_override")
    if divisor_override is not None and "auto_pad" in window:
        refuse("a pool with SAME padding and divisor_override")
    counted = 0 if exclusive and divisor_override is None else 1
    made = onnx.AveragePool(image, ceil_mode=1 if ceil_mode else None, count_include_pad=counted, **window)
    if divisor_override is not None:
        made = made * (math.prod(window["kernel_shape"]) / divisor_override)
    return _as_given(made, data_format, x.rank)


onnx_avg_pool1d = onnx_avg_pool2d = onnx_avg_pool3d = _avg_pool


def _adaptive_sizes(image, output_size):
    """(sizes of the input, of the output) by dim; those of the input may be open where the output has 1."""
    dims = image.rank - 2
    wanted_sizes = [image.shape[2 + d] if n == -1 else n for d, n in enumerate(_each(output_size, dims))]
    return list(image.shape[2:]), wanted_sizes


def _even(have, want):
    return all(h >= 0 and w > 0 and h % w == 0 for h, w in zip(have, want, strict=True))


def _means(n, m):
    """[n, m]: what each of n elements adds to m means of windows."""
    ranges = [(i * n // m, -((i + 1) * n // -m)) for i in range(m)]
    return [[1 / (e - b) if b <= i < e else 0.0 for b, e in ranges] for i in range(n)]


def _adaptive_avg_pool(x, output_size, data_format):
    image = _channels_first(x, data_format)
    have, want = _adaptive_sizes(image, output_size)
    if all(w == 1 for w in want):
        made = onnx.GlobalAveragePool(image)
    elif _even(have, want):
        kernel = [h // w for h, w in zip(have, want, strict=True)]
        made = onnx.AveragePool(image, kernel_shape=kernel, strides=kernel)
    else:
        made = image
        for d, (h, w) in enumerate(zip(have, want, strict=True)):
            if h == w:
                continue
            perm = list(range(image.rank))
            perm[2 + d], perm[-1] = perm[-1], perm[2 + d]
            n = known_size(image, 2 + d, "an adaptive pool")
            made = onnx.Transpose(
                onnx.MatMul(onnx.Transpose(made, perm=perm), constant(_means(n, w), x.dtype)), perm=perm
            )
    return _as_given(made, data_format, x.rank)


onnx_adaptive_avg_pool1d = onnx_adaptive_avg_pool2d = onnx_adaptive_avg_pool3d = _adaptive_avg_pool


def _uneven_maxima(image, want):
    """Maxima over windows, one dim after the other."""
    made = image
    for d, m in enumerate(want):
        n = known_size(image, 2 + d, "an adaptive pool")
        ranges = [(i * n // m, -((i + 1) * n // -m)) for i in range(m)]
        parts = [onnx.Slice(made, starts=[b], ends=[e], axes=[2 + d]) for b, e in ranges]
        made = onnx.Concat(*[onnx.ReduceMax(part, axes=[2 + d], keepdims=1) for part in parts], axis=2 + d)
    return made


def _adaptive_max_pool(x, output_size, data_format):
    image = _channels_first(x, data_format)
    have, want = _adaptive_sizes(image, output_size)
    if all(w == 1 for w in want) and not wanted(1):
        return _as_given(onnx.GlobalMaxPool(image), data_format, x.rank), None
    if not _even(have, want):
        if wanted(1):
            refuse(
                "places of an adaptive maximum over windows of different sizes",
                "choose sizes that divide those of the image",
            )
        return _as_given(_uneven_maxima(image, want), data_format, x.rank), None
    kernel = [h // w for h, w in zip(have, want, strict=True)]
    made, places = onnx.MaxPool(image, kernel_shape=kernel, strides=kernel, outputs=2)
    places = cast(_places(places, image), result(1).dtype)
    return _as_given(made, data_format, x.rank), _as_given(places, data_format, x.rank)


onnx_adaptive_max_pool1d = onnx_adaptive_max_pool2d = onnx_adaptive_max_pool3d = _adaptive_max_pool


def _max_unpool(x, indices, kernel_size, stride, padding, output_size, data_format):
    image, places = _channels_first(x, data_format), _channels_first(indices, data_format)
    rank, made = x.rank, result()
    spatial = range(1, rank - 1) if _channels_last(data_format) else range(2, rank)
    sizes = [known_size(made, d, "max_unpool") for d in spatial]
    count = math.prod(known_size(image, d, "max_unpool") for d in range(2, rank))
    flat = [onnx.Reshape(v, [0, 0, count]) for v in (image, cast(places, "int64"))]
    zeros = onnx.Expand(constant(0, x.dtype), onnx.Concat(size(image, 0), size(image, 1), [math.prod(sizes)], axis=0))
    out = onnx.ScatterElements(zeros, flat[1], flat[0], axis=2)
    return _as_given(onnx.Reshape(out, [0, 0, *sizes]), data_format, rank)


onnx_max_unpool1d = onnx_max_unpool2d = onnx_max_unpool3d = _max_unpool


# Normalization -----------------------------------------------------------------------------------------------------------


def onnx_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format):
    image = _channels_first(x, data_format)
    channels = known_size(mean, 0, "batch normalization") if weight is None or bias is None else 0
    weight = constant([1.0] * channels, mean.dtype) if weight is None else weight
    bias = constant([0.0] * channels, mean.dtype) if bias is None else bias
    made = onnx.BatchNormalization(image, weight, bias, mean, variance, epsilon=epsilon)
    return _as_given(made, data_format, x.rank)


def onnx_batch_norm_relu_inference(x, mean, variance, weight, bias, epsilon, data_format):
    return onnx.Relu(onnx_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format))


def onnx_batch_norm_add_relu_inference(x, residual, mean, variance, weight, bias, epsilon, data_format):
    return onnx.Relu(onnx_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format) + residual)


def onnx_conv2d_batch_norm_relu_inference(
    x, weight, mean, variance, bias, norm_weight, norm_bias, residual, epsilon, stride, padding, dilation, groups,
    data_format, padding_algorithm,
):  # fmt: skip
    made = _conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm)
    made.shape = result().shape
    made = onnx_batch_norm_inference(made, mean, variance, norm_weight, norm_bias, epsilon, data_format)
    return onnx.Relu(made if residual is None else made + residual)


def onnx_layer_norm(x, weight, bias, begin_axis, epsilon):
    begin = begin_axis % x.rank
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    y, axes = cast(x, wide), list(range(begin, x.rank))
    away = y - onnx.ReduceMean(y, axes=axes, keepdims=1)
    y = away / onnx.Sqrt(onnx.ReduceMean(away * away, axes=axes, keepdims=1) + epsilon)
    if weight is not None:
        y = y * _over(cast(weight, wide), x, begin)
    if bias is not None:
        y = y + _over(cast(bias, wide), x, begin)
    return cast(y, x.dtype)


def _over(v, x, begin):
    """A weight of the normalized dims, which may be flat."""
    if v.rank == x.rank - begin:
        return v
    return onnx.Reshape(v, [known_size(x, a, "layer_norm") for a in range(begin, x.rank)])


def _along_axis(operator):
    """Before opset 13 these went over all dims from the axis on: the axis is the last one there."""

    def rule(x, axis):
        if x.rank == 0:
            zero = x - x
            return zero if operator == "LogSoftmax" else onnx.Exp(zero)
        axis %= x.rank
        if axis == x.rank - 1 or opset_version() >= 13:
            return getattr(onnx, operator)(x, axis=axis)
        perm = list(range(x.rank))
        perm[axis], perm[-1] = perm[-1], perm[axis]
        return onnx.Transpose(getattr(onnx, operator)(onnx.Transpose(x, perm=perm), axis=x.rank - 1), perm=perm)

    return rule


onnx_softmax = _along_axis("Softmax")
onnx_log_softmax = _along_axis("LogSoftmax")


# Attention, dropout ------------------------------------------------------------------------------------------------------


def onnx_attention(query, key, value, mask, scale):
    query, key, value, mask = to_result(query, key, value, mask)
    scores = onnx.MatMul(onnx.Transpose(query * scale, perm=[0, 2, 1, 3]), onnx.Transpose(key, perm=[0, 2, 3, 1]))
    scores = scores if mask is None else scores + mask
    weights = onnx.Softmax(scores, axis=3)
    return onnx.Transpose(onnx.MatMul(weights, onnx.Transpose(value, perm=[0, 2, 1, 3])), perm=[0, 2, 1, 3])


def onnx_dropout(x, p, training, mode):
    if training:
        refuse("dropout that draws random numbers", "export in evaluation mode, or clone(for_test=True)")
    return (x * (1.0 - p) if mode == "downscale_in_infer" else onnx.Identity(x)), None


# Losses ------------------------------------------------------------------------------------------------------------------


def onnx_softmax_with_cross_entropy(logits, label, soft_label, ignore_index, axis):
    axis %= logits.rank
    logs = onnx_log_softmax(logits, axis)
    if soft_label:
        return -onnx.ReduceSum(cast(label, logits.dtype) * logs, axes=[axis], keepdims=1)
    if label.rank < logits.rank:
        label = onnx.Unsqueeze(label, axes=[axis])
    label = cast(label, "int64")
    ignored = onnx.Equal(label, ignore_index)
    found = -onnx.GatherElements(logs, onnx.Where(ignored, 0, label), axis=axis)
    return onnx.Where(ignored, 0.0, found)


def onnx_nll_loss(x, label, weight, ignore_index):
    label = cast(label, "int64")
    ignored = onnx.Equal(label, ignore_index)
    safe = onnx.Where(ignored, 0, label)
    found = -onnx.Squeeze(onnx.GatherElements(x, onnx.Unsqueeze(safe, axes=[1]), axis=1), axes=[1])
    found = found if weight is None else found * cast(onnx.Gather(weight, safe, axis=0), x.dtype)
    return onnx.Where(ignored, 0.0, found)


def onnx_nll_loss_weight(label, weight, ignore_index):
    label = cast(label, "int64")
    ignored = onnx.Equal(label, ignore_index)
    return onnx.Where(ignored, 0.0, onnx.Gather(weight, onnx.Where(ignored, 0, label), axis=0))
