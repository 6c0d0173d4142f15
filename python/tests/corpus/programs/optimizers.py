# Each optimizer on the same small problem, with clipping, regularizers and schedules.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(139)
x, y = paddle.to_tensor(rng.randn(12, 5).astype("float32")), paddle.to_tensor(rng.randn(12, 2).astype("float32"))
O = paddle.optimizer
makers = {
    "sgd": lambda p: O.SGD(0.1, p, weight_decay=0.01),
    "momentum": lambda p: O.Momentum(0.05, 0.9, p),
    "nesterov": lambda p: O.Momentum(0.05, 0.9, p, use_nesterov=True, weight_decay=paddle.regularizer.L1Decay(0.01)),
    "adam": lambda p: O.Adam(0.05, 0.8, 0.99, 1e-7, p, weight_decay=0.02),
    "adamw": lambda p: O.AdamW(0.05, parameters=p, weight_decay=0.1, lr_ratio=None),
    "adamax": lambda p: O.Adamax(0.05, parameters=p),
    "adagrad": lambda p: O.Adagrad(0.1, parameters=p, grad_clip=nn.ClipGradByNorm(0.5)),
    "rmsprop": lambda p: O.RMSProp(0.01, parameters=p, centered=True, momentum=0.5),
    "lamb": lambda p: O.Lamb(0.05, parameters=p),
    "clip": lambda p: O.SGD(0.5, p, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
}
w1 = rng.randn(5, 4).astype("float32") * 0.5
w2 = rng.randn(4, 2).astype("float32") * 0.5
for name, make in makers.items():
    net = nn.Sequential(
        nn.Linear(5, 4, weight_attr=nn.initializer.Assign(w1)),
        nn.Softsign(),
        nn.Linear(4, 2, weight_attr=nn.initializer.Assign(w2)),
    )
    opt = make(net.parameters())
    losses = []
    for _ in range(5):
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append("%.5f" % loss.item())
    print(name, *losses)
