# Saving and resuming: model, optimizer and schedule continue as if never stopped.
import os

import numpy as np
import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1D(3, 5, 3, padding=1)
        self.bn = nn.BatchNorm1D(5)
        self.rnn = nn.GRU(5, 4)
        self.head = nn.Linear(4, 2)
        self.register_buffer("steps", paddle.zeros([1], dtype="int64"))

    def forward(self, x):
        x = nn.functional.relu(self.bn(self.conv(x)))
        x, h = self.rnn(x.transpose([0, 2, 1]))
        self.steps += 1
        return self.head(h[-1])


def make():
    net = Net()
    schedule = paddle.optimizer.lr.ExponentialDecay(0.01, 0.9)
    return net, schedule, paddle.optimizer.Adam(schedule, parameters=net.parameters())


def train(net, schedule, opt, steps, seed):
    rng = np.random.RandomState(seed)
    for _ in range(steps):
        x = paddle.to_tensor(rng.randn(4, 3, 6).astype("float32"))
        loss = (net(x) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        schedule.step()
    return loss.item()


net, schedule, opt = make()
print("%.6f" % train(net, schedule, opt, 3, 0))
os.makedirs("output", exist_ok=True)
paddle.save(net.state_dict(), "output/model.pdparams")
paddle.save(opt.state_dict(), "output/model.pdopt")
paddle.save({"epoch": 3, "nested": {"list": [1, 2.5, "x"], "tensor": paddle.arange(3)}}, "output/meta.pdz")
expected = train(net, schedule, opt, 2, 1)

again = make()[0]
again.set_state_dict(paddle.load("output/model.pdparams"))
print(again.steps.tolist(), bool((again.head.weight == net.head.weight).all()))
net.set_state_dict(paddle.load("output/model.pdparams"))
opt.set_state_dict(paddle.load("output/model.pdopt"))
print(schedule.last_epoch, "%.6f" % opt.get_lr(), net.steps.item())
resumed = train(net, schedule, opt, 2, 1)
print("%.6f" % resumed, abs(resumed - expected) < 1e-6)
meta = paddle.load("output/meta.pdz")
print(meta["epoch"], meta["nested"]["list"], meta["nested"]["tensor"].tolist())
print([k for k in paddle.load("output/model.pdparams")])
part = paddle.load("output/model.pdparams")
part.pop("head.bias")
part["head.weight"] = paddle.zeros([4, 2])
again.set_dict(part)
print("%.4f" % again.head.weight.abs().sum().item())
