# A model whose forward has loops, branches by cond and a cell, converted, saved, loaded and trained on.
import numpy as np
import paddle
import paddle.nn as nn
from paddle.jit import to_static
from paddle.static import InputSpec

rng = np.random.RandomState(113)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.cell = nn.Linear(4, 6), nn.Linear(6, 3), nn.GRUCell(6, 6)
        self.steps = 3

    @to_static(input_spec=[InputSpec([None, 4], "float32", "x")])
    def forward(self, x):
        h = paddle.tanh(self.fc1(x))
        h = paddle.static.nn.cond(paddle.mean(h) > 0, lambda: h * 2.0, lambda: h - 1.0)
        state = paddle.zeros_like(h)
        for i in range(self.steps):
            out, state = self.cell(h, state)
            h = h + out
        return self.fc2(h)

    @to_static
    def score(self, x, scale=2.0):
        y = self.fc1(x)
        total = paddle.zeros([1])
        for k in range(y.shape[1]):
            if k % 2 == 0:
                total = total + y[:, k].sum() * scale
        return total


@paddle.jit.to_static
def clipped(x, low, high):
    y = paddle.where(x > high, paddle.full_like(x, 1.0) * high, x)
    if low is not None:
        y = paddle.maximum(y, paddle.to_tensor(low))
    return y


net = Net()
x = paddle.to_tensor(rng.randn(5, 4).astype("float32"))
y = paddle.to_tensor(rng.randn(5, 3).astype("float32"))
optimizer = paddle.optimizer.SGD(0.05, parameters=net.parameters())
for step in range(3):
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("loss %.5f" % loss.item())
print("score %.4f" % net.score(x).item())
print("clipped", [["%.3f" % v for v in row] for row in clipped(x[:2], -0.5, 0.5).tolist()])
net.eval()
paddle.jit.save(net, "saved/net")
loaded = paddle.jit.load("saved/net")
loaded.eval()
more = paddle.to_tensor(rng.randn(2, 4).astype("float32"))
print("loaded", bool(np.allclose(loaded(more).numpy(), net(more).numpy(), atol=1e-5)), loaded(more).shape)
loaded.train()
fine = paddle.optimizer.SGD(0.05, parameters=loaded.parameters())
for step in range(2):
    loss = (loaded(x) - y).square().mean()
    loss.backward()
    fine.step()
    fine.clear_grad()
    print("fine %.5f" % loss.item())
