"""MobileNet (Howard and others, 2017)."""

from proa import nn
from proa.vision.models.blocks import ConvNormActivation, refuse_pretrained

__all__ = ["DepthwiseSeparable", "MobileNetV1", "mobilenet_v1"]


class DepthwiseSeparable(nn.Layer):
    """A convolution of each channel, and one of 1 by 1."""

    def __init__(self, in_channels, out_channels1, out_channels2, num_groups, stride, scale):
        super().__init__()
        inner, outer = int(out_channels1 * scale), int(out_channels2 * scale)
        self._depthwise_conv = ConvNormActivation(in_channels, inner, 3, stride, 1, int(num_groups * scale))
        self._pointwise_conv = ConvNormActivation(inner, outer, 1, 1, 0)

    def forward(self, x):
        return self._pointwise_conv(self._depthwise_conv(x))


# Name, channels in, channels out, stride.
_BLOCKS = [
    ("2_1", 32, 64, 1), ("2_2", 64, 128, 2), ("3_1", 128, 128, 1), ("3_2", 128, 256, 2), ("4_1", 256, 256, 1),
    ("4_2", 256, 512, 2), ("5_1", 512, 512, 1), ("5_2", 512, 512, 1), ("5_3", 512, 512, 1), ("5_4", 512, 512, 1),
    ("5_5", 512, 512, 1), ("5_6", 512, 1024, 2), ("6", 1024, 1024, 1),
]  # fmt: skip


class MobileNetV1(nn.Layer):
    """MobileNet.

    Args:
        scale (float): factor on all channels.
        num_classes (int): 0 leaves the linear layer out.
        with_pool (bool): average over all pixels.

    Examples:
        >>> proa.vision.models.MobileNetV1(scale=0.25, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.conv1 = ConvNormActivation(3, int(32 * scale), 3, 2, 1)
        self.dwsl = []
        for name, inside, outside, stride in _BLOCKS:
            block = DepthwiseSeparable(int(inside * scale), inside, outside, inside, stride, scale)
            self.dwsl.append(self.add_sublayer(f"conv{name}", block))
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(int(1024 * scale), num_classes)

    def forward(self, x):
        x = self.conv1(x)
        for block in self.dwsl:
            x = block(x)
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


def mobilenet_v1(pretrained=False, scale=1.0, **kwargs):
    """MobileNet with its channels times `scale`.

    Examples:
        >>> proa.vision.models.mobilenet_v1(scale=0.25, num_classes=3)(proa.ones([1, 3, 32, 32])).shape
        [1, 3]
    """
    refuse_pretrained("mobilenet_v1", pretrained)
    return MobileNetV1(scale=scale, **kwargs)
