"""MobileNetV3 (Howard and others, 2019)."""

import functools

from proa import nn
from proa.vision.models.blocks import ConvNormActivation, channels_of, refuse_pretrained

__all__ = ["MobileNetV3Large", "MobileNetV3Small", "mobilenet_v3_large", "mobilenet_v3_small"]


class SqueezeExcitation(nn.Layer):
    """Channels times factors that come from their means."""

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Hardsigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc1 = nn.Conv2D(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2D(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, x):
        factors = self.fc2(self.activation(self.fc1(self.avgpool(x))))
        return x * self.scale_activation(factors)


class InvertedResidual(nn.Layer):
    """Channels widened, convolved each, weighed, and narrowed again; with a shortcut where nothing changes in size."""

    def __init__(self, in_channels, expanded, out_channels, kernel, stride, use_se, activation, norm_layer):
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.use_se = use_se
        self.expand = in_channels != expanded
        kind = nn.Hardswish if activation == "hardswish" else nn.ReLU
        if self.expand:
            self.expand_conv = ConvNormActivation(in_channels, expanded, 1, 1, 0, 1, norm_layer, kind)
        self.bottleneck_conv = ConvNormActivation(expanded, expanded, kernel, stride, (kernel - 1) // 2, expanded,
                                                  norm_layer, kind)  # fmt: skip
        if use_se:
            self.mid_se = SqueezeExcitation(expanded, channels_of(expanded // 4))
        self.linear_conv = ConvNormActivation(expanded, out_channels, 1, 1, 0, 1, norm_layer, None)

    def forward(self, x):
        y = self.expand_conv(x) if self.expand else x
        y = self.bottleneck_conv(y)
        y = self.mid_se(y) if self.use_se else y
        y = self.linear_conv(y)
        return x + y if self.use_res_connect else y


# Channels in, kernel, widened, channels out, weighed, activation, stride.
_SMALL = [
    (16, 3, 16, 16, True, "relu", 2), (16, 3, 72, 24, False, "relu", 2), (24, 3, 88, 24, False, "relu", 1),
    (24, 5, 96, 40, True, "hardswish", 2), (40, 5, 240, 40, True, "hardswish", 1), (40, 5, 240, 40, True, "hardswish", 1),
    (40, 5, 120, 48, True, "hardswish", 1), (48, 5, 144, 48, True, "hardswish", 1), (48, 5, 288, 96, True, "hardswish", 2),
    (96, 5, 576, 96, True, "hardswish", 1), (96, 5, 576, 96, True, "hardswish", 1),
]  # fmt: skip
_LARGE = [
    (16, 3, 16, 16, False, "relu", 1), (16, 3, 64, 24, False, "relu", 2), (24, 3, 72, 24, False, "relu", 1),
    (24, 5, 72, 40, True, "relu", 2), (40, 5, 120, 40, True, "relu", 1), (40, 5, 120, 40, True, "relu", 1),
    (40, 3, 240, 80, False, "hardswish", 2), (80, 3, 200, 80, False, "hardswish", 1), (80, 3, 184, 80, False, "hardswish", 1),
    (80, 3, 184, 80, False, "hardswish", 1), (80, 3, 480, 112, True, "hardswish", 1), (112, 3, 672, 112, True, "hardswish", 1),
    (112, 5, 672, 160, True, "hardswish", 2), (160, 5, 960, 160, True, "hardswish", 1), (160, 5, 960, 160, True, "hardswish", 1),
]  # fmt: skip


class MobileNetV3(nn.Layer):
    """Base of the two."""

    def __init__(self, config, last_channel, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        norm = functools.partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
        first = channels_of(config[0][0] * scale)
        last = channels_of(config[-1][3] * scale)
        self.lastconv_output_channels = last * 6
        self.conv = ConvNormActivation(3, first, 3, 2, 1, 1, norm, nn.Hardswish)
        self.blocks = nn.Sequential(
            *(
                InvertedResidual(channels_of(inside * scale), channels_of(wide * scale), channels_of(outside * scale),
                                 kernel, stride, weighed, activation, norm)
                for inside, kernel, wide, outside, weighed, activation, stride in config
            )
        )  # fmt: skip
        self.lastconv = ConvNormActivation(last, last * 6, 1, 1, 0, 1, norm, nn.Hardswish)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(last * 6, last_channel), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(last_channel, num_classes)
            )

    def forward(self, x):
        x = self.lastconv(self.blocks(self.conv(x)))
        x = self.avgpool(x) if self.with_pool else x
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


class MobileNetV3Small(MobileNetV3):
    """The small one; see MobileNetV2 for the arguments.

    Examples:
        >>> proa.vision.models.MobileNetV3Small(scale=0.5, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_SMALL, channels_of(1024 * scale), scale, num_classes, with_pool)


class MobileNetV3Large(MobileNetV3):
    """The large one; see MobileNetV2 for the arguments.

    Examples:
        >>> proa.vision.models.MobileNetV3Large(scale=0.5, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_LARGE, channels_of(1280 * scale), scale, num_classes, with_pool)


def mobilenet_v3_small(pretrained=False, scale=1.0, **kwargs):
    """MobileNetV3Small with its channels times `scale`.

    Examples:
        >>> proa.vision.models.mobilenet_v3_small(scale=0.5, num_classes=3)(proa.ones([1, 3, 32, 32])).shape
        [1, 3]
    """
    refuse_pretrained("mobilenet_v3_small", pretrained)
    return MobileNetV3Small(scale=scale, **kwargs)


def mobilenet_v3_large(pretrained=False, scale=1.0, **kwargs):
    """MobileNetV3Large with its channels times `scale`.

    Examples:
        >>> proa.vision.models.mobilenet_v3_large(scale=0.5, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    refuse_pretrained("mobilenet_v3_large", pretrained)
    return MobileNetV3Large(scale=scale, **kwargs)
