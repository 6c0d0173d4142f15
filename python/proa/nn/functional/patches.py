"""Sliding blocks of images, and rearrangements of channels."""

import math

from proa import _C
from proa.framework.attributes import (
    an_int,
    is_late,
    known,
    known_ints,
    known_number,
    known_real,
    number,
)
from proa.framework.requirements import require, require_multiple, require_sizes
from proa.nn.functional.shapes import is_channel_last, numbers, plain_ints, positive, require_dims
from proa.tensor.precision import keeps_types


def pixel_shuffle(x, upscale_factor, data_format="NCHW", name=None):
    """[N, C * r * r, H, W] to [N, C, H * r, W * r] (Shi et al., 2016).

    Examples:
        >>> proa.nn.functional.pixel_shuffle(proa.ones([1, 4, 2, 2]), 2).shape
        [1, 1, 4, 4]
    """
    x = _C.tensor_argument(x, "pixel_shuffle", "x")
    upscale_factor = _positive_int("pixel_shuffle", "upscale_factor", upscale_factor)
    require_dims("pixel_shuffle", "x", x, 4)
    ops, r = _C.ops, upscale_factor
    last = is_channel_last("pixel_shuffle", data_format, 2)
    n, channels = x.shape[0], x.shape[3] if last else x.shape[1]
    height, width = x.shape[1:3] if last else x.shape[2:]
    says = f"pixel_shuffle: the channels are not divisible by upscale_factor squared, {r * r}; x is {{}} {x.dtype.name}"
    x = require_multiple(x, channels, r * r, says, x)
    c = channels // (r * r)
    if last:
        x = ops.transpose(ops.reshape(x, [n, height, width, c, r, r]), [0, 1, 4, 2, 5, 3])
        return ops.reshape(x, [n, height * r, width * r, c])
    x = ops.transpose(ops.reshape(x, [n, c, r, r, height, width]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(x, [n, c, height * r, width * r])


def _positive_int(op, name, value):
    value = number(plain_ints(known_number(op, name, value)))
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _C.located(ValueError(f"{op}: {name} must be a positive int, not {value!r}"))
    return value


def pixel_unshuffle(x, downscale_factor, data_format="NCHW", name=None):
    """[N, C, H * r, W * r] to [N, C * r * r, H, W]: the way back of pixel_shuffle.

    Args:
        x (Tensor): images.
        downscale_factor (int): r.
        data_format (str): "NCHW" or "NHWC".

    Examples:
        >>> proa.nn.functional.pixel_unshuffle(proa.ones([1, 1, 4, 4]), 2).shape
        [1, 4, 2, 2]
    """
    x = _C.tensor_argument(x, "pixel_unshuffle", "x")
    r = _positive_int("pixel_unshuffle", "downscale_factor", downscale_factor)
    require_dims("pixel_unshuffle", "x", x, 4)
    last = is_channel_last("pixel_unshuffle", data_format, 2)
    says = f"pixel_unshuffle: the image is not divisible by downscale_factor, {r}; x is {{}} {x.dtype.name}"
    for axis in (1, 2) if last else (2, 3):
        x = require_multiple(x, x.shape[axis], r, says, x)
    n, c = x.shape[0], x.shape[3] if last else x.shape[1]
    height, width = (size // r for size in (x.shape[1:3] if last else x.shape[2:]))
    if last:
        x = _C.ops.transpose(_C.ops.reshape(x, [n, height, r, width, r, c]), [0, 1, 3, 5, 2, 4])
        return _C.ops.reshape(x, [n, height, width, c * r * r])
    x = _C.ops.transpose(_C.ops.reshape(x, [n, c, height, r, width, r]), [0, 1, 3, 5, 2, 4])
    return _C.ops.reshape(x, [n, c * r * r, height, width])


def channel_shuffle(x, groups, data_format="NCHW", name=None):
    """Channels of several groups by turns: of two groups a0 b0 a1 b1 ... from a0 a1 ... b0 b1 ... (Zhang et al., 2018).

    Args:
        x (Tensor): images.
        groups (int): that the channels are of.
        data_format (str): "NCHW" or "NHWC".

    Examples:
        >>> x = proa.arange(4.0).reshape([1, 4, 1, 1])
        >>> proa.nn.functional.channel_shuffle(x, 2).flatten().tolist()
        [0.0, 2.0, 1.0, 3.0]
    """
    x = _C.tensor_argument(x, "channel_shuffle", "x")
    groups = _positive_int("channel_shuffle", "groups", groups)
    require_dims("channel_shuffle", "x", x, 4)
    axis = 3 if is_channel_last("channel_shuffle", data_format, 2) else 1
    says = f"channel_shuffle: the channels are not divisible by groups, {groups}; x is {{}} {x.dtype.name}"
    x = require_multiple(x, x.shape[axis], groups, says, x)
    shape = list(x.shape)
    x = _C.ops.reshape(x, [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])
    order = list(range(5))
    order[axis], order[axis + 1] = axis + 1, axis
    return _C.ops.reshape(_C.ops.transpose(x, order), shape)


def _four(op, paddings):
    """[top, left, bottom, right] of one, two or four paddings."""
    paddings = known(op, "paddings", plain_ints(paddings))
    if isinstance(paddings, int):
        return [paddings] * 4
    paddings = known_ints(op, "paddings", paddings, "an int or a list of ints")
    if len(paddings) == 2:
        return [*paddings, *paddings]
    if len(paddings) == 4:
        return paddings
    raise _C.located(ValueError(f"{op}: paddings must be 1, 2 or 4 ints, not {paddings!r}"))


def _window(op, size, kernel_sizes, strides, paddings, dilations):
    kernel, stride = positive(op, "kernel_sizes", kernel_sizes, 2), positive(op, "strides", strides, 2)
    dilation, pads = positive(op, "dilations", dilations, 2), _four(op, paddings)
    out = [(size[i] + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if any(n < 1 for n in out if isinstance(n, int)):  # those that are open are seen when the program runs
        raise _C.located(ValueError(f"{op}: the kernel, {kernel}, is larger than the padded size of {list(size)}"))
    return kernel, stride, dilation, pads, out


_TO_THE_END = (1 << 31) - 1


# Each is an operation of the program; where sizes are known, the image holds the kernel.
_MOST_TAPS = 65536


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Sliding blocks as columns (im2col).

    Args:
        x (Tensor): [N, C, H, W].
        kernel_sizes, strides, dilations (int|list[int]): one or [height, width].
        paddings (int|list[int]): one, [height, width] or [top, left, bottom, right].

    Returns:
        Tensor: [N, C * KH * KW, number of blocks].

    Raises:
        ValueError: the kernel is larger than the padded image, or has more than 65536 taps where H or W is open.

    Examples:
        >>> proa.nn.functional.unfold(proa.ones([1, 3, 4, 4]), 2).shape
        [1, 12, 9]
    """
    x = _C.tensor_argument(x, "unfold", "x")
    require_dims("unfold", "x", x, 4)
    ops = _C.ops
    kernel, stride, dilation, pads, _ = _window("unfold", x.shape[2:], kernel_sizes, strides, paddings, dilations)
    if any(pads):
        x = ops.pad(x, [0, 0, 0, 0, pads[0], pads[2], pads[1], pads[3]])
    if math.prod(kernel) > _MOST_TAPS and not all(isinstance(n, int) for n in x.shape[2:]):
        raise _C.located(
            ValueError(
                f"unfold: a kernel of {kernel} has {math.prod(kernel)} taps; at most {_MOST_TAPS} for open sizes"
            )
        )
    if not all(isinstance(n, int) for n in x.shape[2:]):
        sizes = ops.slice(ops.shape(x), [0], [2], [4])
        reach = [(kernel[d] - 1) * dilation[d] + 1 for d in range(2)]
        says = f"unfold: the kernel, {kernel}, is larger than the padded size of {{}}"
        x = require(x, sizes >= _C.to_tensor(reach, dtype="int64"), says, sizes)
    taps = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            # Counted from the end, and so for any size: as many behind the last as the kernel has behind the tap.
            start = [i * dilation[0], j * dilation[1]]
            behind = [(kernel[d] - 1 - at) * dilation[d] for d, at in enumerate((i, j))]
            taps.append(ops.slice(x, [2, 3], start, [-n or _TO_THE_END for n in behind], stride))
    return ops.flatten(ops.flatten(ops.stack(taps, 2), 1, 2), 2, 3)


@keeps_types
def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Adds up columns of sliding blocks where they overlap (col2im): the adjoint of unfold.

    Args:
        x (Tensor): [N, C * KH * KW, number of blocks].
        output_sizes (list[int]): [H, W] of the result.
        kernel_sizes, strides, paddings, dilations: as in unfold.

    Returns:
        Tensor: [N, C, H, W].

    Examples:
        >>> proa.nn.functional.fold(proa.ones([1, 4, 4]), output_sizes=[3, 3], kernel_sizes=2)[0, 0].tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    x = _C.tensor_argument(x, "fold", "x")
    ops = _C.ops
    size = numbers("fold", "output_sizes", output_sizes, 2)
    kernel, stride, dilation, pads, out = _window("fold", size, kernel_sizes, strides, paddings, dilations)
    require_dims("fold", "x", x, 3)
    n, columns, blocks = x.shape
    says = f"fold: x must be [N, C * {kernel[0] * kernel[1]}, {out[0] * out[1]}]; it is {{}}"
    x = require_sizes(x, [columns % (kernel[0] * kernel[1]), blocks], [0, out[0] * out[1]], says, x)
    channels = columns // (kernel[0] * kernel[1])
    # The blocks are pixels of a feature map; a transposed convolution with an identity
    # kernel puts each element of a block in its place and adds up.
    maps = ops.reshape(x, [n * channels, kernel[0] * kernel[1], out[0], out[1]])
    identity = ops.reshape(ops.eye(kernel[0] * kernel[1], None, x.dtype), [-1, 1, kernel[0], kernel[1]])
    padded = [size[i] + pads[i] + pads[i + 2] for i in range(2)]
    spare = [padded[i] - ((out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1) for i in range(2)]
    whole = ops.conv2d_transpose(maps, identity, None, stride, [0, 0], [], dilation, 1, [], "NCHW")
    if any(spare):
        whole = ops.pad(whole, [0, 0, 0, 0, 0, spare[0], 0, spare[1]])
    whole = ops.slice(whole, [2, 3], pads[:2], [pads[0] + size[0], pads[1] + size[1]])
    return ops.reshape(whole, [n, channels, size[0], size[1]])


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW"):
    """Moves part of the channels one frame back and as many one frame forward (Lin et al., 2019).

    Args:
        x (Tensor): [N * seg_num, C, H, W] (or NHWC): frames of N clips.
        seg_num (int): frames of a clip.
        shift_ratio (float): part of the channels that moves each way, at most 0.5.

    Examples:
        >>> proa.nn.functional.temporal_shift(proa.ones([4, 4, 2, 2]), seg_num=2).shape
        [4, 4, 2, 2]
    """
    x = _C.tensor_argument(x, "temporal_shift", "x")
    require_dims("temporal_shift", "x", x, 4)
    ops = _C.ops
    seg_num = an_int("temporal_shift", "seg_num", seg_num)
    shift_ratio = known_real("temporal_shift", "shift_ratio", shift_ratio)
    if not 0 <= shift_ratio <= 0.5:
        raise _C.located(ValueError(f"temporal_shift: shift_ratio must be in [0, 0.5]; it is {shift_ratio}"))
    last = is_channel_last("temporal_shift", data_format, 2)
    if last:
        x = ops.transpose(x, [0, 3, 1, 2])
    frames, channels, height, width = x.shape
    if is_late(x.shape):
        x = ops.stack([x[t::seg_num] for t in range(seg_num)], 1) if seg_num > 1 else ops.unsqueeze(x, 1)
    else:
        # Of no pixels, how many clips there are must be said.
        clips = -1 if 0 not in x.shape or seg_num < 1 or frames % seg_num else frames // seg_num
        x = ops.reshape(x, [clips, seg_num, channels, height, width])
    c1, c2 = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    pad_before, pad_after = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    back = ops.pad(x[:, : seg_num - 1, :c1], pad_before)
    forward = ops.pad(x[:, 1:, c1:c2], pad_after)
    out = ops.flatten(ops.concat([back, forward, x[:, :, c2:]], 2), 0, 1)
    return ops.transpose(out, [0, 2, 3, 1]) if last else out
