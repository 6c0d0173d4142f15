# Capsules with dynamic routing, margin loss and a reconstruction decoder.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(3)
num_classes, num_routing = 4, 3


def squash(x, axis=-1):
    norm2 = paddle.sum(paddle.square(x), axis=axis, keepdim=True)
    return norm2 / (1.0 + norm2) * x / paddle.sqrt(norm2 + 1e-8)


class PrimaryCaps(nn.Layer):
    def __init__(self, in_channels, num_maps, dim):
        super(PrimaryCaps, self).__init__()
        self.dim = dim
        self.conv = nn.Conv2D(in_channels, num_maps * dim, 3, stride=2)

    def forward(self, x):
        out = self.conv(x)
        b, c, h, w = out.shape
        out = paddle.transpose(out.reshape([b, c // self.dim, self.dim, h, w]), perm=[0, 1, 3, 4, 2])
        return squash(out.reshape([b, -1, self.dim]))


class DigitCaps(nn.Layer):
    def __init__(self, num_in, dim_in, num_out, dim_out):
        super(DigitCaps, self).__init__()
        self.weight = self.create_parameter(
            shape=[1, num_in, num_out, dim_out, dim_in], default_initializer=nn.initializer.Normal(std=0.1)
        )

    def forward(self, u):
        u = u.unsqueeze(2).unsqueeze(-1)
        u_hat = paddle.matmul(self.weight.expand([u.shape[0], -1, -1, -1, -1]), u.tile([1, 1, num_classes, 1, 1]))
        u_hat = u_hat.squeeze(-1)
        logits = paddle.zeros(u_hat.shape[:3])
        blocked = u_hat.detach()
        for i in range(num_routing):
            c = F.softmax(logits, axis=2).unsqueeze(-1)
            if i < num_routing - 1:
                v = squash(paddle.sum(c * blocked, axis=1, keepdim=True))
                logits = logits + paddle.sum(blocked * v, axis=-1)
            else:
                v = squash(paddle.sum(c * u_hat, axis=1, keepdim=True))
        return v.squeeze(1)


class CapsNet(nn.Layer):
    def __init__(self):
        super(CapsNet, self).__init__()
        self.stem = nn.Sequential(nn.Conv2D(1, 6, 3), nn.ReLU())
        self.primary = PrimaryCaps(6, 2, 4)
        self.digits = DigitCaps(2 * 4 * 4, 4, num_classes, 6)
        self.decoder = nn.Sequential(nn.Linear(6 * num_classes, 24), nn.ReLU(), nn.Linear(24, 144), nn.Sigmoid())

    def forward(self, x, label=None):
        v = self.digits(self.primary(self.stem(x)))
        length = paddle.norm(v, axis=-1)
        if label is None:
            label = paddle.argmax(length, axis=-1)
        mask = F.one_hot(label, num_classes).unsqueeze(-1)
        return length, self.decoder((v * mask).flatten(1))


def margin_loss(length, label, m_pos=0.9, m_neg=0.1, lamb=0.5):
    t = F.one_hot(label, num_classes)
    pos = t * paddle.clip(m_pos - length, min=0.0) ** 2
    neg = lamb * (1 - t) * F.relu(length - m_neg).pow(2)
    return (pos + neg).sum(axis=1).mean()


net = CapsNet()
optimizer = paddle.optimizer.Momentum(0.05, 0.9, parameters=net.parameters())
x = paddle.to_tensor(rng.rand(6, 1, 12, 12).astype("float32"))
y = paddle.to_tensor(rng.randint(0, num_classes, [6]))
for step in range(4):
    length, image = net(x, y)
    loss = margin_loss(length, y) + 0.05 * F.mse_loss(image, x.flatten(1), reduction="sum") / x.shape[0]
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("step %d loss %.5f" % (step, float(loss)))
net.eval()
with paddle.no_grad():
    length, image = net(x)
print("lengths", np.round(length.numpy(), 4).tolist())
print("image mean %.5f" % image.mean().item())
