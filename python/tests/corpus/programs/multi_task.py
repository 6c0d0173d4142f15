# Two heads with learned weights of losses, accumulated gradients, a moving average of weights.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class MultiTask(nn.Layer):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 10), nn.SELU(), nn.GroupNorm(2, 10))
        self.heads = nn.LayerDict({"class": nn.Linear(10, 3), "value": nn.Linear(10, 1)})
        self.log_vars = self.create_parameter([2], is_bias=True)

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.clone().detach() for n, p in model.state_dict().items()}

    def update(self):
        for n, p in self.model.state_dict().items():
            self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p.detach()

    def apply(self):
        self.backup = {n: p.clone() for n, p in self.model.state_dict().items()}
        self.model.set_state_dict(self.shadow)

    def restore(self):
        self.model.set_state_dict(self.backup)


rng = np.random.RandomState(107)
net = MultiTask()
ema = EMA(net, 0.9)
opt = paddle.optimizer.Lamb(learning_rate=0.02, parameters=net.parameters(), lamb_weight_decay=0.01)
for step in range(4):
    for micro in range(2):
        x = paddle.to_tensor(rng.randn(5, 6).astype("float32"))
        out = net(x)
        losses = paddle.stack(
            [
                F.cross_entropy(out["class"], paddle.to_tensor(rng.randint(0, 3, 5))),
                F.mse_loss(out["value"].squeeze(-1), x[:, 0]),
            ]
        )
        loss = (paddle.exp(-net.log_vars) * losses + net.log_vars).sum() / 2
        loss.backward()
    opt.step()
    opt.clear_grad()
    ema.update()
    print("step %d losses %.5f %.5f" % (step, losses[0].item(), losses[1].item()))
x = paddle.ones([1, 6])
current = net(x)["value"].item()
ema.apply()
smooth = net(x)["value"].item()
ema.restore()
print("%.5f %.5f" % (current, smooth), net(x)["value"].item() == current)
print(sorted(net.state_dict())[:3], ["%.5f" % v for v in net.log_vars.tolist()])
