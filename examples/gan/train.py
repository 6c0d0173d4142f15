"""Two networks play against each other until one draws handwritten digits.

    python train.py [--quick] [--out FOLDER]

The data are the digits of 8 x 8 pixels that scikit-learn ships. Writes gan.png: real digits, drawn ones, and the game. Ends
with status 1 unless the mean of what is drawn looks like the mean of the real ones (correlation above 0.8), and drawings differ.
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

NOISE = 16


def networks():
    """(from noise [N, 16] to pixels [N, 64], from pixels to how real they are [N, 1])."""
    nn = paddle.nn
    draws = nn.Sequential(nn.Linear(NOISE, 64), nn.BatchNorm1D(64), nn.ReLU(), nn.Linear(64, 128), nn.BatchNorm1D(128),
                          nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())  # fmt: skip
    judges = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(128, 64), nn.LeakyReLU(0.2),
                           nn.Linear(64, 1))  # fmt: skip
    return draws, judges


def tiles(images, side):
    return images[: side * side].reshape(side, side, 8, 8).transpose(0, 2, 1, 3).reshape(side * 8, side * 8)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    real = (load_digits().data / 16).astype("float32")
    paddle.seed(3)
    random = np.random.default_rng(3)
    draws, judges = networks()
    loss_of = paddle.nn.BCEWithLogitsLoss()
    optimizers = [
        paddle.optimizer.Adam(rate, beta1=0.5, parameters=net.parameters())
        for net, rate in ((draws, 2e-3), (judges, 1e-3))
    ]
    size, history = 64, []
    yes, no = paddle.full([size, 1], 0.9), paddle.zeros([size, 1])
    for _ in range(400 if options.quick else 6000):
        x = paddle.to_tensor(real[random.integers(0, len(real), size)])
        drawn = draws(paddle.randn([size, NOISE]))
        judged = loss_of(judges(x), yes) + loss_of(judges(drawn.detach()), no)
        judged.backward()
        optimizers[1].step()
        optimizers[1].clear_grad()
        fooled = loss_of(judges(drawn), paddle.ones([size, 1]))
        fooled.backward()
        optimizers[0].step()
        for optimizer in optimizers:
            optimizer.clear_grad()
        history.append((judged.item(), fooled.item()))
    draws.eval()
    with paddle.no_grad():
        images = draws(paddle.randn([500, NOISE])).numpy()
    likeness = np.corrcoef(images.mean(0), real.mean(0))[0, 1]
    variety = images.std(0).mean() / real.std(0).mean()
    print(f"the mean of drawn digits is like that of real ones: {likeness:.3f}; variety {variety:.2f} of theirs")
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2))
    for axis, shown, title in zip(axes, (real, images), ("real", "drawn")):
        axis.imshow(tiles(shown, 10), cmap="gray_r")
        axis.set_title(title)
        axis.set_axis_off()
    smooth = np.ones(25) / 25
    for values, label in zip(np.array(history).T, ("who judges", "who draws")):
        axes[2].plot(np.convolve(values, smooth, "valid"), label=label)
    axes[2].set_title("losses")
    axes[2].legend()
    figure.tight_layout()
    figure.savefig(os.path.join(options.out, "gan.png"), dpi=110)
    plt.close(figure)
    return 0 if likeness > 0.8 and variety > 0.4 else 1


if __name__ == "__main__":
    sys.exit(main())
