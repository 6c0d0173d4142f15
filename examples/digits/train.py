"""Trains a small convolutional network on real handwritten digits.

    python train.py [--quick] [--epochs N] [--out FOLDER]

The data are the UCI handwritten digits that scikit-learn ships: 1797 images of 8 x 8
pixels. A fifth of them is held out. The program writes to FOLDER
  digits.png                          the learning curve, and sample predictions,
  digits.pdmodel and digits.pdiparams  the model, for `proa.jit.load` and the C++ Predictor,
  samples.bin, samples.txt             16 held-out images (float32 [16, 1, 8, 8]) and what the
                                       model says they are, to compare with from C++,
and ends with status 1 unless 98 % of the held-out digits are right (90 % with --quick).
"""

import argparse
import os
import sys

import numpy as np
from sklearn.datasets import load_digits

import proa as paddle
from proa.hapi.progress import ProgressBar

SEED = 2026


class DigitNet(paddle.nn.Layer):
    """Two convolutions, a pool and two linear layers: [N, 1, 8, 8] to [N, 10]."""

    def __init__(self):
        super().__init__()
        nn = paddle.nn
        self.features = nn.Sequential(
            nn.Conv2D(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2D(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def load_data():
    """Images in [0, 1] and labels: (train images, train labels, test images, test labels)."""
    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[:, None]
    labels = digits.target.astype("int64")
    order = np.random.default_rng(SEED).permutation(len(images))
    images, labels = images[order], labels[order]
    held_out = len(images) // 5
    return images[held_out:], labels[held_out:], images[:held_out], labels[:held_out]


def shifted(images, random):
    """Each image moved by up to one pixel, for variety."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = np.empty_like(images)
    for i, (dy, dx) in enumerate(random.integers(0, 3, (len(images), 2))):
        moved[i] = padded[i, :, dy : dy + 8, dx : dx + 8]
    return moved


def evaluate(net, images, labels):
    """(loss, accuracy, predictions) on images."""
    net.eval()
    with paddle.no_grad():
        logits = net(paddle.to_tensor(images))
        loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(labels))
    net.train()
    predictions = logits.numpy().argmax(1)
    return loss.item(), float((predictions == labels).mean()), predictions


def train(net, data, epochs, batch_size=64):
    """Trains; returns for each epoch (train loss, test loss, test accuracy)."""
    images, labels, test_images, test_labels = data
    random = np.random.default_rng(SEED)
    steps = -(-len(images) // batch_size)
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=epochs * steps)
    optimizer = paddle.optimizer.AdamW(schedule, weight_decay=1e-2, parameters=net.parameters())
    criterion = paddle.nn.CrossEntropyLoss()
    curve = []
    for epoch in range(1, epochs + 1):
        print(f"epoch {epoch}/{epochs}")
        bar, total = ProgressBar(steps), 0.0
        order = random.permutation(len(images))
        for step in range(steps):
            chosen = order[step * batch_size : (step + 1) * batch_size]
            x = paddle.to_tensor(shifted(images[chosen], random))
            loss = criterion(net(x), paddle.to_tensor(labels[chosen]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            schedule.step()
            total += loss.item() * len(chosen)
            values = [("loss", total / min((step + 1) * batch_size, len(images)))]
            if step + 1 == steps:
                test_loss, accuracy, _ = evaluate(net, test_images, test_labels)
                values.append(("held-out accuracy", accuracy))
            bar.update(step + 1, values)
        curve.append((total / len(images), test_loss, accuracy))
    return curve


def draw(path, curve, images, labels, predictions):
    """Writes a picture: losses and accuracy by epoch, and 16 digits with their predictions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(11, 4.5))
    left, right = figure.subfigures(1, 2, width_ratios=[1.2, 1])
    axes = left.subplots()
    epochs = range(1, len(curve) + 1)
    axes.plot(epochs, [c[0] for c in curve], label="loss, training", color="tab:blue")
    axes.plot(epochs, [c[1] for c in curve], label="loss, held out", color="tab:orange")
    axes.set(xlabel="epoch", ylabel="loss", yscale="log")
    other = axes.twinx()
    other.plot(epochs, [100 * c[2] for c in curve], label="accuracy, held out", color="tab:green")
    other.set_ylabel("accuracy, %")
    lines = axes.get_lines() + other.get_lines()
    axes.legend(lines, [line.get_label() for line in lines], loc="center right")
    left.suptitle(f"{100 * curve[-1][2]:.1f} % of the held-out digits are right")
    left.subplots_adjust(right=0.86, bottom=0.14)
    for i, cell in enumerate(right.subplots(4, 4, gridspec_kw={"hspace": 0.7}).flat):
        right_answer = predictions[i] == labels[i]
        cell.imshow(images[i, 0], cmap="gray_r")
        cell.set_title(str(predictions[i]), color="black" if right_answer else "red", fontsize=10)
        cell.axis("off")
    right.suptitle("predictions")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def save(folder, net, images, predictions):
    """Saves the model, and samples with which other programs can check it."""
    net.eval()
    spec = paddle.static.InputSpec([None, 1, 8, 8], "float32", "image")
    paddle.jit.save(net, os.path.join(folder, "digits"), input_spec=[spec])
    images[:16].astype("<f4").tofile(os.path.join(folder, "samples.bin"))
    with open(os.path.join(folder, "samples.txt"), "w", encoding="utf-8") as stream:
        stream.write(" ".join(str(p) for p in predictions[:16]) + "\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few epochs, for tests")
    parser.add_argument("--epochs", type=int, help="passes over the data")
    parser.add_argument("--out", default="digits_out", help="folder for the results")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    paddle.seed(SEED)
    data = load_data()
    net = DigitNet()
    curve = train(net, data, options.epochs or (4 if options.quick else 25))
    _, _, test_images, test_labels = data
    _, accuracy, predictions = evaluate(net, test_images, test_labels)
    picture = os.path.join(options.out, "digits.png")
    draw(picture, curve, test_images, test_labels, predictions)
    save(options.out, net, test_images, predictions)
    print(f"\nheld-out accuracy: {100 * accuracy:.2f} % of {len(test_labels)} digits")
    print("labels:     ", *test_labels[:16])
    print("predictions:", *predictions[:16])
    print(f"wrote {picture} and the model {os.path.join(options.out, 'digits')}")
    needed = 0.90 if options.quick else 0.98
    if accuracy < needed:
        print(f"accuracy is below {100 * needed:.0f} %", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
