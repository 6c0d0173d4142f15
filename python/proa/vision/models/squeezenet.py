"""SqueezeNet (Iandola and others, 2016)."""

from proa import _C, nn
from proa.nn import functional as F
from proa.vision.models.blocks import refuse_pretrained

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


class MakeFireConv(nn.Layer):
    """A convolution and relu."""

    def __init__(self, input_channels, output_channels, filter_size, padding=0):
        super().__init__()
        self._conv = nn.Conv2D(input_channels, output_channels, filter_size, padding=padding)

    def forward(self, x):
        return F.relu(self._conv(x))


class MakeFire(nn.Layer):
    """Channels narrowed, then widened by convolutions of 1 by 1 and of 3 by 3 side by side."""

    def __init__(self, input_channels, squeeze_channels, expand1x1_channels, expand3x3_channels):
        super().__init__()
        self._conv = MakeFireConv(input_channels, squeeze_channels, 1)
        self._conv_path1 = MakeFireConv(squeeze_channels, expand1x1_channels, 1)
        self._conv_path2 = MakeFireConv(squeeze_channels, expand3x3_channels, 3, 1)

    def forward(self, x):
        x = self._conv(x)
        return _C.ops.concat([self._conv_path1(x), self._conv_path2(x)], 1)


_FIRES = [(96, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128), (256, 48, 192), (384, 48, 192), (384, 64, 256),
          (512, 64, 256)]  # fmt: skip


class SqueezeNet(nn.Layer):
    """SqueezeNet.

    Args:
        version (str): "1.0" or "1.1".
        num_classes (int): 0 leaves the last convolution out.
        with_pool (bool): average over all pixels.

    Examples:
        >>> proa.vision.models.SqueezeNet("1.1", num_classes=4)(proa.zeros([1, 3, 64, 64])).shape
        [1, 4]
    """

    def __init__(self, version, num_classes=1000, with_pool=True):
        super().__init__()
        if version not in ("1.0", "1.1"):
            raise _C.located(ValueError(f"SqueezeNet: version must be '1.0' or '1.1', not {version!r}"))
        self.version = version
        self.num_classes = num_classes
        self.with_pool = with_pool
        first = (3, 96, 7, 2) if version == "1.0" else (3, 64, 3, 2, 1)
        self._conv = nn.Conv2D(*first)
        self._pool = nn.MaxPool2D(3, 2)
        # After which fires there is a pool.
        self._pools = (3, 7) if version == "1.0" else (2, 4)
        for i, (inside, narrow, wide) in enumerate(_FIRES, 1):
            inside = 64 if i == 1 and version == "1.1" else inside
            setattr(self, f"_conv{i}", MakeFire(inside, narrow, wide, wide))
        self._drop = nn.Dropout(0.5, mode="downscale_in_infer")
        self._conv9 = nn.Conv2D(512, num_classes, 1)
        self._avg_pool = nn.AdaptiveAvgPool2D(1)

    def forward(self, x):
        x = self._pool(F.relu(self._conv(x)))
        for i in range(1, 9):
            x = getattr(self, f"_conv{i}")(x)
            x = self._pool(x) if i in self._pools else x
        if self.num_classes > 0:
            x = F.relu(self._conv9(self._drop(x)))
        if self.with_pool:
            x = self._avg_pool(x).squeeze([2, 3])
        return x


def squeezenet1_0(pretrained=False, **kwargs):
    """SqueezeNet 1.0.

    Examples:
        >>> proa.vision.models.squeezenet1_0(num_classes=4)(proa.zeros([1, 3, 64, 64])).shape
        [1, 4]
    """
    refuse_pretrained("squeezenet1_0", pretrained)
    return SqueezeNet("1.0", **kwargs)


def squeezenet1_1(pretrained=False, **kwargs):
    """SqueezeNet 1.1: the same accuracy for fewer products.

    Examples:
        >>> proa.vision.models.squeezenet1_1(num_classes=3)(proa.ones([1, 3, 64, 64])).shape
        [1, 3]
    """
    refuse_pretrained("squeezenet1_1", pretrained)
    return SqueezeNet("1.1", **kwargs)
