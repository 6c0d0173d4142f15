"""Residual networks (He et al., 2016), with wider and grouped forms."""

from proa import _C, nn
from proa.vision.models.blocks import refuse_pretrained


class BasicBlock(nn.Layer):
    """Two 3x3 convolutions with a shortcut.

    Examples:
        >>> proa.vision.models.BasicBlock(8, 8)(proa.zeros([2, 8, 6, 5])).shape
        [2, 8, 6, 5]
    """

    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2D
        if dilation > 1:
            raise _C.located(NotImplementedError("BasicBlock: dilation must be 1"))
        self.conv1 = nn.Conv2D(inplanes, planes, 3, padding=1, stride=stride, bias_attr=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = norm_layer(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + identity)


class BottleneckBlock(nn.Layer):
    """A 3x3 convolution between two 1x1 ones, with a shortcut.

    Examples:
        >>> proa.vision.models.BottleneckBlock(16, 4)(proa.zeros([2, 16, 6, 5])).shape
        [2, 16, 6, 5]
    """

    expansion = 4

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2D
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = norm_layer(width)
        self.conv2 = nn.Conv2D(
            width, width, 3, padding=dilation, stride=stride, groups=groups, dilation=dilation, bias_attr=False
        )
        self.bn2 = norm_layer(width)
        self.conv3 = nn.Conv2D(width, planes * self.expansion, 1, bias_attr=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU()
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + identity)


_LAYERS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
}


class ResNet(nn.Layer):
    """A residual network for [N, 3, H, W].

    Args:
        block (type): BasicBlock or BottleneckBlock.
        depth (int): 18, 34, 50, 101 or 152.
        width (int): channels of a group's inner convolution in the first stage.
        num_classes (int): size of the result; 0 or less leaves out the linear layer.
        with_pool (bool): pool to 1x1 before it.
        groups (int): of the inner convolutions.
        Block (type): another name of `block`, as the reference's documentation has it.

    Shape:
        [N, 3, H, W] to [N, num_classes]; without classes [N, C, 1, 1], and without pooling [N, C, H / 32, W / 32].

    Examples:
        >>> net = proa.vision.models.ResNet(proa.vision.models.BasicBlock, depth=18, num_classes=0, with_pool=False)
        >>> net(proa.zeros([1, 3, 64, 32])).shape
        [1, 512, 2, 1]
    """

    def __init__(self, block=None, depth=50, width=64, num_classes=1000, with_pool=True, groups=1, Block=None):
        super().__init__()
        if (block is None) == (Block is None):
            raise _C.located(TypeError("ResNet: one of block and Block must be given: BasicBlock or BottleneckBlock"))
        block = Block if block is None else block
        if depth not in _LAYERS:
            raise _C.located(ValueError(f"ResNet: depth must be one of {sorted(_LAYERS)}, not {depth}"))
        layers = _LAYERS[depth]
        self.groups, self.base_width = groups, width
        self.num_classes, self.with_pool = num_classes, with_pool
        self.inplanes = 64
        self.conv1 = nn.Conv2D(3, 64, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0], 1)
        self.layer2 = self._make_layer(block, 128, layers[1], 2)
        self.layer3 = self._make_layer(block, 256, layers[2], 2)
        self.layer4 = self._make_layer(block, 512, layers[3], 2)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        if dilate:
            raise _C.located(NotImplementedError("ResNet: dilated layers are not there; use dilate=False"))
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2D(self.inplanes, planes * block.expansion, 1, stride=stride, bias_attr=False),
                nn.BatchNorm2D(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width)]
        self.inplanes = planes * block.expansion
        layers += [
            block(self.inplanes, planes, groups=self.groups, base_width=self.base_width) for _ in range(1, blocks)
        ]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        if self.with_pool:
            x = self.avgpool(x)
        if self.num_classes > 0:
            x = self.fc(x.flatten(1))
        return x


def _resnet(name, block, depth, pretrained, **kwargs):
    refuse_pretrained(name, pretrained)
    return ResNet(block, depth, **kwargs)


def resnet18(pretrained=False, **kwargs):
    """ResNet of 18 layers; keyword arguments as in ResNet.

    Examples:
        >>> proa.vision.models.resnet18(num_classes=3)(proa.ones([1, 3, 32, 32])).shape
        [1, 3]
    """
    return _resnet("resnet18", BasicBlock, 18, pretrained, **kwargs)


def resnet34(pretrained=False, **kwargs):
    """ResNet of 34 layers; keyword arguments as in ResNet.

    Examples:
        >>> proa.vision.models.resnet34(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnet34", BasicBlock, 34, pretrained, **kwargs)


def resnet50(pretrained=False, **kwargs):
    """ResNet of 50 layers; keyword arguments as in ResNet.

    Examples:
        >>> proa.vision.models.resnet50(num_classes=4)(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnet50", BottleneckBlock, 50, pretrained, **kwargs)


def resnet101(pretrained=False, **kwargs):
    """ResNet of 101 layers; keyword arguments as in ResNet.

    Examples:
        >>> net = proa.vision.models.resnet101(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnet101", BottleneckBlock, 101, pretrained, **kwargs)


def resnet152(pretrained=False, **kwargs):
    """ResNet of 152 layers; keyword arguments as in ResNet.

    Examples:
        >>> net = proa.vision.models.resnet152(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnet152", BottleneckBlock, 152, pretrained, **kwargs)


def resnext50_32x4d(pretrained=False, **kwargs):
    """ResNet of 50 layers with 32 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext50_32x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext50_32x4d", BottleneckBlock, 50, pretrained, groups=32, width=4, **kwargs)


def resnext50_64x4d(pretrained=False, **kwargs):
    """ResNet of 50 layers with 64 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext50_64x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext50_64x4d", BottleneckBlock, 50, pretrained, groups=64, width=4, **kwargs)


def resnext101_32x4d(pretrained=False, **kwargs):
    """ResNet of 101 layers with 32 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext101_32x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext101_32x4d", BottleneckBlock, 101, pretrained, groups=32, width=4, **kwargs)


def resnext101_64x4d(pretrained=False, **kwargs):
    """ResNet of 101 layers with 64 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext101_64x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext101_64x4d", BottleneckBlock, 101, pretrained, groups=64, width=4, **kwargs)


def resnext152_32x4d(pretrained=False, **kwargs):
    """ResNet of 152 layers with 32 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext152_32x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext152_32x4d", BottleneckBlock, 152, pretrained, groups=32, width=4, **kwargs)


def resnext152_64x4d(pretrained=False, **kwargs):
    """ResNet of 152 layers with 64 groups of width 4 (Xie et al., 2017).

    Examples:
        >>> net = proa.vision.models.resnext152_64x4d(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("resnext152_64x4d", BottleneckBlock, 152, pretrained, groups=64, width=4, **kwargs)


def wide_resnet50_2(pretrained=False, **kwargs):
    """ResNet of 50 layers, twice as wide inside (Zagoruyko and Komodakis, 2016).

    Examples:
        >>> net = proa.vision.models.wide_resnet50_2(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("wide_resnet50_2", BottleneckBlock, 50, pretrained, width=128, **kwargs)


def wide_resnet101_2(pretrained=False, **kwargs):
    """ResNet of 101 layers, twice as wide inside (Zagoruyko and Komodakis, 2016).

    Examples:
        >>> net = proa.vision.models.wide_resnet101_2(num_classes=4)
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 4]
    """
    return _resnet("wide_resnet101_2", BottleneckBlock, 101, pretrained, width=128, **kwargs)
