# Dynamic to static, jit.save with open batch, jit.load and fine-tuning.
import numpy as np
import paddle
import paddle.nn as nn
from paddle.static import InputSpec


class LinearNet(nn.Layer):
    def __init__(self):
        super(LinearNet, self).__init__()
        self._linear = nn.Linear(6, 4)
        self.norm = nn.LayerNorm(4)

    @paddle.jit.to_static(input_spec=[InputSpec(shape=[None, 6], dtype="float32", name="x")])
    def forward(self, x):
        y = self.norm(self._linear(x))
        z = paddle.concat([y, paddle.nn.functional.relu(y)], axis=1)
        return z.reshape([-1, 2, 4]).mean(axis=1)


rng = np.random.RandomState(19)
layer = LinearNet()
opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
data = [paddle.to_tensor(rng.randn(5, 6).astype("float32")) for _ in range(3)]
for batch in data:
    loss = (layer(batch) - 1.0).square().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("%.6f" % loss.item())
path = "example_model/linear"
paddle.jit.save(layer, path)
loaded = paddle.jit.load(path)
loaded.eval()
for n in (1, 7):
    x = paddle.to_tensor(rng.randn(n, 6).astype("float32"))
    print(n, "%.6f" % (loaded(x) - layer(x)).abs().max().item(), list(loaded(x).shape))
loaded.train()
tuner = paddle.optimizer.SGD(0.1, parameters=loaded.parameters())
loss = loaded(data[0]).square().mean()
loss.backward()
tuner.step()
print("%.6f" % loss.item(), "%.6f" % loaded(data[0]).square().mean().item())


@paddle.jit.to_static
def clipped(x, limit=1.0):
    total = x.abs().sum()
    return x / paddle.maximum(total, paddle.full([1], limit))


print(["%.5f" % v for v in clipped(paddle.to_tensor([1.0, -3.0, 0.5])).numpy()])
