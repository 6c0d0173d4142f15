"""Convolution layers of sparse images."""

import math

from proa import _C
from proa.nn.functional.shapes import numbers
from proa.nn.initializer import Normal
from proa.nn.layer.layers import Layer
from proa.sparse.nn import functional as F

__all__ = ["Conv2D", "Conv3D", "SubmConv2D", "SubmConv3D"]


class _Conv(Layer):
    """What the convolutions share: weight [sizes of the window, in_channels, out_channels] and bias [out_channels]."""

    _dims = 3

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        padding_mode,
        weight_attr,
        bias_attr,
        data_format,
    ):
        super().__init__()
        kind = type(self).__name__
        if weight_attr is False:
            raise _C.located(ValueError(f"{kind}: weight_attr must not be False; a convolution needs its weight"))
        if groups != 1:
            raise _C.located(ValueError(f"{kind}: groups must be 1; it is {groups}"))
        if padding_mode != "zeros":
            raise _C.located(ValueError(f"{kind}: padding_mode must be 'zeros', not {padding_mode!r}"))
        self._in_channels, self._out_channels = in_channels, out_channels
        self._kernel_size = numbers(kind, "kernel_size", kernel_size, self._dims)
        self._stride, self._padding, self._dilation = stride, padding, dilation
        self._groups, self._data_format = groups, data_format
        shape = [*self._kernel_size, in_channels, out_channels]
        default = Normal(0.0, math.sqrt(2.0 / (in_channels * math.prod(self._kernel_size))))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=default)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x):
        return type(self)._function(
            x, self.weight, self.bias, self._stride, self._padding, self._dilation, self._groups, self._data_format
        )

    def extra_repr(self):
        return (
            f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}, stride={self._stride}, "
            f"padding={self._padding}, dilation={self._dilation}, data_format={self._data_format}"
        )


class Conv3D(_Conv):
    """Convolution of a sparse image [N, D, H, W, C]; see functional.conv3d.

    Args:
        in_channels, out_channels (int): C, and that of the result.
        kernel_size, stride, dilation (int|list[int]): of each dim.
        padding (int|str|list[int]): as in nn.Conv3D.
        groups (int): 1.
        padding_mode (str): "zeros".
        weight_attr, bias_attr (ParamAttr|bool, optional): of weight [kD, kH, kW, C, M] and bias [M]; False for no bias.
        data_format (str): "NDHWC".

    Raises:
        ValueError: other groups or padding_mode.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 3, 2])
        >>> proa.sparse.nn.Conv3D(2, 4, 3, padding=1)(x).shape
        [1, 3, 3, 3, 4]
    """

    _function = staticmethod(lambda *args: F.conv3d(*args))

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, weight_attr, bias_attr,
            data_format,
        )  # fmt: skip


class SubmConv3D(_Conv):
    """Submanifold convolution of a sparse image [N, D, H, W, C]; see functional.subm_conv3d.

    Args:
        in_channels, out_channels, kernel_size, dilation, groups, padding_mode, weight_attr, bias_attr, data_format: as in Conv3D.
        stride (int|list[int]): 1.
        padding: of no effect.
        key (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 3, 2])
        >>> y = proa.sparse.nn.SubmConv3D(2, 4, 3)(x)
        >>> y.shape, y.nnz()
        ([1, 3, 3, 3, 4], 1)
    """

    _function = staticmethod(lambda *args: F.subm_conv3d(*args))

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        key=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, weight_attr, bias_attr,
            data_format,
        )  # fmt: skip
        self._key = key


class Conv2D(_Conv):
    """Convolution of a sparse image [N, H, W, C]; arguments as in Conv3D, with data_format "NHWC".

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 2])
        >>> proa.sparse.nn.Conv2D(2, 4, 3, padding=1)(x).shape
        [1, 3, 3, 4]
    """

    _dims = 2
    _function = staticmethod(lambda *args: F.conv2d(*args))

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NHWC",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, weight_attr, bias_attr,
            data_format,
        )  # fmt: skip


class SubmConv2D(_Conv):
    """Submanifold convolution of a sparse image [N, H, W, C]; arguments as in SubmConv3D, with data_format "NHWC".

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 2])
        >>> proa.sparse.nn.SubmConv2D(2, 4, 3)(x).nnz()
        1
    """

    _dims = 2
    _function = staticmethod(lambda *args: F.subm_conv2d(*args))

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        key=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NHWC",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, weight_attr, bias_attr,
            data_format,
        )  # fmt: skip
        self._key = key
