"""Trains a small transformer to write one character after the other.

    python train.py [--quick] [--steps N] [--text FILE]

The text is the larger part of the Declaration of Independence of the United States (1776;
in the public domain). The network sees the characters so far and gives the probability of
the next. Ends with status 1 unless its loss falls well below that of guessing by the
letters' frequencies; then it writes some text of its own.
"""

import argparse
import math
import os
import sys

import numpy as np

import proa as paddle
from proa.hapi.progress import ProgressBar

HERE = os.path.dirname(os.path.abspath(__file__))


class CharTransformer(paddle.nn.Layer):
    """Embeddings of characters and places, encoder layers that look back only, a linear layer."""

    def __init__(self, characters, context, width, heads, layers):
        super().__init__()
        nn = paddle.nn
        small = nn.initializer.Normal(0.0, 0.02)
        self.context = context
        self.characters = nn.Embedding(characters, width, weight_attr=small)
        self.places = nn.Embedding(context, width, weight_attr=small)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.1, activation="gelu", normalize_before=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width))
        self.out = nn.Linear(width, characters)

    def forward(self, x):
        length = x.shape[1]
        mask = paddle.triu(paddle.full([length, length], float("-inf")), 1)
        hidden = self.characters(x) + self.places(paddle.arange(length))
        return self.out(self.encoder(hidden, mask))


def batches(codes, context, size, random):
    """For ever: (characters [size, context], the characters that follow each)."""
    while True:
        starts = random.integers(0, len(codes) - context, size)
        rows = np.stack([codes[s : s + context + 1] for s in starts])
        yield paddle.to_tensor(rows[:, :-1]), paddle.to_tensor(rows[:, 1:])


def entropy(codes):
    """The loss of guessing by frequencies, in nats."""
    p = np.bincount(codes) / len(codes)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


@paddle.no_grad()
def write(net, start, length, alphabet, random, temperature=0.7):
    """`length` characters that the network goes on with after `start`."""
    net.eval()
    codes = [alphabet.index(c) for c in start]
    for _ in range(length):
        logits = net(paddle.to_tensor([codes[-net.context :]]))[0, -1].numpy().astype("float64") / temperature
        p = np.exp(logits - logits.max())
        codes.append(int(random.choice(len(alphabet), p=p / p.sum())))
    net.train()
    return "".join(alphabet[c] for c in codes)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a smaller network and few steps, for tests")
    parser.add_argument("--steps", type=int, help="batches")
    parser.add_argument("--text", default=os.path.join(HERE, "declaration.txt"), help="what to learn")
    options = parser.parse_args(arguments)
    with open(options.text, encoding="utf-8") as stream:
        text = stream.read()
    alphabet = "".join(sorted(set(text)))
    codes = np.array([alphabet.index(c) for c in text], "int64")
    context, width, heads, layers, steps = (32, 32, 2, 1, 150) if options.quick else (48, 64, 4, 2, 600)
    steps = options.steps or steps
    paddle.seed(5)
    random = np.random.default_rng(5)
    net = CharTransformer(len(alphabet), context, width, heads, layers)
    count = sum(p.size for p in net.parameters())
    print(f"{len(text)} characters, {len(alphabet)} different; {count} parameters")
    warm_up = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=steps), max(steps // 20, 1), 0.0, 3e-3
    )
    optimizer = paddle.optimizer.AdamW(
        warm_up, weight_decay=0.01, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    bar, data, recent = ProgressBar(steps), batches(codes, context, 32, random), math.log(len(alphabet))
    for step in range(1, steps + 1):
        x, y = next(data)
        loss = paddle.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        warm_up.step()
        recent += (loss.item() - recent) * 0.05
        bar.update(step, [("loss", recent)])
    by_frequency = entropy(codes)
    print(f"loss {recent:.3f}; guessing by frequencies gives {by_frequency:.3f}\n")
    print(write(net, "We hold", 80 if options.quick else 300, alphabet, random))
    return 0 if recent < (by_frequency - 0.2 if options.quick else 0.5 * by_frequency) else 1


if __name__ == "__main__":
    sys.exit(main())
