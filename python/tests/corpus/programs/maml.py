# Model-agnostic meta-learning: gradients through the inner step.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Meta(nn.Layer):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList()
        for shape in ([1, 10], [10], [10, 1], [1]):
            init = nn.initializer.KaimingNormal() if len(shape) == 2 else nn.initializer.Constant(0.0)
            self.vars.append(self.create_parameter(shape, default_initializer=init))

    def forward(self, x, params=None):
        w1, b1, w2, b2 = self.vars if params is None else params
        return F.linear(paddle.tanh(F.linear(x, w1, b1)), w2, b2)


rng = np.random.RandomState(37)
net = Meta()
meta_opt = paddle.optimizer.Adam(1e-2, parameters=net.parameters())
for it in range(4):
    losses = []
    for task in range(3):
        amplitude, phase = rng.uniform(0.5, 2), rng.uniform(0, 3)
        xs = paddle.to_tensor(rng.uniform(-3, 3, (8, 1)).astype("float32"))
        xq = paddle.to_tensor(rng.uniform(-3, 3, (8, 1)).astype("float32"))
        ys, yq = amplitude * paddle.sin(xs + phase), amplitude * paddle.sin(xq + phase)
        fast = list(net.parameters())
        for _ in range(2):
            grads = paddle.grad(F.mse_loss(net(xs, fast), ys), fast, create_graph=True)
            fast = [p - 0.05 * g for p, g in zip(fast, grads)]
        losses.append(F.mse_loss(net(xq, fast), yq))
    loss = paddle.add_n(losses) / len(losses)
    loss.backward()
    meta_opt.step()
    meta_opt.clear_grad()
    print("iteration %d loss %.5f" % (it, loss.item()))
print(["%.4f" % p.abs().mean().item() for p in net.vars])
