"""Finds handwriting on photographs, pixel by pixel, with a small U-Net.

    python train.py [--quick] [--out FOLDER]

Handwritten digits are written over pieces of the two photographs that scikit-learn ships. Writes segmentation.png: pieces, what
is handwriting, what the network says. Ends with status 1 unless handwriting is found with an intersection over union of 0.7
on pieces not trained on (0.3 with --quick).
"""

import argparse
import os
import sys

import matplotlib
import numpy as np
from sklearn.datasets import load_digits, load_sample_images

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

SIDE = 48


def pieces(count, random, photographs, digits):
    """(images [N, 3, SIDE, SIDE] in [0, 1], masks [N, 1, SIDE, SIDE] of 0 and 1)."""
    images, masks = np.empty([count, 3, SIDE, SIDE], "float32"), np.zeros([count, 1, SIDE, SIDE], "float32")
    for k in range(count):
        photograph = photographs[random.integers(len(photographs))]
        i, j = random.integers(0, photograph.shape[0] - SIDE), random.integers(0, photograph.shape[1] - SIDE)
        images[k] = photograph[i : i + SIDE, j : j + SIDE].transpose(2, 0, 1) / 255
        for _ in range(random.integers(1, 4)):
            ink = np.kron(digits[random.integers(len(digits))], np.ones((2, 2)))
            i, j = random.integers(0, SIDE - 16, 2)
            masks[k, 0, i : i + 16, j : j + 16] = np.maximum(masks[k, 0, i : i + 16, j : j + 16], ink > 6)
        color = random.random(3).astype("float32")[:, None, None]
        images[k] = np.where(masks[k] > 0, 0.75 * color + 0.25 * images[k], images[k])
    return images, masks


class UNet(paddle.nn.Layer):
    """Two steps down and up again, with what was seen on the way: [N, 3, H, W] to [N, 1, H, W]."""

    def __init__(self, width=12):
        super().__init__()
        nn = paddle.nn

        def block(inside, outside):
            return nn.Sequential(nn.Conv2D(inside, outside, 3, padding=1), nn.BatchNorm2D(outside), nn.ReLU(),
                                 nn.Conv2D(outside, outside, 3, padding=1), nn.BatchNorm2D(outside), nn.ReLU())  # fmt: skip

        self.down = nn.LayerList([block(3, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.wider = nn.LayerList([nn.Conv2DTranspose(k * width, k * width // 2, 2, stride=2) for k in (4, 2)])
        self.up = nn.LayerList([block(4 * width, 2 * width), block(2 * width, width)])
        self.out = nn.Conv2D(width, 1, 1)
        self.pool = nn.MaxPool2D(2)

    def forward(self, x):
        seen: list[paddle.Tensor] = []
        for layer in self.down:
            x = layer(self.pool(x) if seen else x)
            seen.append(x)
        for wider, layer, before in zip(self.wider, self.up, seen[-2::-1]):
            x = layer(paddle.concat([wider(x), before], 1))
        return self.out(x)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    # Of each photograph the left part is learned from, the right one is for the test; of digits some and others.
    photographs, digits = load_sample_images().images, load_digits().images
    parts = [[p[:, :440] for p in photographs], [p[:, 440:] for p in photographs]]
    random = np.random.default_rng(6)
    paddle.seed(6)
    net = UNet()
    steps = 70 if options.quick else 500
    rate = paddle.optimizer.lr.CosineAnnealingDecay(5e-3, T_max=steps)
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters())
    loss_of = paddle.nn.BCEWithLogitsLoss(pos_weight=paddle.to_tensor([3.0]))
    for _ in range(steps):
        x, mask = pieces(8, random, parts[0], digits[:1500])
        loss = loss_of(net(paddle.to_tensor(x)), paddle.to_tensor(mask))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
    net.eval()
    x, mask = pieces(64, random, parts[1], digits[1500:])
    with paddle.no_grad():
        found = (net(paddle.to_tensor(x)) > 0).numpy()
    overlap = (found & (mask > 0)).sum() / (found | (mask > 0)).sum()
    print(f"intersection over union of handwriting: {overlap:.2f}")
    figure, axes = plt.subplots(3, 8, figsize=(13, 5))
    rows = (("piece", x.transpose(0, 2, 3, 1)), ("is handwriting", mask[:, 0]), ("the network says", found[:, 0]))
    for line, (title, shown) in zip(axes, rows):
        for axis, image in zip(line, shown):
            axis.imshow(image, cmap="gray_r")
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title)
    figure.tight_layout()
    figure.savefig(os.path.join(options.out, "segmentation.png"), dpi=110)
    plt.close(figure)
    return 0 if overlap > (0.3 if options.quick else 0.7) else 1


if __name__ == "__main__":
    sys.exit(main())
