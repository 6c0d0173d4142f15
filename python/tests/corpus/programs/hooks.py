# Hooks of layers and of tensors, features read from the middle of a network.
import numpy as np
import paddle
import paddle.nn as nn

net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
features, order = {}, []


def keep(name):
    def hook(layer, inputs, output):
        features[name] = output.detach()
        order.append("post " + name)

    return hook


def scale(layer, inputs):
    order.append("pre")
    return (inputs[0] * 2,)


handles = [net[0].register_forward_post_hook(keep("fc0")), net[2].register_forward_post_hook(keep("fc2"))]
pre = net[0].register_forward_pre_hook(scale)
x = paddle.to_tensor(np.arange(8).reshape(2, 4).astype("float32") / 8, stop_gradient=False)
out = net(x)
print(order, {k: list(v.shape) for k, v in features.items()})
grads = []
h1 = x.register_hook(lambda g: grads.append(g.abs().sum().item()))
h2 = x.register_hook(lambda g: g * 10)
out.sum().backward()
print("%.5f %.5f" % (grads[0], x.grad.abs().sum().item()))
first = x.grad.numpy().copy()
pre.remove()
h2.remove()
x.clear_grad()
net(x).sum().backward()
print(["%.5f" % v for v in x.grad.numpy().ravel()])


class Doubled(nn.Layer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.inner.register_forward_post_hook(lambda l, i, o: o + 1)

    def forward(self, x):
        return self.inner(x) * 2


d = Doubled(net)
print("%.5f" % (d(x) - 2 * (net(x))).abs().sum().item())
for h in handles:
    h.remove()
order.clear()
net(x)
print(order)

# Gradients seen on their way: the middle of a graph.
a = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
b = a * a
seen = []
b.register_hook(lambda g: seen.append(g.numpy().tolist()))
(b * paddle.to_tensor([1.0, 10.0, 100.0])).sum().backward()
print(seen, a.grad.tolist())
