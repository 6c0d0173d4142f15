# Atrous spatial pyramid pooling, depthwise separable decoder, online hard examples.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ConvBNReLU(nn.Layer):
    def __init__(self, cin, cout, k, **kwargs):
        super().__init__()
        self._conv = nn.Conv2D(cin, cout, k, bias_attr=False, **kwargs)
        self._bn = nn.BatchNorm2D(cout)

    def forward(self, x):
        return F.relu(self._bn(self._conv(x)))


class ASPP(nn.Layer):
    def __init__(self, cin, cout, rates=(1, 2, 3)):
        super().__init__()
        self.blocks = nn.LayerList(
            [ConvBNReLU(cin, cout, 1 if r == 1 else 3, dilation=r, padding=0 if r == 1 else r) for r in rates]
        )
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2D((1, 1)), nn.Conv2D(cin, cout, 1, bias_attr=False))
        self.project = ConvBNReLU(cout * (len(rates) + 1), cout, 1)

    def forward(self, x):
        outputs = [block(x) for block in self.blocks]
        pooled = F.interpolate(self.pool(x), x.shape[2:], mode="bilinear", align_corners=False)
        return self.project(paddle.concat(outputs + [pooled], axis=1))


class Net(nn.Layer):
    def __init__(self, classes=3):
        super().__init__()
        self.low = ConvBNReLU(3, 5, 3, stride=2, padding=1)
        self.high = ConvBNReLU(5, 8, 3, stride=2, padding=1)
        self.aspp = ASPP(8, 6)
        self.decoder = nn.Sequential(ConvBNReLU(11, 11, 3, groups=11, padding=1), nn.Conv2D(11, classes, 1))

    def forward(self, x):
        low = self.low(x)
        deep = self.aspp(self.high(low))
        deep = F.interpolate(deep, size=low.shape[2:], mode="bilinear", align_corners=True)
        return F.interpolate(
            self.decoder(paddle.concat([low, deep], 1)), x.shape[-2:], mode="bilinear", align_corners=True
        )


def ohem(logits, label, keep):
    losses = F.cross_entropy(logits, label, axis=1, reduction="none", ignore_index=255).flatten()
    values, _ = paddle.topk(losses, keep)
    return values.mean()


rng = np.random.RandomState(101)
images = paddle.to_tensor(rng.rand(3, 3, 17, 19).astype("float32"))
labels = rng.randint(0, 3, (3, 17, 19))
labels[:, :, 0] = 255
labels = paddle.to_tensor(labels)
net = Net()
schedule = paddle.optimizer.lr.PolynomialDecay(0.1, 10, power=0.9)
opt = paddle.optimizer.Momentum(schedule, 0.9, parameters=net.parameters(), weight_decay=4e-5)
for step in range(4):
    loss = ohem(net(images), labels, 300)
    loss.backward()
    opt.step()
    schedule.step()
    net.clear_gradients()
    print("step %d loss %.5f lr %.5f" % (step, loss.item(), schedule.get_lr()))
