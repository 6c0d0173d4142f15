"""Draws a map of handwritten digits: an autoencoder of two numbers in the middle.

    python train.py [--quick] [--out FOLDER]

The data are the 1797 digits of 8 x 8 pixels that scikit-learn ships. Writes autoencoder.png: where the network puts each
held-out digit, and what it draws when one walks over the map. Ends with status 1 unless it explains half of the variance of
held-out pixels (a third with --quick).
"""

import argparse
import os
import sys

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


class AutoEncoder(paddle.nn.Layer):
    """[N, 64] to [N, 2] and back."""

    def __init__(self):
        super().__init__()
        nn = paddle.nn
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ELU(), nn.Linear(128, 32), nn.ELU(), nn.Linear(32, 2))
        self.decoder = nn.Sequential(
            nn.Linear(2, 32), nn.ELU(), nn.Linear(32, 128), nn.ELU(), nn.Linear(128, 64), nn.Sigmoid()
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def picture(net, images, labels, path):
    """The map of the digits, and drawings along a grid over it."""
    places = net.encoder(paddle.to_tensor(images)).numpy()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2))
    dots = left.scatter(*places.T, c=labels, cmap="tab10", s=14)
    figure.colorbar(dots, ax=left, ticks=range(10))
    left.set_title("held-out digits, by what they are")
    low, high = np.percentile(places, 3, 0), np.percentile(places, 97, 0)
    side = 12
    grid = np.stack(np.meshgrid(*np.linspace(low, high, side).T), -1)[::-1].reshape(-1, 2)
    drawn = net.decoder(paddle.to_tensor(grid.astype("float32"))).numpy().reshape(side, side, 8, 8)
    right.imshow(drawn.transpose(0, 2, 1, 3).reshape(side * 8, side * 8), cmap="gray_r")
    right.set_title("what the decoder draws over the map")
    right.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few epochs, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    digits = load_digits()
    images = (digits.data / 16).astype("float32")
    order = np.random.default_rng(1).permutation(len(images))
    train, held = order[400:], order[:400]
    paddle.seed(1)
    net = AutoEncoder()
    epochs = 20 if options.quick else 150
    rate = paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=epochs)
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters())
    data = paddle.io.TensorDataset([paddle.to_tensor(images[train])])
    for _ in range(epochs):
        for (x,) in paddle.io.DataLoader(data, batch_size=64, shuffle=True):
            loss = paddle.nn.functional.mse_loss(net(x), x)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        rate.step()
    net.eval()
    with paddle.no_grad():
        wrong = ((net(paddle.to_tensor(images[held])).numpy() - images[held]) ** 2).mean()
        picture(net, images[held], digits.target[held], os.path.join(options.out, "autoencoder.png"))
    explained = 1 - wrong / images[held].var(0).mean()
    print(f"two numbers explain {explained:.0%} of the variance of held-out pixels")
    return 0 if explained > (0.33 if options.quick else 0.5) else 1


if __name__ == "__main__":
    sys.exit(main())
