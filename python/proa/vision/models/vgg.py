"""VGG (Simonyan and Zisserman, 2014)."""

from proa import nn
from proa.framework.names import missing as _missing
from proa.vision.models.blocks import refuse_pretrained

__all__ = ["VGG", "make_layers", "vgg11", "vgg13", "vgg16", "vgg19"]

__getattr__ = _missing(__name__)

# Channels of the convolutions; M is a pool.
cfgs = {
    "A": [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    "B": [64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    "D": [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"],
    "E": [64, 64, "M", 128, 128, "M", 256, 256, 256, 256, "M", 512, 512, 512, 512, "M", 512, 512, 512, 512, "M"],
}  # fmt: skip


class VGG(nn.Layer):
    """Convolutions, and three linear layers.

    Args:
        features (Layer): the convolutions.
        num_classes (int): 0 leaves the linear layers out.
        with_pool (bool): average to 7 by 7 pixels before them.

    Examples:
        >>> proa.vision.models.vgg11(num_classes=0)(proa.ones([1, 3, 32, 32])).shape
        [1, 512, 7, 7]
    """

    def __init__(self, features, num_classes=1000, with_pool=True):
        super().__init__()
        self.features = features
        self.num_classes = num_classes
        self.with_pool = with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x) if self.with_pool else x
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def make_layers(cfg, batch_norm=False):
    """The convolutions of a list of channels."""
    layers, channels = [], 3
    for item in cfg:
        if item == "M":
            layers.append(nn.MaxPool2D(2, 2))
            continue
        layers.append(nn.Conv2D(channels, item, 3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2D(item))
        layers.append(nn.ReLU())
        channels = item
    return nn.Sequential(*layers)


def _vgg(name, cfg, batch_norm, pretrained, **kwargs):
    refuse_pretrained(name, pretrained)
    return VGG(make_layers(cfgs[cfg], batch_norm), **kwargs)


def vgg11(pretrained=False, batch_norm=False, **kwargs):
    """VGG of 11 layers.

    Examples:
        >>> net = proa.vision.models.vgg11(num_classes=0, with_pool=False)
        >>> len([layer for layer in net.sublayers() if isinstance(layer, proa.nn.Conv2D)])
        8
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 512, 1, 1]
    """
    return _vgg("vgg11", "A", batch_norm, pretrained, **kwargs)


def vgg13(pretrained=False, batch_norm=False, **kwargs):
    """VGG of 13 layers.

    Examples:
        >>> net = proa.vision.models.vgg13(num_classes=0, with_pool=False)
        >>> len([layer for layer in net.sublayers() if isinstance(layer, proa.nn.Conv2D)])
        10
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 512, 1, 1]
    """
    return _vgg("vgg13", "B", batch_norm, pretrained, **kwargs)


def vgg16(pretrained=False, batch_norm=False, **kwargs):
    """VGG of 16 layers.

    Examples:
        >>> net = proa.vision.models.vgg16(num_classes=0, with_pool=False)
        >>> len([layer for layer in net.sublayers() if isinstance(layer, proa.nn.Conv2D)])
        13
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 512, 1, 1]
    """
    return _vgg("vgg16", "D", batch_norm, pretrained, **kwargs)


def vgg19(pretrained=False, batch_norm=False, **kwargs):
    """VGG of 19 layers.

    Examples:
        >>> net = proa.vision.models.vgg19(num_classes=0, with_pool=False)
        >>> len([layer for layer in net.sublayers() if isinstance(layer, proa.nn.Conv2D)])
        16
        >>> net(proa.zeros([1, 3, 32, 32])).shape
        [1, 512, 1, 1]
    """
    return _vgg("vgg19", "E", batch_norm, pretrained, **kwargs)
