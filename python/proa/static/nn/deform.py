"""Deformable convolution with its weight."""

import math

from proa import _C
from proa.nn import initializer
from proa.static.nn.parametric import _pair
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = ["deform_conv2d"]


@static_only("use paddle.vision.ops.DeformConv2D", none=("mask", "im2col_step"))
def deform_conv2d(x, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=1,
                  deformable_groups=1, im2col_step=1, weight_attr=None, bias_attr=None, name=None):  # fmt: skip
    """`vision.ops.deform_conv2d` with its weight [num_filters, C / groups, height, width] and bias.

    Args:
        x (Tensor): [N, C, H, W].
        offset (Tensor): how far each point of the kernel is moved.
        mask (Tensor, optional): a factor for each point.
        num_filters (int): channels of the result.
        filter_size (int|list[int]): of the kernel.
        im2col_step (int): accepted.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [2, 4, 5, 5])
        ...     moved = proa.static.data("moved", [2, 18, 3, 3])
        ...     y = proa.static.nn.deform_conv2d(x, moved, None, 6, 3)
        >>> y.shape
        [2, 6, 3, 3]
    """
    from proa.vision import ops

    channels, kernel = x.shape[1], _pair(filter_size, 2)
    if channels % groups:
        raise _C.located(ValueError(f"deform_conv2d: {channels} channels are no multiple of {groups} groups"))
    prefix = name if name is not None else unique_name.generate("deformable_conv")
    start = initializer.Normal(0.0, math.sqrt(2.0 / (math.prod(kernel) * channels)))
    weight = program_parameter([num_filters, channels // groups, *kernel], weight_attr, x.dtype, False, start, prefix)
    bias = program_parameter([num_filters], bias_attr, x.dtype, True, prefix=prefix)
    return ops.deform_conv2d(x, offset, weight, bias, stride, padding, dilation, deformable_groups, groups, mask)
