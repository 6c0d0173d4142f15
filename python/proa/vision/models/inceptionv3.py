"""Inception v3 (Szegedy and others, 2016)."""

import math

from proa import _C, nn
from proa.nn.initializer import Uniform
from proa.vision.models.blocks import ConvNormActivation, refuse_pretrained

__all__ = ["InceptionV3", "inception_v3"]


def _conv(inside, outside, kernel, stride=1):
    """Sizes are kept by a stride of 1."""
    height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = ((height - 1) // 2, (width - 1) // 2) if stride == 1 else 0
    return ConvNormActivation(inside, outside, kernel, stride, padding)


class InceptionStem(nn.Layer):
    """The first convolutions: an eighth of the size."""

    def __init__(self):
        super().__init__()
        self.conv_1a_3x3 = ConvNormActivation(3, 32, 3, 2, 0)
        self.conv_2a_3x3 = ConvNormActivation(32, 32, 3, 1, 0)
        self.conv_2b_3x3 = ConvNormActivation(32, 64, 3, 1, 1)
        self.max_pool = nn.MaxPool2D(3, 2)
        self.conv_3b_1x1 = ConvNormActivation(64, 80, 1, 1, 0)
        self.conv_4a_3x3 = ConvNormActivation(80, 192, 3, 1, 0)

    def forward(self, x):
        x = self.max_pool(self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x))))
        return self.max_pool(self.conv_4a_3x3(self.conv_3b_1x1(x)))


class _Branches(nn.Layer):
    """Chains of convolutions side by side, and a pool; their results are put together.

    Args:
        channels (int): that come in.
        chains (list): of each chain, its convolutions: (name, channels, kernel, and a stride that is not 1). A list of
            convolutions in place of the last: all of them, side by side.
        pooled (int, optional): channels of a convolution after the pool, which then averages and keeps sizes; unless
            given the pool takes the most of 3 by 3, and halves sizes.
    """

    def __init__(self, channels, chains, pooled=None):
        super().__init__()
        self._chains = []
        for chain in chains:
            inside, names = channels, []
            for step in chain:
                side = step if isinstance(step, list) else [step]
                for name, *facts in side:
                    setattr(self, name, _conv(inside, *facts))
                names.append([name for name, *_ in side])
                inside = side[0][1]
            self._chains.append(names)
        if pooled is None:
            self.branch_pool = nn.MaxPool2D(3, 2)
        else:
            self.branch_pool = nn.AvgPool2D(3, 1, 1, exclusive=False)
            self.branch_pool_conv = _conv(channels, pooled, 1)
        self._pooled = pooled is not None

    def forward(self, x):
        results = []
        for chain in self._chains:
            y = x
            for (name,) in chain[:-1]:
                y = getattr(self, name)(y)
            results += [getattr(self, name)(y) for name in chain[-1]]
        pooled = self.branch_pool(x)
        results.append(self.branch_pool_conv(pooled) if self._pooled else pooled)
        return _C.ops.concat(results, 1)


class InceptionA(_Branches):
    """Of 35 by 35 pixels: 1 by 1, 5 by 5, and two of 3 by 3."""

    def __init__(self, num_channels, pool_features):
        chains = [
            [("branch1x1", 64, 1)],
            [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5)],
            [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3)],
        ]
        super().__init__(num_channels, chains, pool_features)


class InceptionB(_Branches):
    """From 35 by 35 pixels to 17 by 17."""

    def __init__(self, num_channels):
        chains = [
            [("branch3x3", 384, 3, 2)],
            [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3, 2)],
        ]
        super().__init__(num_channels, chains)


class InceptionC(_Branches):
    """Of 17 by 17 pixels: rows and columns of 7."""

    def __init__(self, num_channels, channels_7x7):
        c, row, column = channels_7x7, (1, 7), (7, 1)
        chains = [
            [("branch1x1", 192, 1)],
            [("branch7x7_1", c, 1), ("branch7x7_2", c, row), ("branch7x7_3", 192, column)],
            [("branch7x7dbl_1", c, 1), ("branch7x7dbl_2", c, column), ("branch7x7dbl_3", c, row),
             ("branch7x7dbl_4", c, column), ("branch7x7dbl_5", 192, row)],
        ]  # fmt: skip
        super().__init__(num_channels, chains, 192)


class InceptionD(_Branches):
    """From 17 by 17 pixels to 8 by 8."""

    def __init__(self, num_channels):
        chains = [
            [("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)],
            [("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, (1, 7)), ("branch7x7x3_3", 192, (7, 1)),
             ("branch7x7x3_4", 192, 3, 2)],
        ]  # fmt: skip
        super().__init__(num_channels, chains)


class InceptionE(_Branches):
    """Of 8 by 8 pixels: rows and columns of 3 side by side."""

    def __init__(self, num_channels):
        row, column = (1, 3), (3, 1)
        chains = [
            [("branch1x1", 320, 1)],
            [("branch3x3_1", 384, 1), [("branch3x3_2a", 384, row), ("branch3x3_2b", 384, column)]],
            [("branch3x3dbl_1", 448, 1), ("branch3x3dbl_2", 384, 3),
             [("branch3x3dbl_3a", 384, row), ("branch3x3dbl_3b", 384, column)]],
        ]  # fmt: skip
        super().__init__(num_channels, chains, 192)


class InceptionV3(nn.Layer):
    """Inception v3, for [N, 3, 299, 299] (at least 75 pixels a side).

    Args:
        num_classes (int): 0 leaves the linear layer out.
        with_pool (bool): average over all pixels.

    Examples:
        >>> proa.vision.models.InceptionV3(num_classes=0)(proa.ones([1, 3, 75, 75])).shape
        [1, 2048, 1, 1]
    """

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.inception_stem = InceptionStem()
        blocks = [InceptionA(192, 32), InceptionA(256, 64), InceptionA(288, 64), InceptionB(288)]
        blocks += [InceptionC(768, c) for c in (128, 160, 160, 192)]
        blocks += [InceptionD(768), InceptionE(1280), InceptionE(2048)]
        self.inception_block_list = nn.LayerList(blocks)
        if with_pool:
            self.avg_pool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            limit = 1.0 / math.sqrt(2048)
            self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
            self.fc = nn.Linear(2048, num_classes, Uniform(-limit, limit))

    def forward(self, x):
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        x = self.avg_pool(x) if self.with_pool else x
        return self.fc(self.dropout(x.flatten(1))) if self.num_classes > 0 else x


def inception_v3(pretrained=False, **kwargs):
    """Inception v3; keyword arguments as in InceptionV3.

    Examples:
        >>> net = proa.vision.models.inception_v3(num_classes=0, with_pool=False)
        >>> net(proa.zeros([1, 3, 107, 107])).shape
        [1, 2048, 2, 2]
    """
    refuse_pretrained("inception_v3", pretrained)
    return InceptionV3(**kwargs)
