"""Convolutions of one, two and three spatial dims, and their transposes."""

from proa import _C
from proa.framework import attributes
from proa.framework.attributes import is_late
from proa.framework.names import borrow as _borrow
from proa.nn.functional.shapes import check_rank, flat, is_channel_last, numbers, padding_pairs, positive, spatial_sizes


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", name=None):
    """2-D convolution (cross-correlation).

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        weight (Tensor): [O, C / groups, KH, KW].
        bias (Tensor, optional): [O], or [1] for all channels.
        stride (int|list[int]): steps of the kernel, one or [height, width].
        padding (int|list|str): one number; [height, width]; [top, bottom, left, right]; pairs for
            all four dims; "VALID" (none) or "SAME": as much as makes H' = ceil(H / stride), with the
            dilation that is given (PaddlePaddle takes it as 1 there, against its documentation).
        dilation (int|list[int]): distance of the kernel's elements.
        groups (int): channels are split into so many groups that do not mix.
        data_format (str): "NCHW" or "NHWC".

    Returns:
        Tensor: [N, O, H', W'] or [N, H', W', O] with
        H' = (H + top + bottom - dilation * (KH - 1) - 1) // stride + 1.

    Examples:
        >>> x, w = proa.randn([1, 3, 8, 8]), proa.randn([4, 3, 3, 3])
        >>> proa.nn.functional.conv2d(x, w, padding="SAME").shape
        [1, 4, 8, 8]
    """
    pads = _pads_2d("conv2d", x, weight, stride, padding, dilation, data_format)
    return _C.ops.conv2d(x, weight, bias, stride, pads, dilation, groups, data_format)


def _pads_2d(where, x, weight, stride, padding, dilation, data_format):
    """Padding of a convolution as [height, width] or [top, bottom, left, right]."""
    if type(padding) is int:  # the common case, without looking at shapes
        return (padding, padding)
    check_rank(where, x, 2)
    last = is_channel_last(where, data_format, 2)
    strides, dilations = numbers(where, "stride", stride, 2), numbers(where, "dilation", dilation, 2)
    return flat(padding_pairs(where, padding, 2, spatial_sizes(x, last), weight.shape[2:], strides, dilations, last))


def conv2d_norm_relu(
    x,
    weight,
    running_mean,
    running_var,
    norm_weight=None,
    norm_bias=None,
    bias=None,
    residual=None,
    epsilon=1e-05,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCHW",
):
    """relu(batch_norm(conv2d(x, weight, bias)) + residual) with the running statistics, for networks that predict.

    A few images at a time are convolved, and normalized while they are in the cache: for MobileNet at batch 32 that
    takes a fifth less time than the ops one by one. Statistics get no gradient, all else does.

    Args:
        x, weight, bias, stride, padding, dilation, groups, data_format: those of conv2d.
        running_mean, running_var, norm_weight, norm_bias, epsilon: those of batch_norm, [O].
        residual (Tensor, optional): of the shape of the result; is added before relu.

    Returns:
        Tensor: of the shape of conv2d's result.

    Examples:
        >>> x, w = proa.ones([1, 3, 8, 8]), proa.ones([4, 3, 3, 3])
        >>> zero, one = proa.zeros([4]), proa.ones([4])
        >>> float(proa.nn.functional.conv.conv2d_norm_relu(x, w, zero, one, epsilon=0.0)[0, 0, 0, 0])
        27.0
    """
    pads = _pads_2d("conv2d_norm_relu", x, weight, stride, padding, dilation, data_format)
    return _C.ops.conv2d_batch_norm_relu_inference(
        x, weight, running_mean, running_var, bias, norm_weight, norm_bias, residual, epsilon, stride, pads, dilation,
        groups, data_format,
    )  # fmt: skip


def _one_dim(x, channel_last):
    """[N, C, L] as [N, C, 1, L]; [N, L, C] as [N, 1, L, C]."""
    return _C.ops.unsqueeze(x, 1 if channel_last else 2)


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL", name=None):
    """1-D convolution: as conv2d, with x [N, C, L] (or [N, L, C]) and weight [O, C / groups, K]."""
    x = _C.tensor_argument(x, "conv1d", "x")
    weight = _C.tensor_argument(weight, "conv1d", "weight")
    check_rank("conv1d", x, 1)
    last = is_channel_last("conv1d", data_format, 1)
    (stride,), (dilation,) = numbers("conv1d", "stride", stride, 1), numbers("conv1d", "dilation", dilation, 1)
    sizes, kernel = spatial_sizes(x, last), weight.shape[2:]
    ((before, after),) = padding_pairs("conv1d", padding, 1, sizes, kernel, [stride], [dilation], last)
    out = _C.ops.conv2d(
        _one_dim(x, last),
        _C.ops.unsqueeze(weight, 2),
        bias,
        [1, stride],
        [0, 0, before, after],
        [1, dilation],
        groups,
        "NHWC" if last else "NCHW",
    )
    return _C.ops.squeeze(out, 1 if last else 2)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW", name=None):
    """3-D convolution: as conv2d, with x [N, C, D, H, W] (or [N, D, H, W, C]) and weight [O, C / groups, KD, KH, KW].

    It is the sum over KD of 2-D convolutions of slices.
    """
    x = _C.tensor_argument(x, "conv3d", "x")
    weight = _C.tensor_argument(weight, "conv3d", "weight")
    check_rank("conv3d", x, 3)
    ops = _C.ops
    last = is_channel_last("conv3d", data_format, 3)
    strides, dilations = positive("conv3d", "stride", stride, 3), positive("conv3d", "dilation", dilation, 3)
    sizes, kernel = spatial_sizes(x, last), weight.shape[2:]
    pairs = padding_pairs("conv3d", padding, 3, sizes, kernel, strides, dilations, last)
    # [N, D, C, H, W], padded in depth.
    x = ops.transpose(x, [0, 1, 4, 2, 3] if last else [0, 2, 1, 3, 4])
    if any(pairs[0]):
        x = ops.pad(x, [0, 0, *pairs[0], 0, 0, 0, 0, 0, 0])
    n, depth, channels, height, width = x.shape
    out_depth = (depth - dilations[0] * (kernel[0] - 1) - 1) // strides[0] + 1
    if out_depth < 1:
        raise _C.located(
            ValueError(f"conv3d: the kernel, {list(kernel)}, is larger than the padded input, {list(sizes)}")
        )
    total = None
    for k in range(kernel[0]):
        start = k * dilations[0]
        taps = ops.slice(x, [1], [start], [start + (out_depth - 1) * strides[0] + 1], [strides[0]])
        taps = ops.reshape(taps, [n * out_depth, channels, height, width])
        part = ops.conv2d(
            taps, weight[:, :, k], bias if k == 0 else None, strides[1:], flat(pairs[1:]), dilations[1:], groups, "NCHW"
        )
        total = part if total is None else total + part
    out = ops.reshape(total, [n, out_depth, *total.shape[1:]])
    return ops.transpose(out, [0, 1, 3, 4, 2] if last else [0, 2, 1, 3, 4])


def conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    data_format="NCHW",
    output_size=None,
    name=None,
):
    """Transposed 2-D convolution: the gradient of conv2d with respect to its input, plus bias.

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        weight (Tensor): [C, O / groups, KH, KW].
        bias (Tensor, optional): [O], or [1] for all channels.
        stride, padding, groups, dilation, data_format: those of the convolution. "SAME" is the padding
            that a convolution of x would have: the result is stride times as large as x if stride
            divides its size, else by the remainder smaller, as in PaddlePaddle (9 becomes 17, not 18).
        output_padding (int|list[int]): added to the size of the result on one side; smaller than the
            stride or the dilation.
        output_size (list[int], optional): size of the result, one of those that the stride allows.

    Returns:
        Tensor: [N, O, H', W'] with
        H' = (H - 1) * stride - top - bottom + dilation * (KH - 1) + 1 + output_padding.
    """
    x = _C.tensor_argument(x, "conv2d_transpose", "x")
    weight = _C.tensor_argument(weight, "conv2d_transpose", "weight")
    check_rank("conv2d_transpose", x, 2)
    last = is_channel_last("conv2d_transpose", data_format, 2)
    strides = numbers("conv2d_transpose", "stride", stride, 2)
    dilations = numbers("conv2d_transpose", "dilation", dilation, 2)
    sizes, kernel = spatial_sizes(x, last), weight.shape[2:]
    pads = flat(padding_pairs("conv2d_transpose", padding, 2, sizes, kernel, strides, dilations, last))
    extra = numbers("conv2d_transpose", "output_padding", output_padding, 2)
    if output_size is not None:
        if any(extra):
            raise _C.located(ValueError("conv2d_transpose: give either output_size or output_padding"))
        output_size = _sizes(output_size, 2)
    return _C.ops.conv2d_transpose(
        x, weight, bias, strides, pads, extra if any(extra) else [], dilations, groups, output_size or [], data_format
    )


def _sizes(size, n):
    size = attributes.numbers(size)
    if not isinstance(size, (list, tuple)):
        size = [size] * n
    return [s if is_late(s) else int(s) for s in size]


def conv1d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCL",
    name=None,
):
    """Transposed 1-D convolution: as conv2d_transpose, with x [N, C, L] and weight [C, O / groups, K]."""
    x = _C.tensor_argument(x, "conv1d_transpose", "x")
    weight = _C.tensor_argument(weight, "conv1d_transpose", "weight")
    op = "conv1d_transpose"
    check_rank(op, x, 1)
    last = is_channel_last(op, data_format, 1)
    (stride,), (dilation,) = numbers(op, "stride", stride, 1), numbers(op, "dilation", dilation, 1)
    (extra,) = numbers(op, "output_padding", output_padding, 1)
    sizes, kernel = spatial_sizes(x, last), weight.shape[2:]
    ((before, after),) = padding_pairs(op, padding, 1, sizes, kernel, [stride], [dilation], last)
    if output_size is not None and extra:
        raise _C.located(ValueError(f"{op}: give either output_size or output_padding"))
    out = _C.ops.conv2d_transpose(
        _one_dim(x, last),
        _C.ops.unsqueeze(weight, 2),
        bias,
        [1, stride],
        [0, 0, before, after],
        [0, extra] if extra else [],
        [1, dilation],
        groups,
        [] if output_size is None else [1, *_sizes(output_size, 1)],
        "NHWC" if last else "NCHW",
    )
    return _C.ops.squeeze(out, 1 if last else 2)


def conv3d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCDHW",
    name=None,
):
    """Transposed 3-D convolution: as conv2d_transpose, with x [N, C, D, H, W] and weight [C, O / groups, KD, KH, KW].

    Depth slices go through 2-D transposed convolutions and are added up where they overlap.
    """
    x = _C.tensor_argument(x, "conv3d_transpose", "x")
    weight = _C.tensor_argument(weight, "conv3d_transpose", "weight")
    op = "conv3d_transpose"
    check_rank(op, x, 3)
    ops = _C.ops
    last = is_channel_last(op, data_format, 3)
    strides, dilations = positive(op, "stride", stride, 3), positive(op, "dilation", dilation, 3)
    extra = numbers(op, "output_padding", output_padding, 3)
    sizes, kernel = spatial_sizes(x, last), weight.shape[2:]
    pairs = padding_pairs(op, padding, 3, sizes, kernel, strides, dilations, last)
    full = [(sizes[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 for i in range(3)]
    if output_size is not None:
        if any(extra):
            raise _C.located(ValueError(f"{op}: give either output_size or output_padding"))
        wanted = _sizes(output_size, 3)
        extra = [wanted[i] - (full[i] - sum(pairs[i])) for i in range(3)]
        if any(not 0 <= extra[i] < max(strides[i], dilations[i]) for i in range(3)):
            raise _C.located(ValueError(f"{op}: output_size {wanted} is not one that stride {strides} allows"))
    x = ops.transpose(x, [0, 1, 4, 2, 3] if last else [0, 2, 1, 3, 4])
    n, depth, channels, height, width = x.shape
    flat_x = ops.reshape(x, [n * depth, channels, height, width])
    total = None
    for k in range(kernel[0]):
        part = ops.conv2d_transpose(
            flat_x,
            weight[:, :, k],
            None,
            strides[1:],
            flat(pairs[1:]),
            extra[1:] if any(extra[1:]) else [],
            dilations[1:],
            groups,
            [],
            "NCHW",
        )
        part = ops.reshape(part, [n, depth, *part.shape[1:]])
        part = _spread(part, strides[0], k * dilations[0], full[0] + extra[0])
        total = part if total is None else total + part
    before, after = pairs[0]
    out = ops.slice(total, [1], [before], [full[0] + extra[0] - after])
    if bias is not None:
        out = out + ops.reshape(bias, [1, 1, -1, 1, 1])
    return ops.transpose(out, [0, 1, 3, 4, 2] if last else [0, 2, 1, 3, 4])


def _spread(x, stride, offset, size):
    """x [N, D, ...] with its D slices `stride` apart, from `offset` on, in a dim of `size`; zeros elsewhere."""
    ops = _C.ops
    n, depth, *rest = x.shape
    if stride > 1:
        x = ops.pad(ops.reshape(x, [n, depth, 1, *rest]), [0, 0, 0, 0, 0, stride - 1, *[0, 0] * len(rest)])
        x = ops.slice(ops.reshape(x, [n, depth * stride, *rest]), [1], [0], [(depth - 1) * stride + 1])
    taken = (depth - 1) * stride + 1
    return ops.pad(x, [0, 0, offset, size - offset - taken, *[0, 0] * len(rest)])


__getattr__ = _borrow(__name__, "proa.nn.functional")
