"""Layers that move elements between the channels and the places of images (functional/patches.py)."""

from proa.nn import functional as F
from proa.nn.layer.layers import Layer


class PixelShuffle(Layer):
    """[N, C * r * r, H, W] to [N, C, H * r, W * r].

    Examples:
        >>> proa.nn.PixelShuffle(2)(proa.ones([1, 4, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(self, upscale_factor, data_format="NCHW", name=None):
        super().__init__()
        self._upscale_factor, self._data_format, self._name = upscale_factor, data_format, name

    def forward(self, x):
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)

    def extra_repr(self):
        text = f"upscale_factor={self._upscale_factor}"
        return text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}"


class PixelUnshuffle(Layer):
    """[N, C, H * r, W * r] to [N, C * r * r, H, W].

    Examples:
        >>> proa.nn.PixelUnshuffle(2)(proa.ones([1, 1, 4, 4])).shape
        [1, 4, 2, 2]
    """

    def __init__(self, downscale_factor, data_format="NCHW", name=None):
        super().__init__()
        self._downscale_factor, self._data_format, self._name = downscale_factor, data_format, name

    def forward(self, x):
        return F.pixel_unshuffle(x, self._downscale_factor, self._data_format)

    def extra_repr(self):
        text = f"downscale_factor={self._downscale_factor}"
        return text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}"


class ChannelShuffle(Layer):
    """Channels of several groups by turns; arguments as in functional.channel_shuffle.

    Examples:
        >>> proa.nn.ChannelShuffle(2)(proa.ones([1, 4, 2, 2])).shape
        [1, 4, 2, 2]
    """

    def __init__(self, groups, data_format="NCHW", name=None):
        super().__init__()
        self._groups, self._data_format, self._name = groups, data_format, name

    def forward(self, x):
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self):
        text = f"groups={self._groups}"
        return text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}"
