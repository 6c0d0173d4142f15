"""AlexNet (Krizhevsky and others, 2012)."""

import math

from proa import nn
from proa.nn import functional as F
from proa.nn.initializer import Uniform
from proa.vision.models.blocks import refuse_pretrained

__all__ = ["AlexNet", "alexnet"]


def _within(fan_in):
    limit = 1.0 / math.sqrt(fan_in)
    return Uniform(-limit, limit)


class ConvPoolLayer(nn.Layer):
    """A convolution, relu, and a pool of 3 by 3."""

    def __init__(self, input_channels, output_channels, filter_size, stride, padding, fan_in):
        super().__init__()
        self.relu = nn.ReLU()
        start = _within(fan_in)
        self._conv = nn.Conv2D(
            input_channels, output_channels, filter_size, stride, padding, weight_attr=start, bias_attr=start
        )
        self._pool = nn.MaxPool2D(3, 2)

    def forward(self, x):
        return self._pool(self.relu(self._conv(x)))


class AlexNet(nn.Layer):
    """AlexNet.

    Args:
        num_classes (int): 0 leaves the linear layers out.

    Examples:
        >>> proa.vision.models.AlexNet(num_classes=4)(proa.zeros([1, 3, 224, 224])).shape
        [1, 4]
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = ConvPoolLayer(3, 64, 11, 4, 2, 3 * 11 * 11)
        self._conv2 = ConvPoolLayer(64, 192, 5, 1, 2, 64 * 5 * 5)
        third, fourth = _within(192 * 9), _within(384 * 9)
        self._conv3 = nn.Conv2D(192, 384, 3, padding=1, weight_attr=third, bias_attr=third)
        self._conv4 = nn.Conv2D(384, 256, 3, padding=1, weight_attr=fourth, bias_attr=fourth)
        self._conv5 = ConvPoolLayer(256, 256, 3, 1, 1, 256 * 9)
        if num_classes > 0:
            start = _within(256 * 36)  # of all three, as the reference has it
            self._drop1 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = nn.Linear(256 * 36, 4096, start, start)
            self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc7 = nn.Linear(4096, 4096, start, start)
            self._fc8 = nn.Linear(4096, num_classes, start, start)

    def forward(self, x):
        x = self._conv2(self._conv1(x))
        x = self._conv5(F.relu(self._conv4(F.relu(self._conv3(x)))))
        if self.num_classes <= 0:
            return x
        x = F.relu(self._fc6(self._drop1(x.flatten(1))))
        return self._fc8(F.relu(self._fc7(self._drop2(x))))


def alexnet(pretrained=False, **kwargs):
    """AlexNet.

    Examples:
        >>> net = proa.vision.models.alexnet(num_classes=0)  # the convolutions alone
        >>> net(proa.zeros([1, 3, 64, 64])).shape
        [1, 256, 1, 1]
        >>> proa.vision.models.alexnet(pretrained=True)
        Traceback (most recent call last):
            ...
        NotImplementedError: ...
    """
    refuse_pretrained("alexnet", pretrained)
    return AlexNet(**kwargs)
