"""DenseNet (Huang and others, 2017)."""

import math

from proa import _C, nn
from proa.nn.initializer import Uniform
from proa.vision.models.blocks import refuse_pretrained

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "densenet264"]


class BNACConvLayer(nn.Layer):
    """A normalization, relu, and a convolution."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, pad=0, groups=1, act="relu"):
        super().__init__()
        self._batch_norm = nn.BatchNorm(num_channels, act=act)
        self._conv = nn.Conv2D(num_channels, num_filters, filter_size, stride, pad, groups=groups, bias_attr=False)

    def forward(self, x):
        return self._conv(self._batch_norm(x))


class ConvBNLayer(nn.Layer):
    """A convolution, a normalization, and relu."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, pad=0, groups=1, act="relu"):
        super().__init__()
        self._conv = nn.Conv2D(num_channels, num_filters, filter_size, stride, pad, groups=groups, bias_attr=False)
        self._batch_norm = nn.BatchNorm(num_filters, act=act)

    def forward(self, x):
        return self._batch_norm(self._conv(x))


class DenseLayer(nn.Layer):
    """The channels that come in, and `growth_rate` new ones made of all of them."""

    def __init__(self, num_channels, growth_rate, bn_size, dropout):
        super().__init__()
        self.dropout = dropout
        self.bn_ac_func1 = BNACConvLayer(num_channels, bn_size * growth_rate, 1)
        self.bn_ac_func2 = BNACConvLayer(bn_size * growth_rate, growth_rate, 3, pad=1)
        if dropout:
            self.dropout_func = nn.Dropout(dropout, mode="downscale_in_infer")

    def forward(self, x):
        new = self.bn_ac_func2(self.bn_ac_func1(x))
        new = self.dropout_func(new) if self.dropout else new
        return _C.ops.concat([x, new], 1)


class DenseBlock(nn.Sequential):
    """Dense layers, one after another."""

    def __init__(self, num_channels, num_layers, bn_size, growth_rate, dropout, name=None):
        super().__init__(*(
            (f"{name}_{i + 1}", DenseLayer(num_channels + i * growth_rate, growth_rate, bn_size, dropout))
            for i in range(num_layers)
        ))  # fmt: skip


class TransitionLayer(nn.Layer):
    """Between blocks: fewer channels, and half the size."""

    def __init__(self, num_channels, num_output_features):
        super().__init__()
        self.conv_ac_func = BNACConvLayer(num_channels, num_output_features, 1)
        self.pool2d_avg = nn.AvgPool2D(2, 2)

    def forward(self, x):
        return self.pool2d_avg(self.conv_ac_func(x))


# Channels of the first convolution, channels that a layer adds, layers of the blocks.
_LAYERS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
    264: (64, 32, (6, 12, 64, 48)),
}


class DenseNet(nn.Layer):
    """DenseNet, for [N, 3, H, W] of at least 32 by 32 pixels.

    Args:
        layers (int): 121, 161, 169, 201 or 264.
        bn_size (int): how many times `growth` channels there are inside of a layer.
        dropout (float): part of the new channels that is dropped.
        num_classes (int): 0 leaves the linear layer out.
        with_pool (bool): average over all pixels.

    Raises:
        ValueError: another number of layers.

    Examples:
        >>> proa.vision.models.DenseNet(num_classes=0)(proa.ones([1, 3, 32, 32])).shape
        [1, 1024, 1, 1]
    """

    def __init__(self, layers=121, bn_size=4, dropout=0.0, num_classes=1000, with_pool=True):
        super().__init__()
        if layers not in _LAYERS:
            raise _C.located(ValueError(f"DenseNet: layers must be one of {sorted(_LAYERS)}, not {layers!r}"))
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels, growth, self.block_config = _LAYERS[layers]
        self.conv1_func = ConvBNLayer(3, channels, 7, 2, 3)
        self.pool2d_max = nn.MaxPool2D(3, 2, 1)
        self._stages = []
        for i, count in enumerate(self.block_config, 2):
            block = DenseBlock(channels, count, bn_size, growth, dropout, f"conv{i}")
            self._stages.append(self.add_sublayer(f"db_conv_{i}", block))
            channels += count * growth
            if i != len(self.block_config) + 1:
                self._stages.append(self.add_sublayer(f"tr_conv{i}_blk", TransitionLayer(channels, channels // 2)))
                channels //= 2
        self.batch_norm = nn.BatchNorm(channels, act="relu")
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            limit = 1.0 / math.sqrt(channels)
            self.out = nn.Linear(channels, num_classes, Uniform(-limit, limit))

    def forward(self, x):
        x = self.pool2d_max(self.conv1_func(x))
        for stage in self._stages:
            x = stage(x)
        x = self.batch_norm(x)
        x = self.pool2d_avg(x) if self.with_pool else x
        return self.out(x.flatten(1)) if self.num_classes > 0 else x


def _densenet(layers, pretrained, **kwargs):
    refuse_pretrained(f"densenet{layers}", pretrained)
    return DenseNet(layers, **kwargs)


def densenet121(pretrained=False, **kwargs):
    """DenseNet of 121 layers; keyword arguments as in DenseNet.

    Examples:
        >>> proa.vision.models.densenet121(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _densenet(121, pretrained, **kwargs)


def densenet161(pretrained=False, **kwargs):
    """DenseNet of 161 layers; keyword arguments as in DenseNet.

    Examples:
        >>> net = proa.vision.models.densenet161(num_classes=0)  # the last channels, pooled
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 2208, 1, 1]
    """
    return _densenet(161, pretrained, **kwargs)


def densenet169(pretrained=False, **kwargs):
    """DenseNet of 169 layers; keyword arguments as in DenseNet.

    Examples:
        >>> net = proa.vision.models.densenet169(num_classes=0)  # the last channels, pooled
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 1664, 1, 1]
    """
    return _densenet(169, pretrained, **kwargs)


def densenet201(pretrained=False, **kwargs):
    """DenseNet of 201 layers; keyword arguments as in DenseNet.

    Examples:
        >>> net = proa.vision.models.densenet201(num_classes=0)  # the last channels, pooled
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 1920, 1, 1]
    """
    return _densenet(201, pretrained, **kwargs)


def densenet264(pretrained=False, **kwargs):
    """DenseNet of 264 layers; keyword arguments as in DenseNet.

    Examples:
        >>> net = proa.vision.models.densenet264(num_classes=0)  # the last channels, pooled
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 2688, 1, 1]
    """
    return _densenet(264, pretrained, **kwargs)
