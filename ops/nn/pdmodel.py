"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

import math

from proa.jit.reference.rule import cast, known, op, refuse, result, results, to_result, wanted


def _each(values, dims):
    return list(values) * dims if len(values) == 1 else list(values)


def _last(data_format):
    return len(data_format) > 2 and data_format.endswith("C")


def _format(data_format, dims):
    return ("NHWC", "NDHWC")[dims - 2] if _last(data_format) else ("NCHW", "NCDHW")[dims - 2]


def _lifted(x, axis):
    """An image of one dim as one of two."""
    out = op("unsqueeze2", {"X": x}, {"axes": [axis]}, outputs=("Out", "XShape"))[0]
    out.shape = (*x.shape[:axis], 1, *x.shape[axis:])
    return out


def _lowered(x, axis):
    return op("squeeze2", {"X": x}, {"axes": [axis]}, outputs=("Out", "XShape"))[0]


def _as_two(values, first):
    """What stands for the dim alone, for two dims of which the first is new."""
    values = list(values)
    return [*first, *values] if len(values) == 1 else [*first, *first, *values]


def _biased(out, bias, data_format):
    if bias is None:
        return out
    return op("elementwise_add", {"X": out, "Y": bias}, {"axis": -1 if _last(data_format) else 1})


# Convolution -------------------------------------------------------------------------------------------------------------


def _padded(x, weight, stride, padding, dilation, algorithm, data_format, dims):
    """(padding, algorithm) for the format, whose SAME takes every dilation as 1: numbers instead where one is not."""
    stride, dilation = _each(stride, dims), _each(dilation, dims)
    if algorithm != "SAME" or all(d == 1 for d in dilation):
        return padding, algorithm
    found = []
    for i in range(dims):
        extent = dilation[i] * (weight.shape[i + 2] - 1) + 1
        total = extent - 1
        if stride[i] != 1:
            size = x.shape[i + (1 if _last(data_format) else 2)]
            if not isinstance(size, int) or size < 0:
                refuse(
                    "a convolution of padding SAME has strides and dilations, and open sizes",
                    "give the padding in numbers",
                )
            total = max((-(-size // stride[i]) - 1) * stride[i] + extent - size, 0)
        found += [total // 2, total - total // 2]
    return found, "EXPLICIT"


def _conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm):
    x, weight, bias = to_result(x, weight, bias)
    dims, flat = x.rank - 2, x.rank == 3
    if flat:
        new = 1 if _last(data_format) else 2
        x, weight, dims = _lifted(x, new), _lifted(weight, 2), 2
        stride, dilation, padding = _as_two(stride, [1]), _as_two(dilation, [1]), _as_two(padding, [0])
    padding, padding_algorithm = _padded(x, weight, stride, padding, dilation, padding_algorithm, data_format, dims)
    attributes = {
        "strides": _each(stride, dims),
        "paddings": _each(padding, dims),
        "dilations": _each(dilation, dims),
        "groups": groups,
        "padding_algorithm": padding_algorithm,
        "data_format": _format(data_format, dims),
    }
    made = op(f"conv{dims}d", {"Input": x, "Filter": weight}, attributes, outputs=("Output",))
    made = _lowered(made, new) if flat else made
    return _biased(made, _whole(bias, weight.shape[0]), data_format)


def _whole(bias, channels):
    if bias is not None and bias.shape == (1,) and channels != 1:
        return op("expand_v2", {"X": bias}, {"shape": [channels]}, shape=(channels,))
    return bias


pdmodel_conv1d = pdmodel_conv2d = pdmodel_conv3d = _conv


def _conv_transpose(
    x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format, padding_algorithm
):
    x, weight, bias = to_result(x, weight, bias)
    dims, flat = x.rank - 2, x.rank == 3
    output_size = [int(n) for n in known(output_size, "output_size")]
    if flat:
        new = 1 if _last(data_format) else 2
        x, weight, dims = _lifted(x, new), _lifted(weight, 2), 2
        stride, dilation, padding = _as_two(stride, [1]), _as_two(dilation, [1]), _as_two(padding, [0])
        output_padding = _as_two(output_padding, [0]) if output_padding else []
        output_size = [1, *output_size] if output_size else []
    if padding_algorithm == "SAME" and any(d != 1 for d in dilation):
        refuse(
            "a transposed convolution of padding SAME has dilations, which the format takes as 1 there",
            "give the padding in numbers",
        )
    attributes = {
        "strides": _each(stride, dims),
        "paddings": _each(padding, dims),
        "dilations": _each(dilation, dims),
        "output_padding": _each(output_padding, dims) if output_padding else [],
        "output_size": output_size,
        "groups": groups,
        "padding_algorithm": padding_algorithm,
        "data_format": _format(data_format, dims),
    }
    made = op(f"conv{dims}d_transpose", {"Input": x, "Filter": weight}, attributes, outputs=("Output",))
    made = _lowered(made, new) if flat else made
    return _biased(made, _whole(bias, weight.shape[1] * groups), data_format)


pdmodel_conv1d_transpose = pdmodel_conv2d_transpose = pdmodel_conv3d_transpose = _conv_transpose


# Pools -------------------------------------------------------------------------------------------------------------------


def _pool(kind, x, kernel, stride, padding, data_format, algorithm="EXPLICIT", ceil_mode=False, **more):
    dims, flat = x.rank - 2, x.rank == 3
    stride = stride or kernel
    if flat:
        new = 1 if _last(data_format) else 2
        x, dims = _lifted(x, new), 2
        kernel, stride, padding = _as_two(kernel, [1]), _as_two(stride, [1]), _as_two(padding, [0])
    attributes = {
        "pooling_type": kind,
        "ksize": _each(kernel, dims),
        "strides": _each(stride, dims),
        "paddings": _each(padding, dims),
        "padding_algorithm": algorithm,
        "ceil_mode": ceil_mode,
        "global_pooling": False,
        "adaptive": False,
        "exclusive": True,
        "data_format": _format(data_format, dims),
        **more,
    }
    made = op(f"pool{dims}d", {"X": x}, attributes)
    return _lowered(made, new) if flat else made


def _max_pool(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm):
    return _pool("max", x, kernel_size, stride, padding, data_format, padding_algorithm, ceil_mode)


pdmodel_max_pool1d = pdmodel_max_pool2d = pdmodel_max_pool3d = _max_pool


def _max_pool_with_index(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm):
    if not wanted(1):
        return [_max_pool(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm), None]
    dims = x.rank - 2
    if dims == 1 or _last(data_format) or padding_algorithm != "EXPLICIT" or len(padding) > dims:
        refuse("places of maxima in such an image", "use NCHW and numbers for padding")
    window = {"ksize": _each(kernel_size, dims), "strides": _each(stride or kernel_size, dims)}
    window |= {"paddings": _each(padding, dims), "global_pooling": False, "adaptive": False, "ceil_mode": ceil_mode}
    out, mask = op(f"max_pool{dims}d_with_index", {"X": x}, window, outputs=("Out", "Mask"))
    mask.dtype = "int32"
    return [out, cast(mask, result(1).dtype)]


pdmodel_max_pool2d_with_index = pdmodel_max_pool3d_with_index = pdmodel_max_pool1d_with_index = _max_pool_with_index


def _avg_pool(x, kernel_size, stride, padding, ceil_mode, exclusive, data_format, divisor_override, padding_algorithm):
    exclusive = exclusive and divisor_override is None
    more = {"exclusive": exclusive}
    made = _pool("avg", x, kernel_size, stride, padding, data_format, padding_algorithm, ceil_mode, **more)
    if divisor_override is None:
        return made
    factor = math.prod(_each(kernel_size, x.rank - 2)) / divisor_override
    return op("scale", {"X": made}, {"scale": factor, "bias": 0.0, "bias_after_scale": True})


pdmodel_avg_pool1d = pdmodel_avg_pool2d = pdmodel_avg_pool3d = _avg_pool


def _adaptive_avg_pool(x, output_size, data_format):
    return _pool("avg", x, _each(output_size, x.rank - 2), [1], [0], data_format, adaptive=True)


pdmodel_adaptive_avg_pool1d = pdmodel_adaptive_avg_pool2d = pdmodel_adaptive_avg_pool3d = _adaptive_avg_pool


def _adaptive_max_pool(x, output_size, data_format):
    dims, flat = x.rank - 2, x.rank == 3
    if _last(data_format):
        refuse("an adaptive pool of maxima with channels last", "use NCHW")
    sizes = _each(output_size, dims)
    image, dims, sizes = (_lifted(x, 2), 2, [1, *sizes]) if flat else (x, dims, sizes)
    window = {"ksize": sizes, "strides": [1] * dims, "paddings": [0] * dims, "global_pooling": False, "adaptive": True}
    made = op(f"max_pool{dims}d_with_index", {"X": image}, window, outputs=("Out", "Mask"))
    made[1].dtype = "int32"
    out, places = [_lowered(t, 2) for t in made] if flat else made
    places.dtype = "int32"
    return [out, cast(places, result(1).dtype)]


pdmodel_adaptive_max_pool1d = pdmodel_adaptive_max_pool2d = pdmodel_adaptive_max_pool3d = _adaptive_max_pool


def _max_unpool(kind, dims, x, indices, kernel_size, stride, padding, data_format):
    window = {
        "ksize": _each(kernel_size, dims),
        "strides": _each(stride or kernel_size, dims),
        "paddings": _each(padding, dims),
    }
    sizes = result().shape[2:]
    if not data_format.startswith("NC") or min(sizes, default=0) < 0:
        refuse(f"max_unpool{dims}d of an open size or with channels last", "give the size in input_spec")
    window |= {"output_size": list(sizes), "data_format": data_format}
    return op(kind, {"X": x, "Indices": cast(indices, "int32")}, {**window, "unpooling_type": "max"})


def pdmodel_max_unpool2d(x, indices, kernel_size, stride, padding, output_size, data_format):
    return _max_unpool("unpool", 2, x, indices, kernel_size, stride, padding, data_format)


def pdmodel_max_unpool3d(x, indices, kernel_size, stride, padding, output_size, data_format):
    return _max_unpool("unpool3d", 3, x, indices, kernel_size, stride, padding, data_format)


# Normalization -----------------------------------------------------------------------------------------------------------


def pdmodel_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format):
    from proa.jit.reference.rule import constant

    channels = mean.shape[0]
    if channels < 0 and (weight is None or bias is None):
        refuse("a batch norm without weight or bias of an open number of channels")
    scale = weight if weight is not None else constant([1.0] * channels, mean.dtype)
    shift = bias if bias is not None else constant([0.0] * channels, mean.dtype)
    inputs = {"X": x, "Scale": scale, "Bias": shift, "Mean": mean, "Variance": variance}
    attributes = {
        "epsilon": epsilon,
        "momentum": 0.9,
        "is_test": True,
        "use_global_stats": False,
        "trainable_statistics": False,
        "data_layout": "NHWC" if _last(data_format) else "NCHW",
    }
    return _statistics_in_place(inputs, attributes)


def _statistics_in_place(inputs, attributes):
    """The op says by its outputs that it leaves the statistics where they are."""
    from proa.jit.reference.graph import current

    graph, x, mean = current(), inputs["X"], inputs["Mean"]
    y = graph.variable("batch_norm.tmp", x.dtype, x.shape)
    saved = [graph.variable("batch_norm.tmp", mean.dtype, mean.shape).name for _ in range(2)]
    outputs = {"Y": [y.name], "MeanOut": [mean.name], "VarianceOut": [inputs["Variance"].name]}
    outputs |= {"SavedMean": [saved[0]], "SavedVariance": [saved[1]]}
    if not attributes["is_test"]:
        outputs["ReserveSpace"] = [graph.variable("batch_norm.tmp", x.dtype, (-1,)).name]
    graph.op("batch_norm", {slot: [v.name] for slot, v in inputs.items()}, outputs, attributes)
    return y


def pdmodel_batch_norm(x, running_mean, running_var, weight, bias, momentum, epsilon, data_format):
    from proa.jit.reference.graph import current
    from proa.jit.reference.rule import constant

    if not current().trains:
        refuse("batch normalization in training", "save it in evaluation mode")
    channels = running_mean.shape[0]
    inputs = {
        "X": x,
        "Scale": weight if weight is not None else constant([1.0] * channels, running_mean.dtype),
        "Bias": bias if bias is not None else constant([0.0] * channels, running_mean.dtype),
        "Mean": running_mean,
        "Variance": running_var,
    }
    attributes = {"epsilon": epsilon, "momentum": momentum, "is_test": False, "use_global_stats": False}
    attributes |= {"trainable_statistics": False, "data_layout": "NHWC" if _last(data_format) else "NCHW"}
    y = _statistics_in_place(inputs, attributes)
    saved = current().blocks[0]["ops"][-1]["outputs"]
    mean, variance = (current().value(saved[slot][0]) for slot in ("SavedMean", "SavedVariance"))
    return [y, running_mean, running_var, mean, variance]


def pdmodel_batch_norm_relu_inference(x, mean, variance, weight, bias, epsilon, data_format):
    return op("relu", {"X": pdmodel_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format)})


def pdmodel_batch_norm_add_relu_inference(x, residual, mean, variance, weight, bias, epsilon, data_format):
    found = pdmodel_batch_norm_inference(x, mean, variance, weight, bias, epsilon, data_format)
    return op("relu", {"X": op("elementwise_add", {"X": found, "Y": residual}, {"axis": -1})})


def pdmodel_conv2d_batch_norm_relu_inference(
    x, weight, mean, variance, bias, norm_weight, norm_bias, residual, epsilon, stride, padding, dilation, groups, data_format, padding_algorithm,
):  # fmt: skip
    found = _conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm)
    norm = (mean, variance, norm_weight, norm_bias, epsilon, data_format)
    if residual is None:
        return pdmodel_batch_norm_relu_inference(found, *norm)
    return pdmodel_batch_norm_add_relu_inference(found, residual, *norm)


def pdmodel_layer_norm(x, weight, bias, begin_axis, epsilon):
    axis = begin_axis % x.rank
    inputs = {"X": x, "Scale": _flat(weight), "Bias": _flat(bias)}
    return op("layer_norm", inputs, {"begin_norm_axis": axis, "epsilon": epsilon}, outputs=("Y", "Mean", "Variance"))[0]


def _flat(x):
    if x is None or x.rank == 1:
        return x
    return op("reshape2", {"X": x}, {"shape": [-1]}, outputs=("Out", "XShape"))[0]


# Others ------------------------------------------------------------------------------------------------------------------


def pdmodel_dropout(x, p, training, mode):
    from proa.jit.reference.graph import current

    if training and not current().trains:
        refuse("dropout in training", "save it in evaluation mode")
    how = "upscale_in_train" if mode == "upscale_in_train" else "downgrade_in_infer"
    flags = {"dropout_prob": p, "is_test": not training, "fix_seed": False, "seed": 0, "dropout_implementation": how}
    out, mask = op("dropout", {"X": x}, flags, outputs=("Out", "Mask"))
    mask.dtype = "uint8"
    return [out, None] if len(results()) > 1 else out


def pdmodel_attention(query, key, value, mask, scale):
    query, key, value = to_result(query, key, value)
    q, k, v = [_heads_first(t) for t in (query, key, value)]
    q = op("scale", {"X": q}, {"scale": scale, "bias": 0.0, "bias_after_scale": True}, shape=q.shape)
    scores = op("matmul_v2", {"X": q, "Y": k}, {"trans_x": False, "trans_y": True})
    if mask is not None:
        scores = op("elementwise_add", {"X": scores, "Y": cast(mask, scores.dtype)}, {"axis": -1})
    weights = op("softmax", {"X": scores}, {"axis": -1})
    out = op("matmul_v2", {"X": weights, "Y": v}, {"trans_x": False, "trans_y": False})
    return op("transpose2", {"X": out}, {"axis": [0, 2, 1, 3]}, outputs=("Out", "XShape"))[0]


def _heads_first(x):
    out = op("transpose2", {"X": x}, {"axis": [0, 2, 1, 3]}, outputs=("Out", "XShape"))[0]
    out.shape = tuple(x.shape[i] for i in (0, 2, 1, 3))
    return out


def pdmodel_softmax_with_cross_entropy(logits, label, soft_label, ignore_index, axis):
    flags = {"soft_label": soft_label, "ignore_index": ignore_index, "axis": axis, "numeric_stable_mode": True}
    given = {"Logits": logits, "Label": cast(label, logits.dtype) if soft_label else label}
    return op("softmax_with_cross_entropy", given, flags, outputs=("Softmax", "Loss"))[1]


def pdmodel_nll_loss(x, label, weight, ignore_index):
    inputs = {"X": x, "Label": cast(label, "int64"), "Weight": None if weight is None else cast(weight, x.dtype)}
    flags = {"ignore_index": ignore_index, "reduction": "none"}
    return op("nll_loss", inputs, flags, outputs=("Out", "Total_weight"))[0]
