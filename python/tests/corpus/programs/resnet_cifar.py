# A small residual network with Momentum, weight decay and warm-up.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ConvBNLayer(nn.Layer):
    def __init__(self, num_channels, num_filters, filter_size, stride=1, groups=1, act=None, name=None):
        super(ConvBNLayer, self).__init__()
        self._conv = nn.Conv2D(
            in_channels=num_channels,
            out_channels=num_filters,
            kernel_size=filter_size,
            stride=stride,
            padding=(filter_size - 1) // 2,
            groups=groups,
            weight_attr=paddle.ParamAttr(name=name + "_weights"),
            bias_attr=False,
        )
        self._batch_norm = nn.BatchNorm(
            num_filters,
            act=act,
            param_attr=paddle.ParamAttr(name=name + "_scale"),
            bias_attr=paddle.ParamAttr(name + "_offset"),
            moving_mean_name=name + "_mean",
            moving_variance_name=name + "_variance",
        )

    def forward(self, inputs):
        return self._batch_norm(self._conv(inputs))


class BasicBlock(nn.Layer):
    def __init__(self, num_channels, num_filters, stride, shortcut=True, name=None):
        super().__init__()
        self.conv0 = ConvBNLayer(num_channels, num_filters, 3, stride=stride, act="relu", name=name + "_branch2a")
        self.conv1 = ConvBNLayer(num_filters, num_filters, 3, act=None, name=name + "_branch2b")
        if not shortcut:
            self.short = ConvBNLayer(num_channels, num_filters, 1, stride=stride, name=name + "_branch1")
        self.shortcut = shortcut

    def forward(self, inputs):
        y = self.conv1(self.conv0(inputs))
        short = inputs if self.shortcut else self.short(inputs)
        return F.relu(paddle.add(x=short, y=y))


class ResNet(nn.Layer):
    def __init__(self, class_dim=5):
        super().__init__()
        self.conv = ConvBNLayer(3, 8, 3, act="relu", name="conv1")
        self.blocks = []
        in_channels = 8
        for stage, filters in enumerate([8, 16]):
            for i in range(2):
                name = "res%d%s" % (stage + 2, chr(97 + i))
                block = self.add_sublayer(
                    name,
                    BasicBlock(in_channels, filters, 2 if i == 0 and stage else 1, in_channels == filters, name),
                )
                in_channels = filters
                self.blocks.append(block)
        self.pool = nn.AdaptiveAvgPool2D(1)
        self.out = nn.Linear(
            in_channels,
            class_dim,
            weight_attr=paddle.ParamAttr(name="fc_0.w_0"),
            bias_attr=paddle.ParamAttr(name="fc_0.b_0"),
        )

    def forward(self, x):
        x = self.conv(x)
        for block in self.blocks:
            x = block(x)
        x = paddle.reshape(self.pool(x), shape=[-1, self.out.weight.shape[0]])
        return self.out(x)


rng = np.random.RandomState(7)
images = rng.randn(24, 3, 16, 16).astype("float32")
labels = rng.randint(0, 5, [24]).astype("int64")
net = ResNet()
schedule = paddle.optimizer.lr.LinearWarmup(
    paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=0.05, T_max=20), warmup_steps=4, start_lr=0.0, end_lr=0.05
)
optimizer = paddle.optimizer.Momentum(
    learning_rate=schedule, momentum=0.9, parameters=net.parameters(), weight_decay=paddle.regularizer.L2Decay(1e-4)
)
for step in range(6):
    begin = step * 8 % 24
    x, y = paddle.to_tensor(images[begin : begin + 8]), paddle.to_tensor(labels[begin : begin + 8])
    loss = nn.CrossEntropyLoss()(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    schedule.step()
    print("step %d lr %.5f loss %.5f" % (step, optimizer.get_lr(), loss.item()))
net.eval()
print("eval", ["%.4f" % v for v in net(paddle.to_tensor(images[:2])).numpy().ravel()])
print("names", sorted(p.name for p in net.parameters())[:6])
print("mean", ["%.5f" % v for v in net.conv._batch_norm._mean.numpy()])
print("variance", ["%.5f" % v for v in net.conv._batch_norm._variance.numpy()])
print(len(net.state_dict()), "entries")
