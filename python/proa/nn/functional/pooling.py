"""Pools of one, two and three spatial dims.

A 1-D pool is a 2-D one of height 1; a 3-D pool is a 2-D one over height and width
and then one over depth, which is the same for means and maxima.
"""

from proa import _C
from proa.framework import attributes
from proa.framework.attributes import is_late
from proa.framework.names import borrow as _borrow
from proa.nn.functional.shapes import (
    check_rank,
    flat,
    is_channel_last,
    numbers,
    padding_pairs,
    plain_ints,
    spatial_sizes,
)


def _window(op, x, n, kernel_size, stride, padding, last):
    """(kernel, stride, [before, after] pairs) of a pool over n dims."""
    kernel = numbers(op, "kernel_size", kernel_size, n)
    steps = kernel if stride is None else numbers(op, "stride", stride, n)
    pairs = padding_pairs(op, padding, n, spatial_sizes(x, last), kernel, steps, [1] * n, last)
    return kernel, steps, pairs


def _divisor_factor(exclusive, kernel, divisor_override):
    """What a mean that is not exclusive must be multiplied by."""
    if divisor_override is None or exclusive:
        return None
    count = 1
    for k in kernel:
        count *= k
    return count / divisor_override


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
    x = _C.tensor_argument(x, "max_pool2d", "x")
    op = "max_pool2d"
    check_rank(op, x, 2)
    last = is_channel_last(op, data_format, 2)
    kernel, steps, pairs = _window(op, x, 2, kernel_size, stride, padding, last)
    function = _C.ops.max_pool2d_with_index if return_mask else _C.ops.max_pool2d
    return function(x, kernel, steps, flat(pairs), ceil_mode, data_format)


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
        divisor_override (float, optional): divide sums by this instead of the number of elements (and,
            where ceil_mode lets a window reach over the padding, by the share of it that is inside).
    """
    x = _C.tensor_argument(x, "avg_pool2d", "x")
    op = "avg_pool2d"
    check_rank(op, x, 2)
    last = is_channel_last(op, data_format, 2)
    kernel, steps, pairs = _window(op, x, 2, kernel_size, stride, padding, last)
    exclusive = exclusive and divisor_override is None
    out = _C.ops.avg_pool2d(x, kernel, steps, flat(pairs), ceil_mode, exclusive, data_format)
    factor = _divisor_factor(exclusive, kernel, divisor_override)
    return out if factor is None else out * factor


def max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None):
    """The maximum of each window of [N, C, L]; arguments as in max_pool2d."""
    x = _C.tensor_argument(x, "max_pool1d", "x")
    op = "max_pool1d"
    check_rank(op, x, 1)
    kernel, steps, pairs = _window(op, x, 1, kernel_size, stride, padding, False)
    wide = _C.ops.unsqueeze(x, 2)
    function = _C.ops.max_pool2d_with_index if return_mask else _C.ops.max_pool2d
    out = function(wide, [1, *kernel], [1, *steps], [0, 0, *flat(pairs)], ceil_mode, "NCHW")
    return tuple(_C.ops.squeeze(o, 2) for o in out) if return_mask else _C.ops.squeeze(out, 2)


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """The mean of each window of [N, C, L]; arguments as in avg_pool2d."""
    x = _C.tensor_argument(x, "avg_pool1d", "x")
    op = "avg_pool1d"
    check_rank(op, x, 1)
    kernel, steps, pairs = _window(op, x, 1, kernel_size, stride, padding, False)
    wide = _C.ops.unsqueeze(x, 2)
    out = _C.ops.avg_pool2d(wide, [1, *kernel], [1, *steps], [0, 0, *flat(pairs)], ceil_mode, exclusive, "NCHW")
    return _C.ops.squeeze(out, 2)


def _pool3d(x, last, over_plane, over_depth):
    """Applies a 2-D pool to height and width and one to depth; both take [N, C, H, W]."""
    ops = _C.ops
    if last:
        x = ops.transpose(x, [0, 4, 1, 2, 3])
    n, c, d, h, w = x.shape
    x = over_plane(ops.reshape(x, [n, c * d, h, w]))
    h, w = x.shape[2:]
    x = over_depth(ops.reshape(x, [n, c, d, h * w]))
    x = ops.reshape(x, [n, c, x.shape[2], h, w])
    return ops.transpose(x, [0, 2, 3, 4, 1]) if last else x


def _pool3d_with_places(x, last, over_plane, over_depth):
    """The same for pools that give places too: (maxima, places in depth * H * W + row * W + column, int32)."""
    ops = _C.ops
    if last:
        x = ops.transpose(x, [0, 4, 1, 2, 3])
    n, c, d, h, w = x.shape
    plane, in_plane = over_plane(ops.reshape(x, [n, c * d, h, w]))
    rows, columns = plane.shape[2:]
    size = rows * columns
    # Of equal maxima the first in depth is taken, and in that plane the first: the first in row-major order.
    out, places = over_depth(ops.reshape(plane, [n, c, d, size]))
    depth = out.shape[2]
    flat_places = ops.reshape(places, [n, c, depth * size])
    in_plane = ops.take_along_axis(ops.reshape(in_plane, [n, c, d * size]), flat_places.astype("int64"), 2)
    places = ops.floor_divide(flat_places, size) * (h * w) + in_plane
    out, places = (ops.reshape(t, [n, c, depth, rows, columns]) for t in (out, places.astype("int32")))
    return (ops.transpose(out, [0, 2, 3, 4, 1]), ops.transpose(places, [0, 2, 3, 4, 1])) if last else (out, places)


def max_pool3d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, return_mask=False, data_format="NCDHW", name=None
):
    """The maximum of each window of [N, C, D, H, W]; arguments as in max_pool2d.

    With return_mask also the places of the maxima, (depth * H + row) * W + column, as int32.
    """
    x = _C.tensor_argument(x, "max_pool3d", "x")
    op = "max_pool3d"
    check_rank(op, x, 3)
    last = is_channel_last(op, data_format, 3)
    kernel, steps, pairs = _window(op, x, 3, kernel_size, stride, padding, last)
    pool, whole = _C.ops.max_pool2d, _pool3d
    if return_mask:
        pool, whole = _C.ops.max_pool2d_with_index, _pool3d_with_places
    return whole(
        x,
        last,
        lambda v: pool(v, kernel[1:], steps[1:], flat(pairs[1:]), ceil_mode, "NCHW"),
        lambda v: pool(v, [kernel[0], 1], [steps[0], 1], [*pairs[0], 0, 0], ceil_mode, "NCHW"),
    )


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
    """The mean of each window of [N, C, D, H, W]; arguments as in avg_pool2d."""
    x = _C.tensor_argument(x, "avg_pool3d", "x")
    op = "avg_pool3d"
    check_rank(op, x, 3)
    last = is_channel_last(op, data_format, 3)
    kernel, steps, pairs = _window(op, x, 3, kernel_size, stride, padding, last)
    exclusive = exclusive and divisor_override is None
    pool = _C.ops.avg_pool2d
    out = _pool3d(
        x,
        last,
        lambda v: pool(v, kernel[1:], steps[1:], flat(pairs[1:]), ceil_mode, exclusive, "NCHW"),
        lambda v: pool(v, [kernel[0], 1], [steps[0], 1], [*pairs[0], 0, 0], ceil_mode, exclusive, "NCHW"),
    )
    factor = _divisor_factor(exclusive, kernel, divisor_override)
    return out if factor is None else out * factor


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
    """
    x = _C.tensor_argument(x, "adaptive_avg_pool2d", "x")
    check_rank("adaptive_avg_pool2d", x, 2)
    is_channel_last("adaptive_avg_pool2d", data_format, 2)
    return _C.ops.adaptive_avg_pool2d(x, _output_size("adaptive_avg_pool2d", output_size, 2), data_format)


def adaptive_avg_pool1d(x, output_size, name=None):
    """Means of windows that divide [N, C, L] into output_size parts."""
    x = _C.tensor_argument(x, "adaptive_avg_pool1d", "x")
    check_rank("adaptive_avg_pool1d", x, 1)
    sizes = _output_size("adaptive_avg_pool1d", output_size, 1)
    return _C.ops.squeeze(_C.ops.adaptive_avg_pool2d(_C.ops.unsqueeze(x, 2), [1, *sizes], "NCHW"), 2)


def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """Means of windows that divide [N, C, D, H, W] into output_size parts."""
    x = _C.tensor_argument(x, "adaptive_avg_pool3d", "x")
    op = "adaptive_avg_pool3d"
    check_rank(op, x, 3)
    sizes = _output_size(op, output_size, 3)
    pool = _C.ops.adaptive_avg_pool2d
    return _pool3d(
        x,
        is_channel_last(op, data_format, 3),
        lambda v: pool(v, sizes[1:], "NCHW"),
        lambda v: pool(v, [sizes[0], -1], "NCHW"),
    )


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, H, W] into output_size parts, as in adaptive_avg_pool2d.

    With return_mask also their places, row * W + column, as int32.
    """
    x = _C.tensor_argument(x, "adaptive_max_pool2d", "x")
    check_rank("adaptive_max_pool2d", x, 2)
    sizes = _output_size("adaptive_max_pool2d", output_size, 2)
    out, places = _C.ops.adaptive_max_pool2d(x, sizes, "NCHW")
    return (out, places) if return_mask else out


def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, L] into output_size parts."""
    x = _C.tensor_argument(x, "adaptive_max_pool1d", "x")
    check_rank("adaptive_max_pool1d", x, 1)
    sizes = _output_size("adaptive_max_pool1d", output_size, 1)
    out, places = _C.ops.adaptive_max_pool2d(_C.ops.unsqueeze(x, 2), [1, *sizes], "NCHW")
    out = _C.ops.squeeze(out, 2)
    return (out, _C.ops.squeeze(places, 2)) if return_mask else out


def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """Maxima of windows that divide [N, C, D, H, W] into output_size parts.

    With return_mask also their places, (depth * H + row) * W + column, as int32.
    """
    x = _C.tensor_argument(x, "adaptive_max_pool3d", "x")
    op = "adaptive_max_pool3d"
    check_rank(op, x, 3)
    sizes = _output_size(op, output_size, 3)

    def pool(v, size):
        out = _C.ops.adaptive_max_pool2d(v, size, "NCHW")
        return out if return_mask else out[0]

    whole = _pool3d_with_places if return_mask else _pool3d
    return whole(x, False, lambda v: pool(v, sizes[1:]), lambda v: pool(v, [sizes[0], -1]))


def _unpool(op, x, indices, n, kernel_size, stride, padding, output_size):
    """Sizes of the unpooled image."""
    kernel = numbers(op, "kernel_size", kernel_size, n)
    steps = kernel if stride is None else numbers(op, "stride", stride, n)
    pads = numbers(op, "padding", padding, n)
    if list(indices.shape) != list(x.shape):
        raise _C.located(
            ValueError(f"{op}: x and indices must have one shape; they are {list(x.shape)} and {list(indices.shape)}")
        )
    if output_size is None:
        return [(x.shape[2 + i] - 1) * steps[i] - 2 * pads[i] + kernel[i] for i in range(n)]
    return [int(s) for s in list(output_size)[-n:]]


def max_unpool2d(x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None, name=None):
    """Puts maxima back where max_pool2d(return_mask=True) found them, zeros elsewhere.

    Of several maxima for one place the last stays.

    Args:
        x (Tensor): maxima, [N, C, H, W].
        indices (Tensor): their places.
        kernel_size, stride, padding: those of the pool.
        output_size (list[int], optional): size of the result, if the pool's arguments leave a choice.
    """
    x = _C.tensor_argument(x, "max_unpool2d", "x")
    indices = _C.tensor_argument(indices, "max_unpool2d", "indices")
    check_rank("max_unpool2d", x, 2)
    size = _unpool("max_unpool2d", x, indices, 2, kernel_size, stride, padding, output_size)
    return _C.ops.max_unpool2d(x, indices.astype("int32"), [*x.shape[:2], *size], data_format)


def max_unpool1d(x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None, name=None):
    """Puts maxima back where max_pool1d(return_mask=True) found them, zeros elsewhere."""
    x = _C.tensor_argument(x, "max_unpool1d", "x")
    indices = _C.tensor_argument(indices, "max_unpool1d", "indices")
    check_rank("max_unpool1d", x, 1)
    size = _unpool("max_unpool1d", x, indices, 1, kernel_size, stride, padding, output_size)
    wide, places = _C.ops.unsqueeze(x, 2), _C.ops.unsqueeze(indices.astype("int32"), 2)
    return _C.ops.squeeze(_C.ops.max_unpool2d(wide, places, [*x.shape[:2], 1, *size], "NCHW"), 2)


__getattr__ = _borrow(__name__, "proa.nn.functional")
