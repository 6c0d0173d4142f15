# A variational autoencoder; the noise of the reparameterization comes from NumPy.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class VAE(nn.Layer):
    def __init__(self, dim=20, hidden=16, latent=3):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, dim)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar, eps):
        std = paddle.exp(0.5 * logvar)
        return mu + eps * std

    def decode(self, z):
        return F.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, eps):
        mu, logvar = self.encode(x.reshape([-1, 20]))
        z = self.reparameterize(mu, logvar, eps)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x, reduction="sum")
    kld = -0.5 * paddle.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce, kld


rng = np.random.RandomState(8)
data = (rng.rand(32, 4, 5) > 0.6).astype("float32")
model = VAE()
optimizer = paddle.optimizer.Adam(1e-2, parameters=model.parameters())
for epoch in range(5):
    total = 0
    for start in range(0, 32, 8):
        x = paddle.to_tensor(data[start : start + 8])
        eps = paddle.to_tensor(rng.randn(8, 3).astype("float32"))
        recon, mu, logvar = model(x, eps)
        bce, kld = loss_function(recon, x.reshape([-1, 20]), mu, logvar)
        loss = bce + kld
        optimizer.clear_grad()
        loss.backward()
        optimizer.step()
        total += float(loss)
    print("epoch %d loss %.4f kld %.4f" % (epoch, total / 32, kld.item()))
with paddle.no_grad():
    sample = model.decode(paddle.to_tensor([[0.5, -1.0, 2.0]]))
print(np.round(sample.numpy()[0, :6].astype("float64"), 4).tolist())
