"""Convolutions of one, two and three spatial dims, and their transposes."""

import warnings

from proa import _C
from proa.framework.attributes import known_number
from proa.framework.names import borrow as _borrow
from proa.nn.functional.shapes import is_channel_last, numbers, plain_ints, window_padding


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", name=None):
    """2-D convolution (cross-correlation).

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        weight (Tensor): [O, C / groups, KH, KW].
        bias (Tensor, optional): [O], or [1] for all channels.
        stride (int|list[int]): steps of the kernel, one or [height, width].
        padding (int|list|str): one number; [height, width]; [top, bottom, left, right]; pairs for
            all four dims; "VALID" (none) or "SAME": as much as makes H' = ceil(H / stride), with the
            dilation that is given; a warning says that PaddlePaddle takes it as 1 there.
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
    if type(padding) is int and type(groups) is int:  # the common case
        return _C.ops.conv2d(x, weight, bias, stride, padding, dilation, groups, data_format)
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format)


def _conv(op, n, x, weight, bias, stride, padding, dilation, groups, data_format):
    """The op of this name, with its arguments as it takes them."""
    format, last = _format(op, data_format, n)
    pads, algorithm = window_padding(op, padding, n, last)
    groups = known_number(op, "groups", groups)
    return getattr(_C.ops, op)(
        x,
        weight,
        bias,
        numbers(op, "stride", stride, n),
        pads,
        _dilation(op, dilation, n, algorithm),
        groups,
        format,
        algorithm,
    )


def _dilation(op, dilation, n, algorithm):
    """The dilations as the ops take them. Weights that were trained in PaddlePaddle would give other numbers without a word."""
    dilation = numbers(op, "dilation", dilation, n)
    if algorithm == "SAME" and any(d != 1 for d in (dilation if isinstance(dilation, (list, tuple)) else [dilation])):
        warnings.warn(
            f"{op}: padding 'SAME' is computed with dilation {dilation}; PaddlePaddle computes it with dilation 1: "
            "set dilation=1 for weights that were trained there",
            stacklevel=4,
        )
    return dilation


def _format(op, data_format, n):
    """The format as the ops call it, and whether channels are last."""
    last = is_channel_last(op, data_format, n)
    return {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n][last], last


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
    pads, algorithm = window_padding("conv2d_norm_relu", padding, 2, data_format == "NHWC")
    return _C.ops.conv2d_batch_norm_relu_inference(
        x, weight, running_mean, running_var, bias, norm_weight, norm_bias, residual, epsilon, stride, pads, dilation,
        groups, data_format, algorithm,
    )  # fmt: skip


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL", name=None):
    """1-D convolution: as conv2d, with x [N, C, L] (or [N, L, C]) and weight [O, C / groups, K].

    Examples:
        >>> proa.nn.functional.conv1d(proa.ones([1, 2, 5]), proa.ones([3, 2, 3])).shape
        [1, 3, 3]
    """
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW", name=None):
    """3-D convolution: as conv2d, with x [N, C, D, H, W] (or [N, D, H, W, C]) and weight [O, C / groups, KD, KH, KW].

    Examples:
        >>> proa.nn.functional.conv3d(proa.ones([1, 2, 4, 4, 4]), proa.ones([3, 2, 3, 3, 3])).shape
        [1, 3, 2, 2, 2]
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format)


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

    Examples:
        >>> proa.nn.functional.conv2d_transpose(proa.ones([1, 2, 3, 3]), proa.ones([2, 4, 3, 3]), stride=2).shape
        [1, 4, 7, 7]
    """
    return _conv_transpose(
        "conv2d_transpose",
        2,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        data_format,
        output_size,
    )


def _conv_transpose(
    op, n, x, weight, bias, stride, padding, output_padding, groups, dilation, data_format, output_size
):
    """The op of this name, with its arguments as it takes them."""
    format, last = _format(op, data_format, n)
    pads, algorithm = window_padding(op, padding, n, last)
    extra = numbers(op, "output_padding", output_padding, n)
    if output_size is not None and any(extra):
        raise _C.located(ValueError(f"{op}: give either output_size or output_padding"))
    return getattr(_C.ops, op)(
        x, weight, bias, numbers(op, "stride", stride, n), pads, extra if any(extra) else [],
        _dilation(op, dilation, n, algorithm), groups,
        [] if output_size is None else plain_ints(output_size), format, algorithm,
    )  # fmt: skip


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
    """Transposed 1-D convolution: as conv2d_transpose, with x [N, C, L] and weight [C, O / groups, K].

    Examples:
        >>> proa.nn.functional.conv1d_transpose(proa.ones([1, 2, 5]), proa.ones([2, 3, 3])).shape
        [1, 3, 7]
    """
    return _conv_transpose(
        "conv1d_transpose",
        1,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        data_format,
        output_size,
    )


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

    Examples:
        >>> proa.nn.functional.conv3d_transpose(proa.ones([1, 2, 2, 2, 2]), proa.ones([2, 3, 2, 2, 2])).shape
        [1, 3, 3, 3, 3]
    """
    return _conv_transpose(
        "conv3d_transpose",
        3,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        data_format,
        output_size,
    )


__getattr__ = _borrow(__name__, "proa.nn.functional")
