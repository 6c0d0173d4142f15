"""MobileNetV2 (Sandler and others, 2018)."""

from proa import nn
from proa.vision.models.blocks import ConvNormActivation, channels_of, refuse_pretrained

__all__ = ["InvertedResidual", "MobileNetV2", "mobilenet_v2"]


class InvertedResidual(nn.Layer):
    """Channels widened, convolved each, and narrowed again; with a shortcut where nothing changes in size."""

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=nn.BatchNorm2D):
        super().__init__()
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        hidden = round(inp * expand_ratio)
        layers = []
        if expand_ratio != 1:
            layers.append(ConvNormActivation(inp, hidden, 1, norm_layer=norm_layer, activation_layer=nn.ReLU6))
        layers += [
            ConvNormActivation(
                hidden, hidden, stride=stride, groups=hidden, norm_layer=norm_layer, activation_layer=nn.ReLU6
            ),
            nn.Conv2D(hidden, oup, 1, bias_attr=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# Widening, channels, blocks, stride of the first.
_BLOCKS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class MobileNetV2(nn.Layer):
    """MobileNetV2.

    Args:
        scale (float): factor on all channels.
        num_classes (int): 0 leaves the linear layer out.
        with_pool (bool): average over all pixels.

    Examples:
        >>> proa.vision.models.MobileNetV2(scale=0.25, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels = channels_of(32 * scale)
        self.last_channel = channels_of(1280 * max(1.0, scale))
        features = [ConvNormActivation(3, channels, stride=2, activation_layer=nn.ReLU6)]
        for expand, base, count, stride in _BLOCKS:
            outside = channels_of(base * scale)
            for i in range(count):
                features.append(InvertedResidual(channels, outside, stride if i == 0 else 1, expand))
                channels = outside
        features.append(ConvNormActivation(channels, self.last_channel, 1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*features)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(self.last_channel, num_classes))

    def forward(self, x):
        x = self.features(x)
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def mobilenet_v2(pretrained=False, scale=1.0, **kwargs):
    """MobileNetV2 with its channels times `scale`.

    Examples:
        >>> proa.vision.models.mobilenet_v2(scale=0.25, num_classes=3)(proa.ones([1, 3, 32, 32])).shape
        [1, 3]
    """
    refuse_pretrained("mobilenet_v2", pretrained)
    return MobileNetV2(scale=scale, **kwargs)
