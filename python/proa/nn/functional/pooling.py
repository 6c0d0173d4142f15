"""Pools of one, two and three spatial dims."""

from proa import _C
from proa.framework import attributes
from proa.framework.attributes import is_late
from proa.framework.names import borrow as _borrow
from proa.nn.functional.shapes import is_channel_last, numbers, plain_ints, window_padding


def _window(op, n, kernel_size, stride, padding, data_format):
    """(kernel, stride, padding, its algorithm) as the ops take them."""
    pads, algorithm = window_padding(op, padding, n, is_channel_last(op, data_format, n))
    steps = [] if stride is None else numbers(op, "stride", stride, n)
    return numbers(op, "kernel_size", kernel_size, n), steps, pads, algorithm


def _max_pool(op, n, x, kernel_size, stride, padding, ceil_mode, return_mask, data_format):
    x = _C.tensor_argument(x, op, "x")
    kernel, steps, pads, algorithm = _window(op, n, kernel_size, stride, padding, data_format)
    function = getattr(_C.ops, op + "_with_index" if return_mask else op)
    return function(x, kernel, steps, pads, ceil_mode, data_format, algorithm)


def _avg_pool(op, n, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format):
    x = _C.tensor_argument(x, op, "x")
    kernel, steps, pads, algorithm = _window(op, n, kernel_size, stride, padding, data_format)
    return getattr(_C.ops, op)(x, kernel, steps, pads, ceil_mode, exclusive, data_format, divisor_override, algorithm)


def max_pool2d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, return_mask=False, data_format="NCHW", name=None
):
    """The maximum of each window.

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        kernel_size (int|list[int]): one or [height, width].
        stride (int|list[int], optional): kernel_size unless given.
        padding (int|list|str): as in conv2d; padding is never a maximum.
        ceil_mode (bool): also windows that reach over the end. One that holds padding only has the lowest
            number of the dtype as its maximum, from the place -1.
        return_mask (bool): return also the places, row * W + column, as int32.
        data_format (str): "NCHW" or "NHWC".

    Returns:
        Tensor: [N, C, H', W'], or (maxima, places).

    Examples:
        >>> x = proa.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> proa.nn.functional.max_pool2d(x, 2).tolist()
        [[[[4.0]]]]
    """
    return _max_pool("max_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, return_mask, data_format)


def avg_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCHW",
    name=None,
):
    """The mean of each window.

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        kernel_size, stride, padding, ceil_mode, data_format: as in max_pool2d.
        exclusive (bool): leave padding out of the mean; that of a window of padding only is NaN. Otherwise
            divide by the part of the window inside the image and its padding.
        divisor_override (float, optional): divide the sums of all windows by this instead; not 0.

    Examples:
        >>> proa.nn.functional.avg_pool2d(proa.ones([1, 2, 4, 4]), 2).shape
        [1, 2, 2, 2]
    """
    return _avg_pool(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None):
    """The maximum of each window of [N, C, L]; arguments as in max_pool2d.

    Examples:
        >>> proa.nn.functional.max_pool1d(proa.to_tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2).tolist()
        [[[3.0, 7.0]]]
    """
    return _max_pool("max_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, return_mask, "NCL")


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """The mean of each window of [N, C, L]; arguments as in avg_pool2d.

    Examples:
        >>> proa.nn.functional.avg_pool1d(proa.to_tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2).tolist()
        [[[2.0, 6.0]]]
    """
    return _avg_pool("avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def max_pool3d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, return_mask=False, data_format="NCDHW", name=None
):
    """The maximum of each window of [N, C, D, H, W]; arguments as in max_pool2d.

    With return_mask also the places of the maxima, (depth * H + row) * W + column, as int32.

    Examples:
        >>> proa.nn.functional.max_pool3d(proa.ones([1, 2, 4, 4, 4]), 2).shape
        [1, 2, 2, 2, 2]
    """
    return _max_pool("max_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, return_mask, data_format)


def avg_pool3d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCDHW",
    name=None,
):
    """The mean of each window of [N, C, D, H, W]; arguments as in avg_pool2d.

    Examples:
        >>> proa.nn.functional.avg_pool3d(proa.ones([1, 2, 4, 4, 4]), 2).shape
        [1, 2, 2, 2, 2]
    """
    return _avg_pool(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def _output_size(op, output_size, n):
    """Sizes of the result; None keeps that of the input, which the op calls -1."""
    output_size = plain_ints(attributes.numbers(output_size))
    sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * n
    if len(sizes) == 1:
        sizes = sizes * n
    if len(sizes) != n or any(s is not None and not is_late(s) and (not isinstance(s, int) or s < 1) for s in sizes):
        raise _C.located(ValueError(f"{op}: output_size must be {n} positive ints or None, not {output_size!r}"))
    return [-1 if s is None else s for s in sizes]


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """Means of windows that divide [N, C, H, W] into output_size parts.

    Part i of n over H rows is [floor(i * H / n), ceil((i + 1) * H / n)).

    Args:
        x (Tensor): [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        output_size (int|list[int|None]): one or [height, width]; None keeps the size.
        data_format (str): "NCHW" or "NHWC".

    Examples:
        >>> proa.nn.functional.adaptive_avg_pool2d(proa.ones([1, 2, 5, 5]), 3).shape
        [1, 2, 3, 3]
    """
    return _C.ops.adaptive_avg_pool2d(x, _output_size("adaptive_avg_pool2d", output_size, 2), data_format)


def adaptive_avg_pool1d(x, output_size, name=None):
    """Means of windows that divide [N, C, L] into output_size parts.

    Examples:
        >>> proa.nn.functional.adaptive_avg_pool1d(proa.to_tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2).tolist()
        [[[1.5, 3.5]]]
    """
    return _C.ops.adaptive_avg_pool1d(x, _output_size("adaptive_avg_pool1d", output_size, 1))


def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """Means of windows that divide [N, C, D, H, W] into output_size parts.

    Examples:
        >>> proa.nn.functional.adaptive_avg_pool3d(proa.ones([1, 2, 5, 5, 5]), 3).shape
        [1, 2, 3, 3, 3]
    """
    return _C.ops.adaptive_avg_pool3d(x, _output_size("adaptive_avg_pool3d", output_size, 3), data_format)


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, H, W] into output_size parts, as in adaptive_avg_pool2d.

    With return_mask also their places, row * W + column, as int32.

    Examples:
        >>> proa.nn.functional.adaptive_max_pool2d(proa.ones([1, 2, 5, 5]), 3).shape
        [1, 2, 3, 3]
    """
    out, places = _C.ops.adaptive_max_pool2d(x, _output_size("adaptive_max_pool2d", output_size, 2))
    return (out, places) if return_mask else out


def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, L] into output_size parts.

    Examples:
        >>> proa.nn.functional.adaptive_max_pool1d(proa.to_tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2).tolist()
        [[[2.0, 4.0]]]
    """
    out, places = _C.ops.adaptive_max_pool1d(x, _output_size("adaptive_max_pool1d", output_size, 1))
    return (out, places) if return_mask else out


def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, D, H, W] into output_size parts.

    With return_mask also their places, (depth * H + row) * W + column, as int32.

    Examples:
        >>> proa.nn.functional.adaptive_max_pool3d(proa.ones([1, 2, 5, 5, 5]), 3).shape
        [1, 2, 3, 3, 3]
    """
    out, places = _C.ops.adaptive_max_pool3d(x, _output_size("adaptive_max_pool3d", output_size, 3))
    return (out, places) if return_mask else out


def _unpool(op, n, x, indices, kernel_size, stride, padding, data_format, output_size):
    is_channel_last(op, data_format, n)
    x = _C.tensor_argument(x, op, "x")
    indices = _C.tensor_argument(indices, op, "indices")
    if indices.dtype.name == "int64":
        indices = indices.astype("int32")
    if output_size is None:
        output_size = []
    elif not isinstance(output_size, _C.Tensor):
        output_size = attributes.ints(op, "output_size", output_size)[-n:]  # may have the batch and channels
    steps = [] if stride is None else numbers(op, "stride", stride, n)
    kernel, pads = numbers(op, "kernel_size", kernel_size, n), numbers(op, "padding", padding, n)
    return getattr(_C.ops, op)(x, indices, kernel, steps, pads, plain_ints(output_size), data_format)


def max_unpool2d(x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None, name=None):
    """Puts maxima back where max_pool2d(return_mask=True) found them, zeros elsewhere.

    Of several maxima for one place the last stays.

    Args:
        x (Tensor): maxima, [N, C, H, W].
        indices (Tensor): their places.
        kernel_size, stride, padding: those of the pool.
        output_size (list[int], optional): size of the result, if the pool's arguments leave a choice.

    Examples:
        >>> y, places = proa.nn.functional.max_pool2d(proa.rand([1, 2, 4, 4]), 2, return_mask=True)
        >>> proa.nn.functional.max_unpool2d(y, places, 2).shape
        [1, 2, 4, 4]
    """
    return _unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool1d(x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None, name=None):
    """Puts maxima back where max_pool1d(return_mask=True) found them, zeros elsewhere.

    Examples:
        >>> y, places = proa.nn.functional.max_pool1d(proa.to_tensor([[[1.0, 3.0, 7.0, 5.0]]]), 2, return_mask=True)
        >>> proa.nn.functional.max_unpool1d(y, places, 2).tolist()
        [[[0.0, 3.0, 7.0, 0.0]]]
    """
    return _unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool3d(x, indices, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None, name=None):
    """Puts maxima back where max_pool3d(return_mask=True) found them, zeros elsewhere.

    Examples:
        >>> y, places = proa.nn.functional.max_pool3d(proa.rand([1, 2, 4, 4, 4]), 2, return_mask=True)
        >>> proa.nn.functional.max_unpool3d(y, places, 2).shape
        [1, 2, 4, 4, 4]
    """
    return _unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, data_format, output_size)


__getattr__ = _borrow(__name__, "proa.nn.functional")
