"""Trains an LSTM to add: which two numbers of a sequence are marked, and what is their sum?

    python train.py [--quick] [--steps N]

The adding problem (Hochreiter and Schmidhuber, 1997): each step has a number in [0, 1)
and a mark; two steps are marked. A network that always answers 1, the mean, has an error
of 1/6; only memory over the length of the sequence does better. Ends with status 1
unless the error falls below a tenth of that (half of it with --quick).
"""

import argparse
import sys

import numpy as np

import proa as paddle
from proa.hapi.progress import ProgressBar


class Adder(paddle.nn.Layer):
    """An LSTM over the sequence and a linear layer on its last state."""

    def __init__(self, hidden):
        super().__init__()
        self.lstm = paddle.nn.LSTM(2, hidden)
        self.out = paddle.nn.Linear(hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.out(h[-1])


def make_batch(random, size, length):
    """Sequences [size, length, 2] and sums [size, 1]."""
    numbers = random.random((size, length), dtype="float32")
    marks = np.zeros((size, length), "float32")
    half = length // 2
    first, second = random.integers(0, half, size), random.integers(half, length, size)
    rows = np.arange(size)
    marks[rows, first] = marks[rows, second] = 1.0
    return np.stack([numbers, marks], 2), (numbers * marks).sum(1, keepdims=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short sequences and few steps, for tests")
    parser.add_argument("--steps", type=int, help="batches")
    options = parser.parse_args(arguments)
    length, hidden, steps, part = (8, 24, 250, 0.5) if options.quick else (24, 48, 1200, 0.1)
    steps = options.steps or steps
    paddle.seed(3)
    random = np.random.default_rng(3)
    net = Adder(hidden)
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.Adam(1e-2 if options.quick else 4e-3, parameters=net.parameters(), grad_clip=clip)
    bar, recent = ProgressBar(steps), 1.0 / 6
    for step in range(1, steps + 1):
        x, y = make_batch(random, 64, length)
        loss = paddle.nn.functional.mse_loss(net(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        recent += (loss.item() - recent) * 0.05
        bar.update(step, [("error", recent)])
    net.eval()
    x, y = make_batch(random, 1000, length)
    with paddle.no_grad():
        answers = net(paddle.to_tensor(x)).numpy()
    error = float(((answers - y) ** 2).mean())
    for i in range(5):
        marked = x[i, x[i, :, 1] == 1, 0]
        print(f"  {marked[0]:.3f} + {marked[1]:.3f} = {y[i, 0]:.3f}   answer {answers[i, 0]:.3f}")
    print(f"mean squared error {error:.5f}; always answering the mean gives {1 / 6:.5f}")
    return 0 if error < part / 6 else 1


if __name__ == "__main__":
    sys.exit(main())
