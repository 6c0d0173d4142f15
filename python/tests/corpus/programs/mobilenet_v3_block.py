# Depthwise separable blocks with squeeze and excitation, hard swish, label smoothing.
import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.regularizer import L2Decay


def make_divisible(v, divisor=8, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


class SEModule(nn.Layer):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2D(1)
        self.conv1 = nn.Conv2D(channel, channel // reduction, kernel_size=1)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(channel // reduction, channel, kernel_size=1)
        self.hardsigmoid = nn.Hardsigmoid()

    def forward(self, x):
        identity = x
        x = self.hardsigmoid(self.conv2(self.relu(self.conv1(self.avg_pool(x)))))
        return paddle.multiply(x=identity, y=x)


class ConvBN(nn.Layer):
    def __init__(self, in_c, out_c, filter_size, stride, padding, num_groups=1, act=None):
        super().__init__()
        self.conv = nn.Conv2D(
            in_c,
            out_c,
            filter_size,
            stride=stride,
            padding=padding,
            groups=num_groups,
            weight_attr=nn.initializer.KaimingNormal(),
            bias_attr=False,
        )
        self.bn = nn.BatchNorm2D(
            out_c,
            weight_attr=paddle.ParamAttr(regularizer=L2Decay(0.0)),
            bias_attr=paddle.ParamAttr(regularizer=L2Decay(0.0)),
        )
        self.act = {"relu": nn.ReLU(), "hardswish": nn.Hardswish(), "relu6": nn.ReLU6()}.get(act)

    def forward(self, x):
        x = self.bn(self.conv(x))
        return x if self.act is None else self.act(x)


class ResidualUnit(nn.Layer):
    def __init__(self, in_c, mid_c, out_c, filter_size, stride, use_se, act):
        super().__init__()
        self.if_shortcut = stride == 1 and in_c == out_c
        self.expand_conv = ConvBN(in_c, mid_c, 1, 1, 0, act=act)
        self.bottleneck_conv = ConvBN(
            mid_c, mid_c, filter_size, stride, (filter_size - 1) // 2, num_groups=mid_c, act=act
        )
        self.mid_se = SEModule(mid_c) if use_se else nn.Identity()
        self.linear_conv = ConvBN(mid_c, out_c, 1, 1, 0)

    def forward(self, x):
        y = self.linear_conv(self.mid_se(self.bottleneck_conv(self.expand_conv(x))))
        return x + y if self.if_shortcut else y


net = nn.Sequential(
    ConvBN(3, make_divisible(16 * 0.5), 3, 2, 1, act="hardswish"),
    ResidualUnit(8, 16, 8, 3, 1, True, "relu"),
    ResidualUnit(8, 24, 16, 5, 2, True, "hardswish"),
    ResidualUnit(16, 32, 16, 3, 1, False, "relu6"),
    nn.AdaptiveAvgPool2D((1, 1)),
    nn.Flatten(1, -1),
    nn.Dropout(p=0.0),
    nn.Linear(16, 7),
)
rng = np.random.RandomState(3)
x = paddle.to_tensor(rng.randn(6, 3, 32, 32), dtype="float32")
y = paddle.to_tensor(rng.randint(0, 7, (6,)))
soft = F.label_smooth(F.one_hot(y, num_classes=7), epsilon=0.1)
opt = paddle.optimizer.RMSProp(0.001, rho=0.9, momentum=0.9, parameters=net.parameters(), weight_decay=L2Decay(4e-5))
for i in range(4):
    logits = net(x)
    loss = paddle.mean(F.cross_entropy(logits, soft, soft_label=True))
    loss.backward()
    opt.minimize(loss)
    net.clear_gradients()
    print(i, "%.6f" % loss.item())
print(sum(int(np.prod(p.shape)) for p in net.parameters() if p.trainable), "parameters")
for name, layer in list(net.named_sublayers())[:6]:
    print(name, layer.__class__.__name__)
