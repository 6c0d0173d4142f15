# A denoising autoencoder: transposed 1-D convolutions, unpooling, SmoothL1, Adamax.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class AutoEncoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder1 = nn.Conv1D(1, 4, 5, padding=2)
        self.encoder2 = nn.Conv1D(4, 6, 3, padding=1)
        self.pool = nn.MaxPool1D(2, stride=2, return_mask=True)
        self.unpool = nn.MaxUnPool1D(2, stride=2)
        self.decoder = nn.Conv1DTranspose(6, 4, 4, stride=2, padding=1)
        self.out = nn.Conv1D(8, 1, 1)
        self.norm = nn.InstanceNorm1D(6)

    def forward(self, x):
        a = F.softplus(self.encoder1(x))
        pooled, mask = self.pool(a)
        code = self.norm(F.mish(self.encoder2(pooled)))
        up = self.unpool(pooled, mask)
        return self.out(paddle.concat([self.decoder(code), up], axis=1)), code


rng = np.random.RandomState(113)
t = np.linspace(0, 6, 32)
clean = np.stack([np.sin(t * k) for k in (1, 2, 3, 0.5)])[:, None].astype("float32")
noisy = clean + 0.2 * rng.randn(*clean.shape).astype("float32")
net = AutoEncoder()
opt = paddle.optimizer.Adamax(0.02, parameters=net.parameters())
for step in range(5):
    out, code = net(paddle.to_tensor(noisy))
    loss = nn.SmoothL1Loss()(out, paddle.to_tensor(clean)) + 1e-3 * code.abs().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.6f" % (step, loss.item()))
print(code.shape, "%.5f %.5f" % (code.mean().item(), code.std().item()))
