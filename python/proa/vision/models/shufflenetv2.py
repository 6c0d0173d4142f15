"""ShuffleNetV2 (Ma and others, 2018)."""

from proa import _C, nn
from proa.vision.models.blocks import ConvNormActivation, refuse_pretrained

__all__ = [
    "ShuffleNetV2", "shufflenet_v2_swish", "shufflenet_v2_x0_25", "shufflenet_v2_x0_33", "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0",
]  # fmt: skip


def _shuffled(first, second):
    """The channels of two images by turns: the channels of their concatenation, shuffled in two groups, by one copy.

    Images lie channels-last, so that channels by turns are pairs of what lies innermost.
    """
    last = [_C.ops.transpose(x, [0, 2, 3, 1]) for x in (first, second)]
    return _C.ops.transpose(_C.ops.flatten(_C.ops.stack(last, 4), 3, 4), [0, 3, 1, 2])


def _pointwise(inside, outside, activation):
    return ConvNormActivation(inside, outside, 1, 1, 0, activation_layer=activation)


def _depthwise(channels, stride):
    return ConvNormActivation(channels, channels, 3, stride, 1, channels, activation_layer=None)


class InvertedResidual(nn.Layer):
    """Half of the channels convolved, then shuffled with the other half."""

    def __init__(self, in_channels, out_channels, stride, activation_layer=nn.ReLU):
        super().__init__()
        half = out_channels // 2
        self._conv_pw = _pointwise(in_channels // 2, half, activation_layer)
        self._conv_dw = _depthwise(half, stride)
        self._conv_linear = _pointwise(half, half, activation_layer)

    def forward(self, x):
        kept, changed = _C.ops.split(x, [x.shape[1] // 2, x.shape[1] // 2], 1)
        changed = self._conv_linear(self._conv_dw(self._conv_pw(changed)))
        return _shuffled(kept, changed)


class InvertedResidualDS(nn.Layer):
    """All channels convolved in two ways to half the size, then shuffled."""

    def __init__(self, in_channels, out_channels, stride, activation_layer=nn.ReLU):
        super().__init__()
        half = out_channels // 2
        self._conv_dw_1 = _depthwise(in_channels, stride)
        self._conv_linear_1 = _pointwise(in_channels, half, activation_layer)
        self._conv_pw_2 = _pointwise(in_channels, half, activation_layer)
        self._conv_dw_2 = _depthwise(half, stride)
        self._conv_linear_2 = _pointwise(half, half, activation_layer)

    def forward(self, x):
        first = self._conv_linear_1(self._conv_dw_1(x))
        second = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(x)))
        return _shuffled(first, second)


# Channels of the first convolution, of the three stages, and of the last convolution.
_CHANNELS = {
    0.25: (24, (24, 48, 96), 512),
    0.33: (24, (32, 64, 128), 512),
    0.5: (24, (48, 96, 192), 1024),
    1.0: (24, (116, 232, 464), 1024),
    1.5: (24, (176, 352, 704), 1024),
    2.0: (24, (224, 488, 976), 2048),
}
_ACTIVATIONS = {"relu": nn.ReLU, "swish": nn.Swish, None: None}


class ShuffleNetV2(nn.Layer):
    """ShuffleNetV2.

    Args:
        scale (float): 0.25, 0.33, 0.5, 1.0, 1.5 or 2.0: how many channels.
        act (str): "relu" or "swish".
        num_classes (int): 0 leaves the linear layer out.
        with_pool (bool): average over all pixels.

    Examples:
        >>> proa.vision.models.ShuffleNetV2(scale=0.25, num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """

    def __init__(self, scale=1.0, act="relu", num_classes=1000, with_pool=True):
        super().__init__()
        if scale not in _CHANNELS:
            raise _C.located(
                NotImplementedError(
                    f"ShuffleNetV2: scale must be one of {', '.join(map(str, _CHANNELS))}, not {scale!r}"
                )
            )
        if act not in _ACTIVATIONS:
            raise _C.located(ValueError(f"ShuffleNetV2: act must be 'relu' or 'swish', not {act!r}"))
        self.scale, self.num_classes, self.with_pool = scale, num_classes, with_pool
        activation = _ACTIVATIONS[act]
        channels, stages, last = _CHANNELS[scale]
        self._conv1 = ConvNormActivation(3, channels, 3, 2, 1, activation_layer=activation)
        self._max_pool = nn.MaxPool2D(3, 2, 1)
        self._block_list = []
        for stage, (outside, count) in enumerate(zip(stages, (4, 8, 4)), 2):
            for i in range(1, count + 1):
                kind, stride = (InvertedResidualDS, 2) if i == 1 else (InvertedResidual, 1)
                block = kind(channels, outside, stride, activation)
                self._block_list.append(self.add_sublayer(f"{stage}_{i}", block))
                channels = outside
        self._last_conv = _pointwise(channels, last, activation)
        if with_pool:
            self._pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._fc = nn.Linear(last, num_classes)

    def forward(self, x):
        x = self._max_pool(self._conv1(x))
        for block in self._block_list:
            x = block(x)
        x = self._last_conv(x)
        x = self._pool2d_avg(x) if self.with_pool else x
        return self._fc(x.flatten(1)) if self.num_classes > 0 else x


def _shufflenet(name, pretrained, scale, act="relu", **kwargs):
    refuse_pretrained(name, pretrained)
    return ShuffleNetV2(scale, act, **kwargs)


def shufflenet_v2_x0_25(pretrained=False, **kwargs):
    """ShuffleNetV2 of a quarter of the channels.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x0_25(num_classes=3)(proa.ones([1, 3, 32, 32])).shape
        [1, 3]
    """
    return _shufflenet("shufflenet_v2_x0_25", pretrained, 0.25, **kwargs)


def shufflenet_v2_x0_33(pretrained=False, **kwargs):
    """ShuffleNetV2 of a third of the channels.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x0_33(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_x0_33", pretrained, 0.33, **kwargs)


def shufflenet_v2_x0_5(pretrained=False, **kwargs):
    """ShuffleNetV2 of half of the channels.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x0_5(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_x0_5", pretrained, 0.5, **kwargs)


def shufflenet_v2_x1_0(pretrained=False, **kwargs):
    """ShuffleNetV2.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x1_0(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_x1_0", pretrained, 1.0, **kwargs)


def shufflenet_v2_x1_5(pretrained=False, **kwargs):
    """ShuffleNetV2 of half as many channels more.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x1_5(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_x1_5", pretrained, 1.5, **kwargs)


def shufflenet_v2_x2_0(pretrained=False, **kwargs):
    """ShuffleNetV2 of twice the channels.

    Examples:
        >>> proa.vision.models.shufflenet_v2_x2_0(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_x2_0", pretrained, 2.0, **kwargs)


def shufflenet_v2_swish(pretrained=False, **kwargs):
    """ShuffleNetV2 with swish.

    Examples:
        >>> proa.vision.models.shufflenet_v2_swish(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _shufflenet("shufflenet_v2_swish", pretrained, 1.0, "swish", **kwargs)
