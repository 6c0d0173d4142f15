"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import functools
import itertools
import math

from proa import _C
from proa.onnx.import_rule import flat, is_float, numbers, opset, output_count, refuse, running_state, scalar, to

ops = _C.ops

# Convolution ------------------------------------------------------------------------------------------------------------


def _window(x, kernel, strides, dilations, pads, auto_pad):
    """(strides, dilations, [(before, behind)] by dim), with what auto_pad asks for in numbers."""
    dims = len(x.shape) - 2
    strides, dilations = list(strides or [1] * dims), list(dilations or [1] * dims)
    if len(kernel) != dims or len(strides) != dims or len(dilations) != dims:
        refuse(f"a window of {len(kernel)} dims, {len(strides)} strides, {len(dilations)} dilations for {dims} dims")
    if min(*strides, *dilations, *[k for k in kernel if not hasattr(k, "tensor")], 1) <= 0:
        refuse("sizes of windows, strides and dilations must be positive")
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return (
            strides,
            dilations,
            [_same(x.shape[2 + d], kernel[d], strides[d], dilations[d], auto_pad == "SAME_LOWER") for d in range(dims)],
        )
    if auto_pad == "VALID":
        return strides, dilations, [(0, 0)] * dims
    if auto_pad != "NOTSET":
        refuse(f"there is no auto_pad {auto_pad!r}")
    pads = list(pads or [0] * (2 * dims))
    if len(pads) != 2 * dims:
        refuse(f"{len(pads)} pads for {dims} dims")
    return strides, dilations, list(zip(pads[:dims], pads[dims:], strict=True))


def _same(n, k, stride, dilation, lower):
    if hasattr(n, "tensor"):
        if stride != 1:
            refuse("auto_pad with strides needs sizes that are known")
        n = 1
        total = dilation * (k - 1)
    else:
        total = max((-(n // -stride) - 1) * stride + dilation * (k - 1) + 1 - n, 0)
    small = total // 2
    return (total - small, small) if lower else (small, total - small)


def _cut(x, paddings):
    """`x` without what negative paddings take away; the paddings that are left."""
    for d, (before, behind) in enumerate(paddings):
        if min(before, behind) < 0:
            x = ops.slice(x, [2 + d], [max(-before, 0)], [x.shape[2 + d] - max(-behind, 0)])
    return x, [(max(b, 0), max(e, 0)) for b, e in paddings]


_FORMATS = {1: "NCL", 2: "NCHW", 3: "NCDHW"}


def from_Conv(x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    dims = len(x.shape) - 2
    if not 1 <= dims <= 3:
        refuse(f"a convolution over {dims} dims")
    kernel = list(kernel_shape or w.shape[2:])
    strides, dilations, padding = _window(x, kernel, strides, dilations, pads, auto_pad)
    x, padding = _cut(x, padding)
    function = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}[dims]
    both = [n for pair in padding for n in pair]
    even = [p[0] for p in padding]
    return function(
        x, w, b, strides, even if all(p == q for p, q in padding) else both, dilations, group, _FORMATS[dims]
    )


def from_ConvTranspose(x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None,
                       output_shape=None, pads=None, strides=None):  # fmt: skip
    dims = len(x.shape) - 2
    if not 1 <= dims <= 3:
        refuse(f"a convolution over {dims} dims")
    kernel = list(kernel_shape or w.shape[2:])
    strides, dilations = list(strides or [1] * dims), list(dilations or [1] * dims)
    more = list(output_padding or [0] * dims)
    pads = list(pads or [0] * (2 * dims))
    if output_shape or auto_pad.startswith("SAME"):
        pads = [0] * (2 * dims)
        for d in range(dims):
            wanted = list(output_shape)[-dims:][d] if output_shape else x.shape[2 + d] * strides[d]
            total = strides[d] * (x.shape[2 + d] - 1) + more[d] + (kernel[d] - 1) * dilations[d] + 1 - wanted
            if total < 0:
                more[d] -= total
                total = 0
            small = total // 2
            pads[d], pads[dims + d] = (total - small, small) if auto_pad == "SAME_LOWER" else (small, total - small)
            if not auto_pad.startswith("SAME"):  # the odd one stands before
                pads[d], pads[dims + d] = total - small, small
    function = {1: ops.conv1d_transpose, 2: ops.conv2d_transpose, 3: ops.conv3d_transpose}[dims]
    # The whole result, then what pads take from it: output_padding may reach beyond a stride.
    y = function(x, w, None, strides, [0] * dims, [], dilations, group, [], _FORMATS[dims])
    for d in range(dims):
        end = y.shape[2 + d] - pads[dims + d] + more[d]
        if not hasattr(end, "tensor") and end > y.shape[2 + d]:
            wide = [0] * (2 * len(y.shape))
            wide[2 * (2 + d) + 1] = end - y.shape[2 + d]
            y = ops.pad(y, wide)
        if pads[d] or hasattr(end, "tensor") or end != y.shape[2 + d]:
            y = ops.slice(y, [2 + d], [pads[d]], [end])
    return y if b is None else y + ops.reshape(b, [1, -1, *[1] * dims])


def _less(x, zero):
    """A quantized tensor as float64 numbers from its zero on."""
    x = to(x, "float64")
    return x if zero is None else x - to(zero, "float64")


def from_ConvInteger(x, w, x_zero=None, w_zero=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None,
                     strides=None):  # fmt: skip
    attributes = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape, "pads": pads,
                  "strides": strides}  # fmt: skip
    if w_zero is not None and w_zero.shape and w_zero.shape[0] > 1:
        w_zero = ops.reshape(w_zero, [-1, *[1] * (len(w.shape) - 1)])
    elif w_zero is not None:
        w_zero = ops.reshape(w_zero, [])
    return to(ops.round(from_Conv(_less(x, x_zero), _less(w, w_zero), None, **attributes)), "int32")


# Pools --------------------------------------------------------------------------------------------------------------------


def _count(n, before, behind, k, stride, dilation, ceil_mode):
    """How many windows there are along a dim."""
    room = n + before + behind - (dilation * (k - 1) + 1)
    count = (-(room // -stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= n + before:  # none begins behind the image
        count -= 1
    return count


def _parts(x, kernel, strides, dilations, padding, ceil_mode, fill, around=None):
    """For each place in the window, the elements that stand there: tensors [N, C, windows...].

    What lies in the padding, and what ceil_mode adds behind it, is `fill`; where `around` is given, that of the padding
    is `around`.
    """
    dims = len(kernel)
    if any(hasattr(n, "tensor") for n in x.shape[2:]):
        refuse("this pool needs sizes that are known")
    counts = [_count(x.shape[2 + d], *padding[d], kernel[d], strides[d], dilations[d], ceil_mode) for d in range(dims)]
    if min(counts) < 1:
        refuse(f"windows {kernel} do not fit {list(x.shape[2:])}")
    near, far = [0, 0, 0, 0], [0, 0, 0, 0]
    for d in range(dims):
        need = (counts[d] - 1) * strides[d] + dilations[d] * (kernel[d] - 1) + 1
        near += list(padding[d])
        far += [0, max(need - x.shape[2 + d] - sum(padding[d]), 0)]
    y = ops.pad(x, near, "constant", fill if around is None else around) if any(near) else x
    y = ops.pad(y, far, "constant", fill) if any(far) else y
    axes = list(range(2, 2 + dims))
    made = []
    for place in itertools.product(*map(range, kernel)):
        starts = [p * dilations[d] for d, p in enumerate(place)]
        ends = [s + (counts[d] - 1) * strides[d] + 1 for d, s in enumerate(starts)]
        made.append(ops.slice(y, axes, starts, ends, strides))
    return made


def from_MaxPool(
    x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, pads=None, storage_order=0, strides=None
):
    dims = len(kernel_shape)
    if not 1 <= dims <= 3 or len(x.shape) != dims + 2:
        refuse(f"a pool over {dims} dims of a tensor of {len(x.shape)}")
    strides, dilations, padding = _window(x, kernel_shape, strides, dilations, pads, auto_pad)
    if output_count() == 1:
        plain = is_float(x) and all(d == 1 for d in dilations) and not ceil_mode
        if plain and all(2 * max(p) <= k for p, k in zip(padding, kernel_shape, strict=True)):
            function = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: ops.max_pool3d}[dims]
            both = [n for pair in padding for n in pair]
            even = [p[0] for p in padding]
            return function(
                x, list(kernel_shape), strides, even if all(p == q for p, q in padding) else both, False, _FORMATS[dims]
            )
        lowest = -math.inf if is_float(x) else 0 if x.dtype.name == "uint8" else -128
        return functools.reduce(ops.maximum, _parts(x, kernel_shape, strides, dilations, padding, ceil_mode, lowest))
    return _with_places(x, kernel_shape, strides, dilations, padding, ceil_mode, storage_order)


def _with_places(x, kernel, strides, dilations, padding, ceil_mode, storage_order):
    """The maxima, and where they stand in the whole tensor."""
    sizes = list(x.shape)
    if any(hasattr(n, "tensor") for n in sizes[2:]):
        refuse("places of maxima need sizes that are known")
    area = math.prod(sizes[2:])
    if storage_order and len(kernel) == 2:
        h, w = sizes[2:]
        inside = ops.reshape(ops.arange(0, area, 1, "int64"), [w, h])
        inside = ops.transpose(inside, [1, 0])
    elif storage_order and len(kernel) > 2:
        refuse("storage_order of more than two dims")
    else:
        inside = ops.reshape(ops.arange(0, area, 1, "int64"), sizes[2:])
    images = (
        ops.reshape(ops.arange(0, sizes[0] * sizes[1], 1, "int64"), [sizes[0], sizes[1], *[1] * len(kernel)]) * area
    )
    places = images + inside
    lowest = -math.inf if is_float(x) else 0 if x.dtype.name == "uint8" else -128
    values = ops.stack(_parts(x, kernel, strides, dilations, padding, ceil_mode, lowest), 0)
    stand = ops.stack(_parts(places, kernel, strides, dilations, padding, ceil_mode, 0), 0)
    real = ops.stack(_parts(ops.full_like(places, 1), kernel, strides, dilations, padding, ceil_mode, 0), 0)
    # Padding is never the maximum: among equals a real element goes first.
    best = ops.unsqueeze(ops.amax(values, [0]), [0])
    chosen = ops.argmax(to(ops.logical_and(ops.equal(values, best), real > 0), "int32"), 0, True, "int64")
    return ops.squeeze(best, [0]), ops.squeeze(ops.take_along_axis(stand, chosen, 0), [0])


def from_AveragePool(x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, pads=None,
                     strides=None):  # fmt: skip
    dims = len(kernel_shape)
    if not 1 <= dims <= 3 or len(x.shape) != dims + 2:
        refuse(f"a pool over {dims} dims of a tensor of {len(x.shape)}")
    strides, dilations, padding = _window(x, kernel_shape, strides, dilations, pads, auto_pad)
    if (
        not ceil_mode
        and all(d == 1 for d in dilations)
        and all(2 * max(p) <= k for p, k in zip(padding, kernel_shape, strict=True))
    ):
        function = {1: ops.avg_pool1d, 2: ops.avg_pool2d, 3: ops.avg_pool3d}[dims]
        both = [n for pair in padding for n in pair]
        even = [p[0] for p in padding]
        return function(x, list(kernel_shape), strides, even if all(p == q for p, q in padding) else both, False,
                        not count_include_pad, _FORMATS[dims])  # fmt: skip
    total = functools.reduce(ops.add, _parts(x, kernel_shape, strides, dilations, padding, ceil_mode, 0.0))
    # What ceil_mode adds behind the padding is never counted.
    ones = _parts(
        ops.full_like(x, 1.0),
        kernel_shape,
        strides,
        dilations,
        padding,
        ceil_mode,
        0.0,
        1.0 if count_include_pad else 0.0,
    )
    return total / functools.reduce(ops.add, ones)


def from_LpPool(x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, p=2, pads=None, strides=None):
    strides, dilations, padding = _window(x, kernel_shape, strides, dilations, pads, auto_pad)
    parts = _parts(
        ops.pow(ops.abs(x), ops.full_like(x, float(p))), kernel_shape, strides, dilations, padding, ceil_mode, 0.0
    )
    total = functools.reduce(ops.add, parts)
    return ops.pow(total, ops.full_like(total, 1.0 / p))


def _spatial(x):
    return list(range(2, len(x.shape)))


def from_GlobalAveragePool(x):
    return ops.mean(x, _spatial(x), True)


def from_GlobalMaxPool(x):
    return ops.amax(x, _spatial(x), True)


def from_GlobalLpPool(x, *, p=2):
    return ops.p_norm(x, float(p), _spatial(x), True)


def from_MaxUnpool(x, index, output_shape: numbers = None, *, kernel_shape, pads=None, strides=None):
    dims = len(kernel_shape)
    strides, pads = list(strides or [1] * dims), list(pads or [0] * (2 * dims))
    sizes = [(x.shape[2 + d] - 1) * strides[d] - pads[d] - pads[dims + d] + kernel_shape[d] for d in range(dims)]
    whole = [*x.shape[:2], *sizes]
    total = functools.reduce(lambda a, b: a * b, whole)
    made = ops.index_put(
        ops.full([total], 0.0, x.dtype), [ops.reshape(to(index, "int64"), [-1])], ops.reshape(x, [-1]), [0]
    )
    made = ops.reshape(made, whole)
    if output_shape is None:
        return made
    wide = [0, 0, 0, 0]
    for n, want in zip(sizes, flat(output_shape)[2:], strict=True):
        wide += [0, want - n]
    return ops.pad(made, wide)


# Normalization ------------------------------------------------------------------------------------------------------------


def _over_channels(v, x):
    return ops.reshape(v, [1, -1, *[1] * (len(x.shape) - 2)])


def from_BatchNormalization(x, scale, bias, mean: running_state, var: running_state, *, epsilon=1e-5, momentum=0.9,
                            training_mode=0, spatial=1, is_test=0, consumed_inputs=None):  # fmt: skip
    if not spatial:
        return (x - mean) / ops.sqrt(var + epsilon) * scale + bias
    if not training_mode:
        return to(ops.batch_norm_inference(x, mean, var, scale, bias, epsilon), x.dtype), mean, var
    axes = [d for d in range(len(x.shape)) if d != 1]
    now = ops.mean(x, axes, False)
    away = ops.mean(ops.square(x - _over_channels(now, x)), axes, False)
    y = (x - _over_channels(now, x)) / ops.sqrt(_over_channels(away, x) + epsilon)
    y = y * _over_channels(scale, x) + _over_channels(bias, x)
    return y, mean * momentum + now * (1 - momentum), var * momentum + away * (1 - momentum)


def _standardized(x, axes, epsilon):
    away = x - ops.mean(x, axes, True)
    return away / ops.sqrt(ops.mean(ops.square(away), axes, True) + epsilon)


def from_InstanceNormalization(x, scale, bias, *, epsilon=1e-5, consumed_inputs=None):
    return _standardized(x, _spatial(x), epsilon) * _over_channels(scale, x) + _over_channels(bias, x)


def from_LayerNormalization(x, scale, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    begin = axis % len(x.shape)
    if output_count() == 1 and len(scale.shape) == len(x.shape) - begin and scale.dtype == x.dtype:
        return ops.layer_norm(x, scale, bias, begin, epsilon)
    wide = x if x.dtype.name == "float64" else to(x, "float32")
    axes = list(range(begin, len(x.shape)))
    mean = ops.mean(wide, axes, True)
    inverse = 1.0 / ops.sqrt(ops.mean(ops.square(wide - mean), axes, True) + epsilon)
    y = to((wide - mean) * inverse, x.dtype) * scale
    return (y if bias is None else y + bias), mean, inverse


def from_RMSNormalization(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    wide = x if x.dtype.name == "float64" else to(x, "float32")
    axes = list(range(axis % len(x.shape), len(x.shape)))
    return to(wide / ops.sqrt(ops.mean(ops.square(wide), axes, True) + epsilon), x.dtype) * scale


def from_GroupNormalization(x, scale, bias, *, num_groups, epsilon=1e-5, stash_type=1):
    shape = list(x.shape)
    parts = ops.reshape(x, [shape[0], num_groups, -1])
    y = _standardized(parts, [2], epsilon)
    if opset() < 21:  # a scale for each group
        y = y * ops.reshape(scale, [1, -1, 1]) + ops.reshape(bias, [1, -1, 1])
        return ops.reshape(y, shape)
    y = ops.reshape(y, shape)
    return y * _over_channels(scale, x) + _over_channels(bias, x)


def from_LRN(x, *, size, alpha=0.0001, beta=0.75, bias=1.0):
    squares = ops.square(x)
    before = (size - 1) // 2
    wide = ops.pad(squares, [0, 0, before, size - 1 - before, *[0] * (2 * (len(x.shape) - 2))])
    total = functools.reduce(ops.add, [ops.slice(wide, [1], [i], [i + x.shape[1]]) for i in range(size)])
    scale = total * (alpha / size) + bias
    return x / ops.pow(scale, ops.full_like(scale, beta))


def from_LpNormalization(x, *, axis=-1, p=2):
    size = ops.p_norm(x, float(p), [axis], True)
    return ops.where(ops.equal(size, ops.full_like(size, 0.0)), ops.full_like(x, 0.0), x / size)


def from_MeanVarianceNormalization(x, *, axes=(0, 2, 3)):
    away = x - ops.mean(x, list(axes), True)
    return away / (ops.sqrt(ops.mean(ops.square(away), list(axes), True)) + 1e-9)


def _along(function):
    """Before version 13 all dims from the axis on are one."""

    def rule(x, *, axis=None):
        if opset() >= 13:
            return function(x, -1 if axis is None else axis)
        rank = len(x.shape)
        a = (1 if axis is None else axis) % max(rank, 1)
        if a == rank - 1:
            return function(x, -1)
        return ops.reshape(function(ops.flatten(x, a, -1), -1), list(x.shape))

    return rule


from_Softmax = _along(ops.softmax)
from_LogSoftmax = _along(ops.log_softmax)


def from_Dropout(x, ratio: numbers = None, training: numbers = None, *, seed=None, is_test=0, consumed_inputs=None):
    active = training is not None and bool(scalar(training))
    p = 0.5 if ratio is None else float(scalar(ratio))
    if not active or p == 0.0:
        return x, ops.full(list(x.shape), True, "bool")
    kept = ops.bernoulli(ops.full_like(x, 1.0 - p), 0 if seed is None else int(seed) & 0x7FFFFFFF or 1)
    return x * kept / (1.0 - p), to(kept, "bool")


# Losses -------------------------------------------------------------------------------------------------------------------


def _picked_loss(logs, label, weight, reduction, ignore_index):
    """Of logarithms [N, C, ...] minus those of the labels [N, ...]."""
    label = to(label, "int64")
    ignored = ops.full(list(label.shape), False, "bool")
    if ignore_index is not None:
        ignored = ops.equal(label, ops.full([], ignore_index, "int64"))
    safe = ops.where(ignored, ops.full_like(label, 0), label)
    loss = -ops.squeeze(ops.take_along_axis(logs, ops.unsqueeze(safe, [1]), 1), [1])
    factor = ops.full_like(loss, 1.0)
    if weight is not None:
        factor = ops.reshape(ops.gather(weight, ops.reshape(safe, [-1])), list(label.shape))
    factor = ops.where(ignored, ops.full_like(factor, 0.0), factor)
    loss = ops.where(ignored, ops.full_like(loss, 0.0), loss * factor)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum(loss)
    return ops.sum(loss) / ops.sum(factor)


def from_NegativeLogLikelihoodLoss(x, label, weight=None, *, ignore_index=None, reduction="mean"):
    return _picked_loss(x, label, weight, reduction, ignore_index)


def from_SoftmaxCrossEntropyLoss(x, label, weight=None, *, ignore_index=None, reduction="mean"):
    logs = ops.log_softmax(x, 1)
    return _picked_loss(logs, label, weight, reduction, ignore_index), logs


# Attention ----------------------------------------------------------------------------------------------------------------


def from_RotaryEmbedding(x, cos, sin, positions=None, *, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    shape = list(x.shape)
    if len(shape) == 3:
        if num_heads <= 0:
            refuse("num_heads is wanted of an input of 3 dims")
        x = ops.transpose(ops.reshape(x, [shape[0], shape[1], num_heads, -1]), [0, 2, 1, 3])
    part = rotary_embedding_dim or x.shape[-1]
    turned, rest = ops.split(x, [part, -1], -1) if part != x.shape[-1] else (x, None)
    if positions is not None:
        cos, sin = (_rows(t, positions) for t in (cos, sin))
    cos, sin = (ops.unsqueeze(t, [1]) for t in (cos, sin))
    if interleaved:
        pairs = ops.reshape(turned, [*turned.shape[:-1], part // 2, 2])
        a, b = ops.unbind(pairs, -1)
        made = ops.reshape(ops.stack([a * cos - b * sin, a * sin + b * cos], -1), list(turned.shape))
    else:
        a, b = ops.split(turned, [part // 2, -1], -1)
        made = ops.concat([a * cos - b * sin, a * sin + b * cos], -1)
    made = made if rest is None else ops.concat([made, rest], -1)
    return ops.reshape(ops.transpose(made, [0, 2, 1, 3]), shape) if len(shape) == 3 else made


def _rows(table, places):
    taken = ops.gather(table, ops.reshape(to(places, "int64"), [-1]))
    return ops.reshape(taken, [*places.shape, -1])
