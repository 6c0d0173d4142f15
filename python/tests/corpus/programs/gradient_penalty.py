# Second derivatives: WGAN-GP's penalty, Hessian-vector products, Newton's method.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(29)
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 6), nn.Sigmoid(), nn.Linear(6, 1))
opt = paddle.optimizer.Adam(1e-2, parameters=critic.parameters(), beta1=0.0, beta2=0.9)
for step in range(4):
    real = paddle.to_tensor(rng.randn(5, 3).astype("float32"))
    fake = paddle.to_tensor(rng.randn(5, 3).astype("float32"))
    alpha = paddle.to_tensor(rng.rand(5, 1).astype("float32"))
    interpolates = alpha * real + (1 - alpha) * fake
    interpolates.stop_gradient = False
    gradients = paddle.grad(
        outputs=critic(interpolates),
        inputs=interpolates,
        grad_outputs=paddle.ones([5, 1]),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    slopes = paddle.sqrt(paddle.sum(paddle.square(gradients), axis=1) + 1e-12)
    penalty = paddle.mean((slopes - 1.0) ** 2)
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    opt.clear_grad()
    loss.backward()
    opt.step()
    print("loss %.5f penalty %.5f" % (loss.item(), penalty.item()))

x = paddle.to_tensor([0.5, -1.0, 2.0], stop_gradient=False)
y = (x**3).sum() + (x[0] * x[1] * x[2]).exp()
(g,) = paddle.grad(y, x, create_graph=True)
v = paddle.to_tensor([1.0, 2.0, 3.0])
(hv,) = paddle.grad((g * v).sum(), x, create_graph=True)
(third,) = paddle.grad(hv.sum(), x)
print(["%.5f" % t for t in g.tolist()], ["%.5f" % t for t in hv.tolist()], ["%.4f" % t for t in third.tolist()])

root = paddle.to_tensor([3.0], stop_gradient=False)
for _ in range(4):
    f = (root**2 - 2).square().sum()
    (first,) = paddle.grad(f, root, create_graph=True)
    (second,) = paddle.grad(first.sum(), root)
    root = (root - first / second).detach()
    root.stop_gradient = False
    print("%.6f" % root.item())
a = paddle.to_tensor(2.0, stop_gradient=False)
b = paddle.to_tensor(3.0, stop_gradient=False)
print(paddle.grad(a * a, [a, b], allow_unused=True)[1])
