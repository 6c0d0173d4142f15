"""Convolution whose kernel's places are moved by offsets."""

import math

from proa import _C
from proa.framework.attributes import known_int
from proa.nn.functional.shapes import numbers, positive, size_argument
from proa.nn.functional.vision import bilinear
from proa.nn.initializer import Normal
from proa.nn.layer.layers import Layer
from proa.tensor.attribute import optional_tensor
from proa.tensor.precision import keeps_types, widened
from proa.vision.ops.numbering import differ, upto

__all__ = ["DeformConv2D", "deform_conv2d"]


def deform_conv2d(x, offset, weight, bias=None, stride=1, padding=0, dilation=1, deformable_groups=1, groups=1, mask=None,
                  name=None):  # fmt: skip
    """A convolution that looks where offsets tell it to; between pixels, what lies between them, and zeros outside.

    Args:
        x (Tensor): [N, C, H, W].
        offset (Tensor): [N, 2 * deformable_groups * kh * kw, OH, OW]: for each element of the kernel how far to go down,
            and how far to the right.
        weight (Tensor): [O, C / groups, kh, kw].
        bias (Tensor, optional): [O].
        stride, padding, dilation (int|list[int]): for both dims or one each.
        deformable_groups (int): parts of the channels with offsets of their own.
        groups (int): parts of the channels that are convolved each by itself.
        mask (Tensor, optional): [N, deformable_groups * kh * kw, OH, OW], a factor for each element of the kernel.

    Returns:
        Tensor: [N, O, OH, OW], OH = (H + 2 padding - dilation * (kh - 1) - 1) / stride + 1.

    Raises:
        ValueError: shapes that do not belong together.

    Examples:
        >>> x, weight = proa.ones([1, 2, 4, 4]), proa.ones([3, 2, 3, 3])
        >>> proa.vision.ops.deform_conv2d(x, proa.zeros([1, 18, 2, 2]), weight)[0, 0].tolist()
        [[18.0, 18.0], [18.0, 18.0]]
    """
    x = _C.tensor_argument(x, "deform_conv2d", "x")
    offset = _C.tensor_argument(offset, "deform_conv2d", "offset")
    weight = _C.tensor_argument(weight, "deform_conv2d", "weight")
    bias, mask = optional_tensor(bias, "deform_conv2d", "bias"), optional_tensor(mask, "deform_conv2d", "mask")
    deformable_groups = known_int("deform_conv2d", "deformable_groups", deformable_groups)
    groups = known_int("deform_conv2d", "groups", groups)
    stride = positive("deform_conv2d", "stride", stride, 2)
    padding = numbers("deform_conv2d", "padding", padding, 2)
    dilation = positive("deform_conv2d", "dilation", dilation, 2)
    if len(x.shape) != 4 or len(weight.shape) != 4:
        raise _C.located(
            ValueError(f"deform_conv2d: x and weight must have 4 dims; they are {list(x.shape)}, {list(weight.shape)}")
        )
    n, channels, *sizes = x.shape
    filters, each, *kernel = weight.shape
    parts = deformable_groups
    if (
        groups < 1
        or parts < 1
        or channels % groups
        or channels % parts
        or filters % groups
        or each * groups != channels
    ):
        raise _C.located(
            ValueError(
                f"deform_conv2d: groups {groups} and deformable_groups {parts} must divide the channels; x is "
                f"{list(x.shape)}, weight is {list(weight.shape)}"
            )
        )
    out = [(h + 2 * p - d * (k - 1) - 1) // s + 1 for h, p, d, k, s in zip(sizes, padding, dilation, kernel, stride)]
    taps = math.prod(kernel)
    for what, given, count in (("offset", offset, 2), ("mask", mask, 1)):
        wanted = [n, count * parts * taps, *out]
        if given is not None and differ(given.shape, wanted):
            raise _C.located(ValueError(f"deform_conv2d: {what} must be {wanted}; it is {list(given.shape)}"))
    seen = _seen(x, offset, parts, kernel, stride, padding, dilation, out)
    if mask is not None:
        seen = seen * mask.reshape([n * parts, 1, taps * out[0], out[1]])
    columns = seen.reshape([n, groups, each * taps, out[0] * out[1]])
    result = _C.ops.matmul(weight.reshape([1, groups, filters // groups, each * taps]), columns)
    result = result.reshape([n, filters, *out])
    return result if bias is None else result + bias.reshape([1, -1, 1, 1])


@keeps_types
def _seen(x, offset, parts, kernel, stride, padding, dilation, out):
    """What the elements of the kernel lie on, [N * parts, C / parts, taps * OH, OW]; places of 16-bit types are counted in float32."""
    n, channels, *sizes = x.shape
    taps = math.prod(kernel)
    shape = [n * parts, taps * out[0], out[1]]
    moves = widened(offset).reshape([n, parts, taps, 2, *out])
    places = []
    for dim in (0, 1):
        # Where the kernel's elements lie without an offset: [taps, OH, OW].
        starts = upto(out[dim], moves.dtype) * float(stride[dim]) - float(padding[dim])
        steps = upto(kernel[dim], moves.dtype) * float(dilation[dim])
        first = starts.reshape([1, 1, -1, 1] if dim == 0 else [1, 1, 1, -1])
        each_tap = steps.reshape([-1, 1, 1, 1] if dim == 0 else [1, -1, 1, 1])
        fixed = _C.ops.broadcast_to(first + each_tap, [*kernel, *out]).reshape([taps, *out])
        places.append((moves[:, :, :, dim] + fixed).reshape(shape))
    return bilinear(x.reshape([n * parts, channels // parts, *sizes]), *places)


class DeformConv2D(Layer):
    """`deform_conv2d` with a weight and a bias.

    Args:
        in_channels, out_channels (int): C and O.
        kernel_size, stride, padding, dilation (int|list[int]): for both dims or one each.
        deformable_groups, groups (int): as of `deform_conv2d`.
        weight_attr, bias_attr (ParamAttr, optional): of the parameters; bias_attr=False leaves the bias out.

    Shape:
        x [N, C, H, W], offset [N, 2 * deformable_groups * kh * kw, OH, OW], mask (optional) [N, deformable_groups * kh *
        kw, OH, OW] -> [N, O, OH, OW]. weight is [O, C / groups, kh, kw], bias [O].

    Examples:
        >>> layer = proa.vision.ops.DeformConv2D(2, 3, 3, padding=1)
        >>> layer(proa.ones([1, 2, 4, 4]), proa.zeros([1, 18, 4, 4]), proa.ones([1, 9, 4, 4])).shape
        [1, 3, 4, 4]
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, deformable_groups=1,
                 groups=1, weight_attr=None, bias_attr=None):  # fmt: skip
        super().__init__()
        if weight_attr is False:
            raise _C.located(ValueError("DeformConv2D: weight_attr must not be False; a convolution needs its weight"))
        in_channels = size_argument("DeformConv2D", "in_channels", in_channels)
        out_channels = size_argument("DeformConv2D", "out_channels", out_channels)
        groups = size_argument("DeformConv2D", "groups", groups)
        if in_channels % groups or out_channels % groups:
            raise _C.located(
                ValueError(
                    f"DeformConv2D: groups must divide in_channels and out_channels; groups is {groups}, in_channels is "
                    f"{in_channels}, out_channels is {out_channels}"
                )
            )
        self._kernel_size = positive("DeformConv2D", "kernel_size", kernel_size, 2)
        self._stride, self._padding, self._dilation = stride, padding, dilation
        self._deformable_groups, self._groups = deformable_groups, groups
        self._in_channels, self._out_channels = in_channels, out_channels
        fan_in = in_channels * math.prod(self._kernel_size)
        shape = [out_channels, in_channels // groups, *self._kernel_size]
        self.weight = self.create_parameter(
            shape, weight_attr, default_initializer=Normal(0.0, math.sqrt(2.0 / fan_in))
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x, offset, mask=None):
        return deform_conv2d(x, offset, self.weight, self.bias, self._stride, self._padding, self._dilation,
                             self._deformable_groups, self._groups, mask)  # fmt: skip
