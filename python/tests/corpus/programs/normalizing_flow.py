# Affine couplings, invertible 1x1 mixing by its determinant, likelihood of data, samples by the inverse.
import math

import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(41)


class ActNorm(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        self.log_scale = self.create_parameter([1, dim], is_bias=True)
        self.shift = self.create_parameter(
            shape=[1, dim], is_bias=True, default_initializer=nn.initializer.Constant(0.0)
        )
        self.register_buffer("initialized", paddle.to_tensor([0], dtype="int64"))

    def forward(self, x):
        if not bool(self.initialized):
            with paddle.no_grad():
                self.shift.set_value(-x.mean(0, keepdim=True))
                self.log_scale.set_value(-paddle.log(x.std(axis=0, keepdim=True) + 1e-6))
                self.initialized.set_value(paddle.to_tensor([1], dtype="int64"))
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum()

    def inverse(self, y):
        return y * paddle.exp(-self.log_scale) - self.shift


class Mixing(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        q = np.linalg.qr(rng.randn(dim, dim))[0].astype("float32")
        self.weight = self.create_parameter([dim, dim], attr=paddle.ParamAttr(initializer=nn.initializer.Assign(q)))

    def forward(self, x):
        return x @ self.weight, paddle.linalg.slogdet(self.weight)[1]

    def inverse(self, y):
        return paddle.matmul(y, paddle.inverse(self.weight))


class Coupling(nn.Layer):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip, self.half = flip, dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, 16), nn.LeakyReLU(0.1), nn.Linear(16, 2 * self.half))
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(0.5))

    def split(self, x):
        a, b = paddle.chunk(x, 2, axis=1)
        return (b, a) if self.flip else (a, b)

    def parts(self, a):
        s, t = paddle.split(self.net(a), num_or_sections=[self.half, -1], axis=-1)
        return paddle.tanh(s) * self.scale, t

    def join(self, a, b):
        return paddle.concat([b, a] if self.flip else [a, b], axis=1)

    def forward(self, x):
        a, b = self.split(x)
        s, t = self.parts(a)
        return self.join(a, b * s.exp() + t), s.sum(axis=1)

    def inverse(self, y):
        a, b = self.split(y)
        s, t = self.parts(a)
        return self.join(a, (b - t) * paddle.exp(-s))


class Flow(nn.Layer):
    def __init__(self, dim, steps):
        super().__init__()
        self.steps = nn.LayerList()
        for k in range(steps):
            self.steps.extend([ActNorm(dim), Mixing(dim), Coupling(dim, k % 2 == 1)])

    def forward(self, x):
        total = paddle.zeros([x.shape[0]])
        for step in self.steps:
            x, logdet = step(x)
            total += logdet
        return x, total

    def inverse(self, z):
        for step in self.steps[::-1]:
            z = step.inverse(z)
        return z


def log_prob(z):
    return (-0.5 * z**2 - 0.5 * math.log(2 * math.pi)).sum(1)


flow = Flow(4, 2)
data = rng.randn(64, 4).astype("float32")
data[:, 1] = data[:, 0] ** 2 + 0.3 * data[:, 1]
x = paddle.to_tensor(data)
scheduler = paddle.optimizer.lr.LinearWarmup(paddle.optimizer.lr.CosineAnnealingDecay(0.02, T_max=6), 2, 0.005, 0.02)
optimizer = paddle.optimizer.Adamax(learning_rate=scheduler, parameters=flow.parameters())
for step in range(6):
    z, logdet = flow(x)
    loss = -(log_prob(z) + logdet).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_gradients()
    scheduler.step()
    print("step %d nll %.4f lr %.5f" % (step, loss, optimizer.get_lr()))
flow.eval()
z, _ = flow(x[:8])
back = flow.inverse(z)
print("inverse", paddle.allclose(back, x[:8], atol=1e-3).item(), len(flow.state_dict()), sorted(flow.state_dict())[0])
