"""GoogLeNet (Szegedy and others, 2015)."""

from proa import _C, nn
from proa.nn import functional as F
from proa.nn.initializer import Uniform
from proa.vision.models.blocks import refuse_pretrained

__all__ = ["GoogLeNet", "googlenet"]


def _xavier(channels):
    limit = (3.0 / channels) ** 0.5
    return Uniform(-limit, limit)


class ConvLayer(nn.Layer):
    """A convolution without a bias, that keeps sizes but for its stride."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, groups=1):
        super().__init__()
        self._conv = nn.Conv2D(
            num_channels, num_filters, filter_size, stride, (filter_size - 1) // 2, groups=groups, bias_attr=False
        )

    def forward(self, x):
        return self._conv(x)


class Inception(nn.Layer):
    """Convolutions of 1 by 1, 3 by 3 and 5 by 5, and a pool, side by side; then relu."""

    def __init__(self, input_channels, output_channels, filter1, filter3R, filter3, filter5R, filter5, proj):
        super().__init__()
        self._conv1 = ConvLayer(input_channels, filter1, 1)
        self._conv3r = ConvLayer(input_channels, filter3R, 1)
        self._conv3 = ConvLayer(filter3R, filter3, 3)
        self._conv5r = ConvLayer(input_channels, filter5R, 1)
        self._conv5 = ConvLayer(filter5R, filter5, 5)
        self._pool = nn.MaxPool2D(3, 1, 1)
        self._convprj = ConvLayer(input_channels, proj, 1)

    def forward(self, x):
        parts = [
            self._conv1(x),
            self._conv3(self._conv3r(x)),
            self._conv5(self._conv5r(x)),
            self._convprj(self._pool(x)),
        ]
        return F.relu(_C.ops.concat(parts, 1))


# Name, channels in, and the six numbers of Inception.
_BLOCKS = [
    ("3a", 192, 64, 96, 128, 16, 32, 32), ("3b", 256, 128, 128, 192, 32, 96, 64),
    ("4a", 480, 192, 96, 208, 16, 48, 64), ("4b", 512, 160, 112, 224, 24, 64, 64),
    ("4c", 512, 128, 128, 256, 24, 64, 64), ("4d", 512, 112, 144, 288, 32, 64, 64),
    ("4e", 528, 256, 160, 320, 32, 128, 128), ("5a", 832, 256, 160, 320, 32, 128, 128),
    ("5b", 832, 384, 192, 384, 48, 128, 128),
]  # fmt: skip


class GoogLeNet(nn.Layer):
    """GoogLeNet, for [N, 3, 224, 224] (224 to 271 pixels a side, with linear layers).

    Args:
        num_classes (int): 0 leaves the linear layers out.
        with_pool (bool): average over pixels.

    The results are three: of the end, and of the two places inside that help in training.

    Examples:
        >>> net = proa.vision.models.GoogLeNet(num_classes=0, with_pool=False)
        >>> [out.shape[1:] for out in net(proa.ones([1, 3, 64, 64]))]
        [[1024, 1, 1], [512, 3, 3], [528, 3, 3]]
    """

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = nn.MaxPool2D(3, 2)
        self._conv_1 = ConvLayer(64, 64, 1)
        self._conv_2 = ConvLayer(64, 192, 3)
        for name, channels, *numbers in _BLOCKS:
            setattr(self, f"_ince{name}", Inception(channels, channels, *numbers))
        if with_pool:
            self._pool_5 = nn.AdaptiveAvgPool2D(1)
            self._pool_o1 = nn.AvgPool2D(5, 3)
            self._pool_o2 = nn.AvgPool2D(5, 3)
        if num_classes > 0:
            self._drop = nn.Dropout(0.4, mode="downscale_in_infer")
            self._fc_out = nn.Linear(1024, num_classes, _xavier(1024))
            for i, channels in ((1, 512), (2, 528)):
                setattr(self, f"_conv_o{i}", ConvLayer(channels, 128, 1))
                setattr(self, f"_fc_o{i}", nn.Linear(1152, 1024, _xavier(2048)))
                setattr(self, f"_drop_o{i}", nn.Dropout(0.7, mode="downscale_in_infer"))
                setattr(self, f"_out{i}", nn.Linear(1024, num_classes, _xavier(1024)))

    def forward(self, x):
        x = self._pool(self._conv(x))
        x = self._pool(self._conv_2(self._conv_1(x)))
        x = self._pool(self._ince3b(self._ince3a(x)))
        out1 = self._ince4a(x)
        out2 = self._ince4d(self._ince4c(self._ince4b(out1)))
        x = self._pool(self._ince4e(out2))
        out = self._ince5b(self._ince5a(x))
        if self.with_pool:
            out, out1, out2 = self._pool_5(out), self._pool_o1(out1), self._pool_o2(out2)
        if self.num_classes > 0:
            out = self._fc_out(self._drop(out).squeeze([2, 3]))
            out1 = self._fc_o1(self._conv_o1(out1).flatten(1))
            # The reference has no relu in the other one.
            out1 = self._out1(self._drop_o1(F.relu(out1)))
            out2 = self._fc_o2(self._conv_o2(out2).flatten(1))
            out2 = self._out2(self._drop_o2(out2))
        return out, out1, out2


def googlenet(pretrained=False, num_classes=1000, with_pool=True):
    """GoogLeNet; arguments as there.

    Examples:
        >>> [out.shape for out in proa.vision.models.googlenet(num_classes=4)(proa.zeros([1, 3, 224, 224]))]
        [[1, 4], [1, 4], [1, 4]]
    """
    refuse_pretrained("googlenet", pretrained)
    return GoogLeNet(num_classes, with_pool)
