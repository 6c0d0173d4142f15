"""Pooling layers."""

from collections.abc import Callable
from typing import Any

from proa._C import Tensor
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.layer.layers import Layer


class _Pool(Layer):
    """A pool with these settings; `_function` computes it."""

    _function: Callable[..., Tensor]  # of proa.nn.functional
    name: Any

    _kept_as: dict[str, str] = {}  # setting -> its attribute, where that has another name
    _not_shown: tuple[str, ...] = ("data_format",)

    def __init__(self, name=None, **settings):
        super().__init__()
        self.__dict__["_setting_names"] = tuple(settings)
        for key, value in {**settings, "name": name}.items():
            self.__dict__[self._kept_as.get(key, key)] = value

    def _settings(self):
        """The settings as the attributes have them now."""
        return {key: self.__dict__[self._kept_as.get(key, key)] for key in self._setting_names}

    def forward(self, x):
        return type(self)._function(x, **self._settings())

    def extra_repr(self):
        return ", ".join(f"{key}={value}" for key, value in self._settings().items() if key not in self._not_shown)


_REFINEMENTS = ("data_format", "return_mask", "ceil_mode", "exclusive", "divisor_override")


class _MaxPool(_Pool):
    _not_shown = _REFINEMENTS
    _kept_as = {"kernel_size": "ksize"}
    ksize: Any
    stride: Any
    padding: Any
    ceil_mode: Any
    return_mask: Any
    data_format: Any

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        return_mask=False,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            return_mask=return_mask,
            data_format=data_format,
            name=name,
        )


class MaxPool2D(_MaxPool):
    """The maximum of each window of [N, C, H, W]; arguments as in functional.max_pool2d.

    Examples:
        >>> proa.nn.MaxPool2D(2)(proa.ones([1, 3, 8, 8])).shape
        [1, 3, 4, 4]
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3D(_MaxPool):
    """The maximum of each window of [N, C, D, H, W]; arguments as in functional.max_pool2d.

    Examples:
        >>> proa.nn.MaxPool3D(2)(proa.ones([1, 3, 4, 4, 4])).shape
        [1, 3, 2, 2, 2]
    """

    _function = staticmethod(F.max_pool3d)

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        return_mask=False,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, return_mask, data_format, name)


class MaxPool1D(_Pool):
    """The maximum of each window of [N, C, L]; arguments as in functional.max_pool2d.

    Examples:
        >>> proa.nn.MaxPool1D(2)(proa.ones([1, 3, 4])).shape
        [1, 3, 2]
    """

    _not_shown = _REFINEMENTS
    _function = staticmethod(F.max_pool1d)

    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: Any
    return_mask: Any

    def __init__(self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            return_mask=return_mask,
            ceil_mode=ceil_mode,
            name=name,
        )


class AvgPool1D(_Pool):
    """The mean of each window of [N, C, L]; arguments as in functional.avg_pool2d.

    Examples:
        >>> proa.nn.AvgPool1D(2)(proa.ones([1, 3, 4])).shape
        [1, 3, 2]
    """

    _not_shown = _REFINEMENTS
    _function = staticmethod(F.avg_pool1d)

    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: Any
    exclusive: Any

    def __init__(self, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
        super().__init__(
            kernel_size=kernel_size, stride=stride, padding=padding, exclusive=exclusive, ceil_mode=ceil_mode, name=name
        )


class AvgPool2D(_Pool):
    """The mean of each window of [N, C, H, W]; arguments as in functional.avg_pool2d.

    Examples:
        >>> proa.nn.AvgPool2D(2)(proa.ones([1, 3, 4, 4])).shape
        [1, 3, 2, 2]
    """

    _not_shown = _REFINEMENTS
    _function = staticmethod(F.avg_pool2d)
    _kept_as = {"kernel_size": "ksize", "divisor_override": "divisor"}
    ksize: Any
    stride: Any
    padding: Any
    ceil_mode: Any
    exclusive: Any
    divisor: Any
    data_format: Any

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
            name=name,
        )


class AvgPool3D(AvgPool2D):
    """The mean of each window of [N, C, D, H, W]; arguments as in functional.avg_pool2d.

    Examples:
        >>> proa.nn.AvgPool3D(2)(proa.ones([1, 3, 4, 4, 4])).shape
        [1, 3, 2, 2, 2]
    """

    _function = staticmethod(F.avg_pool3d)

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format, name)


class AdaptiveAvgPool1D(_Pool):
    """Means of windows that divide [N, C, L] into output_size parts.

    Examples:
        >>> proa.nn.AdaptiveAvgPool1D(2)(proa.ones([1, 3, 5])).shape
        [1, 3, 2]
    """

    _function = staticmethod(F.adaptive_avg_pool1d)

    output_size: Any

    def __init__(self, output_size, name=None):
        super().__init__(name, output_size=output_size)


class AdaptiveAvgPool2D(_Pool):
    """Means of windows that divide [N, C, H, W] into output_size parts; None keeps a size.

    Examples:
        >>> proa.nn.AdaptiveAvgPool2D(1)(proa.ones([1, 3, 5, 5])).shape
        [1, 3, 1, 1]
    """

    _function = staticmethod(F.adaptive_avg_pool2d)
    _kept_as = {"output_size": "_output_size", "data_format": "_data_format", "name": "_name"}
    _output_size: Any
    _data_format: Any

    def __init__(self, output_size, data_format="NCHW", name=None):
        super().__init__(name, output_size=output_size, data_format=data_format)


class AdaptiveAvgPool3D(_Pool):
    """Means of windows that divide [N, C, D, H, W] into output_size parts; None keeps a size.

    Examples:
        >>> proa.nn.AdaptiveAvgPool3D(1)(proa.ones([1, 3, 4, 4, 4])).shape
        [1, 3, 1, 1, 1]
    """

    _function = staticmethod(F.adaptive_avg_pool3d)
    _kept_as = {"output_size": "_output_size", "data_format": "_data_format", "name": "_name"}
    _output_size: Any
    _data_format: Any

    def __init__(self, output_size, data_format="NCDHW", name=None):
        super().__init__(name, output_size=output_size, data_format=data_format)


class AdaptiveMaxPool1D(_Pool):
    """Maxima of windows that divide [N, C, L] into output_size parts.

    Examples:
        >>> proa.nn.AdaptiveMaxPool1D(2)(proa.ones([1, 3, 5])).shape
        [1, 3, 2]
    """

    _function = staticmethod(F.adaptive_max_pool1d)

    output_size: Any
    return_mask: Any

    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__(name, output_size=output_size, return_mask=return_mask)


class AdaptiveMaxPool2D(AdaptiveMaxPool1D):
    """Maxima of windows that divide [N, C, H, W] into output_size parts; None keeps a size.

    Examples:
        >>> proa.nn.AdaptiveMaxPool2D(2)(proa.ones([1, 3, 5, 5])).shape
        [1, 3, 2, 2]
    """

    _function = staticmethod(F.adaptive_max_pool2d)
    _kept_as = {"output_size": "_output_size", "return_mask": "_return_mask", "name": "_name"}
    _output_size: Any
    _return_mask: Any


class AdaptiveMaxPool3D(AdaptiveMaxPool1D):
    """Maxima of windows that divide [N, C, D, H, W] into output_size parts; None keeps a size.

    Examples:
        >>> proa.nn.AdaptiveMaxPool3D(2)(proa.ones([1, 3, 4, 4, 4])).shape
        [1, 3, 2, 2, 2]
    """

    _function = staticmethod(F.adaptive_max_pool3d)
    _kept_as = {"output_size": "_output_size", "return_mask": "_return_mask", "name": "_name"}
    _output_size: Any
    _return_mask: Any


class MaxUnPool1D(_Pool):
    """Puts maxima back where MaxPool1D(return_mask=True) found them; call it with (x, indices).

    Examples:
        >>> y, places = proa.nn.MaxPool1D(2, return_mask=True)(proa.rand([1, 3, 4]))
        >>> proa.nn.MaxUnPool1D(2)(y, places).shape
        [1, 3, 4]
    """

    _function = staticmethod(F.max_unpool1d)
    _kept_as = {"kernel_size": "ksize"}
    ksize: Any
    stride: Any
    padding: Any
    data_format: Any
    output_size: Any

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None, name=None):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            data_format=data_format,
            output_size=output_size,
            name=name,
        )

    def forward(self, x, indices):
        return type(self)._function(x, indices, **self._settings())


class MaxUnPool2D(MaxUnPool1D):
    """Puts maxima back where MaxPool2D(return_mask=True) found them; call it with (x, indices).

    Examples:
        >>> y, places = proa.nn.MaxPool2D(2, return_mask=True)(proa.rand([1, 3, 4, 4]))
        >>> proa.nn.MaxUnPool2D(2)(y, places).shape
        [1, 3, 4, 4]
    """

    _function = staticmethod(F.max_unpool2d)

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None, name=None):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class MaxUnPool3D(MaxUnPool1D):
    """Puts maxima back where MaxPool3D(return_mask=True) found them; call it with (x, indices).

    Examples:
        >>> y, places = proa.nn.MaxPool3D(2, return_mask=True)(proa.rand([1, 3, 4, 4, 4]))
        >>> proa.nn.MaxUnPool3D(2)(y, places).shape
        [1, 3, 4, 4, 4]
    """

    _function = staticmethod(F.max_unpool3d)

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None, name=None):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


__getattr__ = _borrow(__name__, "proa.nn")
