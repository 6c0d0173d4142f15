# A generative adversarial network on points: two players, two optimizers.
import numpy as np
import paddle
import paddle.nn as nn


class Generator(nn.Layer):
    def __init__(self, z_dim=8, out_dim=2):
        super(Generator, self).__init__()
        self.net = nn.Sequential(
            ("fc1", nn.Linear(z_dim, 16)),
            ("act1", nn.LeakyReLU(0.2)),
            ("fc2", nn.Linear(16, 24)),
            ("act2", nn.ELU()),
            ("fc3", nn.Linear(24, out_dim)),
            ("tanh", nn.Tanh()),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Layer):
    def __init__(self, in_dim=2):
        super(Discriminator, self).__init__()
        self.layers = nn.LayerList([nn.Linear(in_dim, 24), nn.Linear(24, 12), nn.Linear(12, 1)])
        self.act = nn.LeakyReLU(negative_slope=0.2)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = self.act(x)
        return x


rng = np.random.RandomState(9)
G, D = Generator(), Discriminator()
criterion = nn.BCEWithLogitsLoss()
optimizerD = paddle.optimizer.Adam(parameters=D.parameters(), learning_rate=2e-3, beta1=0.5, beta2=0.999)
optimizerG = paddle.optimizer.Adam(parameters=G.parameters(), learning_rate=2e-3, beta1=0.5, beta2=0.999)
real_label, fake_label = paddle.full((16, 1), 1.0, dtype="float32"), paddle.full((16, 1), 0.0, dtype="float32")
for it in range(6):
    angle = rng.uniform(0, 2 * np.pi, 16)
    real = paddle.to_tensor(np.stack([np.cos(angle), np.sin(angle)], 1).astype("float32"))
    optimizerD.clear_grad()
    errD_real = criterion(D(real), real_label)
    errD_real.backward()
    noise = paddle.to_tensor(rng.randn(16, 8), dtype="float32")
    fake = G(noise)
    errD_fake = criterion(D(fake.detach()), fake_label)
    errD_fake.backward()
    optimizerD.step()
    errD = errD_real + errD_fake
    optimizerG.clear_grad()
    errG = criterion(D(fake), real_label)
    errG.backward()
    optimizerG.step()
    print("[%d] Loss_D: %.5f Loss_G: %.5f" % (it, errD.numpy().item(), errG.numpy().item()))
for p in G.parameters():
    print(p.shape, "%.5f" % p.grad.abs().mean().item())
