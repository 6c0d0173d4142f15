"""Convolution layers."""

import math
from collections.abc import Callable

from proa import _C
from proa._C import Tensor
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.shapes import is_channel_last, padding_pairs, positive, size_argument
from proa.nn.initializer import Normal
from proa.nn.layer.layers import Layer


class _ConvNd(Layer):
    """What all convolution layers share: checked arguments, weight [O, C / groups, ...] and bias [O].

    Programs for the reference derive their own convolutions from it, so name, arguments and attributes are the reference's.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        transposed,
        dims,
        stride=1,
        padding=0,
        padding_mode="zeros",
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__()
        kind, n = type(self).__name__, dims
        self._dims, self._transposed = dims, transposed
        if weight_attr is False:
            raise _C.located(ValueError(f"{kind}: weight_attr must not be False; a convolution needs its weight"))
        in_channels = size_argument(kind, "in_channels", in_channels)
        out_channels = size_argument(kind, "out_channels", out_channels)
        groups = size_argument(kind, "groups", groups)
        if in_channels % groups or out_channels % groups:
            raise _C.located(
                ValueError(
                    f"{kind}: groups must divide in_channels and out_channels; groups is {groups}, "
                    f"in_channels is {in_channels}, out_channels is {out_channels}"
                )
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise _C.located(
                ValueError(f"{kind}: padding_mode must be zeros, reflect, replicate or circular, not {padding_mode!r}")
            )
        self._channel_last = is_channel_last(kind, data_format, n)
        self._in_channels, self._out_channels, self._groups = in_channels, out_channels, groups
        self._kernel_size = positive(kind, "kernel_size", kernel_size, n)
        self._stride = positive(kind, "stride", stride, n)
        self._dilation = positive(kind, "dilation", dilation, n)
        self._padding, self._padding_mode = padding, padding_mode
        self._output_padding, self._data_format = output_padding, data_format
        self._param_attr, self._bias_attr = weight_attr, bias_attr
        self.output_padding = output_padding
        self._op_type = f"conv{n}d{'_transpose' if self._transposed else ''}"
        if self._transposed:
            shape = [in_channels, out_channels // groups, *self._kernel_size]
            default = None
        else:
            shape = [out_channels, in_channels // groups, *self._kernel_size]
            default = Normal(0.0, math.sqrt(2.0 / (in_channels * math.prod(self._kernel_size))))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=default)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    _use_cudnn = False

    @property
    def _channel_dim(self):
        return -1 if self._channel_last else 1

    @property
    def _padding_algorithm(self):
        return self._padding.upper() if isinstance(self._padding, str) else "EXPLICIT"

    @property
    def _updated_padding(self):
        """The padding as a list: one number for each dim, or one for each side."""
        if isinstance(self._padding, str):
            return [0] * self._dims
        return list(self._padding) if isinstance(self._padding, (list, tuple)) else [self._padding] * self._dims

    def _padded(self, x):
        """(x, padding of the convolution): x is padded here in modes that the convolution does not know."""
        if self._padding_mode == "zeros":
            return x, self._padding
        x = _C.tensor_argument(x, type(self).__name__, "x")
        n = self._dims
        sizes = x.shape[1:-1] if self._channel_last else x.shape[2:]
        pairs = padding_pairs(
            type(self).__name__, self._padding, n, sizes, self._kernel_size, self._stride, self._dilation,
            self._channel_last,
        )  # fmt: skip
        last_first = [p for pair in reversed(pairs) for p in pair]
        return F.pad(x, last_first, self._padding_mode, 0.0, self._data_format), 0

    def extra_repr(self):
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != [1] * self._dims:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self._output_padding != 0:
            text += f", output_padding={self._output_padding}"
        if self._padding_mode != "zeros":
            text += f", padding_mode={self._padding_mode}"
        if self._dilation != [1] * self._dims:
            text += f", dilation={self._dilation}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        return f"{text}, data_format={self._data_format}"


class Conv1D(_ConvNd):
    """1-D convolution of [N, C, L]; arguments as in Conv2D.

    Examples:
        >>> proa.nn.Conv1D(2, 3, 3)(proa.ones([1, 2, 5])).shape
        [1, 3, 3]
    """

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
        data_format="NCL",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, False, 1, stride, padding, padding_mode, 0, dilation, groups,
            weight_attr, bias_attr, data_format,
        )  # fmt: skip

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv1d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv2D(_ConvNd):
    """2-D convolution.

    Args:
        in_channels (int): channels of the input.
        out_channels (int): channels of the result.
        kernel_size (int|list[int]): one or [height, width].
        stride (int|list[int]): steps of the kernel.
        padding (int|list|str): as in functional.conv2d.
        dilation (int|list[int]): distance of the kernel's elements.
        groups (int): channels are split into so many groups that do not mix.
        padding_mode (str): "zeros", "reflect", "replicate" or "circular".
        weight_attr (ParamAttr, optional): of the weight, [out, in / groups, KH, KW].
        bias_attr (ParamAttr|bool, optional): of the bias, [out]; False for none.
        data_format (str): "NCHW" or "NHWC".

    Examples:
        >>> proa.nn.Conv2D(3, 8, 3, padding=1)(proa.ones([2, 3, 16, 16])).shape
        [2, 8, 16, 16]
    """

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
        data_format="NCHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, False, 2, stride, padding, padding_mode, 0, dilation, groups,
            weight_attr, bias_attr, data_format,
        )  # fmt: skip

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv2d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv3D(_ConvNd):
    """3-D convolution of [N, C, D, H, W]; arguments as in Conv2D.

    Examples:
        >>> proa.nn.Conv3D(2, 3, 3)(proa.ones([1, 2, 4, 4, 4])).shape
        [1, 3, 2, 2, 2]
    """

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
        data_format="NCDHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, False, 3, stride, padding, padding_mode, 0, dilation, groups,
            weight_attr, bias_attr, data_format,
        )  # fmt: skip

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv3d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class _ConvTranspose(_ConvNd):
    _function: Callable[..., Tensor]  # of proa.nn.functional

    def forward(self, x, output_size=None):
        return type(self)._function(
            x,
            self.weight,
            self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=self._output_padding if output_size is None else 0,
            groups=self._groups,
            dilation=self._dilation,
            output_size=output_size,
            data_format=self._data_format,
        )


class Conv1DTranspose(_ConvTranspose):
    """Transposed 1-D convolution of [N, C, L]; arguments as in Conv2DTranspose.

    Examples:
        >>> proa.nn.Conv1DTranspose(2, 3, 3)(proa.ones([1, 2, 5])).shape
        [1, 3, 7]
    """

    _function = staticmethod(F.conv1d_transpose)

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, True, 1, stride, padding, "zeros", output_padding, dilation,
            groups, weight_attr, bias_attr, data_format,
        )  # fmt: skip


class Conv2DTranspose(_ConvTranspose):
    """Transposed 2-D convolution; the layer can be called with `output_size`.

    Args:
        in_channels (int): channels of the input.
        out_channels (int): channels of the result.
        kernel_size (int|list[int]): one or [height, width].
        stride, padding, groups, dilation: those of the convolution.
        output_padding (int|list[int]): added to the size of the result on one side.
        weight_attr (ParamAttr, optional): of the weight, [in, out / groups, KH, KW].
        bias_attr (ParamAttr|bool, optional): of the bias, [out]; False for none.
        data_format (str): "NCHW" or "NHWC".

    Examples:
        >>> proa.nn.Conv2DTranspose(3, 8, 2, stride=2)(proa.ones([2, 3, 4, 4])).shape
        [2, 8, 8, 8]
    """

    _function = staticmethod(F.conv2d_transpose)

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, True, 2, stride, padding, "zeros", output_padding, dilation,
            groups, weight_attr, bias_attr, data_format,
        )  # fmt: skip


class Conv3DTranspose(_ConvTranspose):
    """Transposed 3-D convolution of [N, C, D, H, W]; arguments as in Conv2DTranspose.

    Examples:
        >>> proa.nn.Conv3DTranspose(2, 3, 2)(proa.ones([1, 2, 2, 2, 2])).shape
        [1, 3, 3, 3, 3]
    """

    _function = staticmethod(F.conv3d_transpose)

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, True, 3, stride, padding, "zeros", output_padding, dilation,
            groups, weight_attr, bias_attr, data_format,
        )  # fmt: skip


__getattr__ = _borrow(__name__, "proa.nn")
