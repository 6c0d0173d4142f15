"""Translates numbers from English words into French ones with a transformer: "eighty one" to "quatre vingt un".

    python train.py [--quick] [--out FOLDER]

French counts in twenties above sixty, so that words do not go over one by one. Writes translation.png: on which English words
each French one depends, for some numbers that were not trained on. Ends with status 1 unless 90 % of those are right (40 %
with --quick).
"""

import argparse
import os
import sys

import matplotlib
import numpy as np

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf".split()
FRENCH_TENS = "_ _ vingt trente quarante cinquante soixante".split()
PAD, BEGIN, END = "<pad>", "<begin>", "<end>"


def english(n):
    """The words of 0 to 999."""
    words = []
    if n >= 100:
        words, n = [ENGLISH[n // 100], "hundred"], n % 100
        if not n:
            return words
        words.append("and")
    if n < 20:
        return [*words, ENGLISH[n]]
    return [*words, ENGLISH_TENS[n // 10], *([ENGLISH[n % 10]] if n % 10 else [])]


def french(n):
    """The words of 0 to 999."""
    words = []
    if n >= 100:
        words, n = ([FRENCH[n // 100]] if n >= 200 else []) + ["cent"], n % 100
        if not n:
            return words
    if n < 20:
        return [*words, *FRENCH[n].split("-")]
    tens, ones = (n // 20 * 20, n % 20) if n >= 60 else (n // 10 * 10, n % 10)
    words += ["quatre", "vingt"] if tens == 80 else [FRENCH_TENS[tens // 10]]
    if ones in (1, 11) and tens < 80:
        words.append("et")
    return [*words, *(FRENCH[ones].split("-") if ones else [])]


def coded(sentences, code, length):
    """[N, length] numbers of words, filled up with PAD."""
    return np.array([[code[w] for w in s] + [code[PAD]] * (length - len(s)) for s in sentences])


class Translator(paddle.nn.Layer):
    """Scores of the next French word after each: [N, S] and [N, T] to [N, T, words]."""

    def __init__(self, source, target, width=48):
        super().__init__()
        nn = paddle.nn
        self.source, self.target = nn.Embedding(source, width), nn.Embedding(target, width)
        self.places = nn.Embedding(16, width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 2 * width, dropout=0.0)
        self.out = nn.Linear(width, target)

    def forward(self, x, y, embedded=None):
        mask = paddle.triu(paddle.full([y.shape[1]] * 2, float("-inf")), 1)
        x = self.source(x) if embedded is None else embedded
        x, y = x + self.places(paddle.arange(x.shape[1])), self.target(y) + self.places(paddle.arange(y.shape[1]))
        return self.out(self.transformer(x, y, tgt_mask=mask))


@paddle.no_grad()
def translate(net, x, code, length):
    """The most probable words, one after another: [N, length]."""
    y = np.full([len(x), 1], code[BEGIN])
    for _ in range(length):
        y = np.concatenate([y, net(paddle.to_tensor(x), paddle.to_tensor(y))[:, -1:].argmax(-1).numpy()], 1)
    return y[:, 1:]


def influence(net, x, y):
    """How much the score of each word of y moves with each word of x: [T, S], lines adding up to 1."""
    rows = []
    for t in range(1, len(y)):
        embedded = net.source(paddle.to_tensor(x[None])).detach()
        embedded.stop_gradient = False
        score = net(None, paddle.to_tensor(y[None, :t]), embedded)[0, -1, int(y[t])]
        (g,) = paddle.grad(score, embedded)
        rows.append(g.norm(axis=-1)[0].numpy())
    weights = np.array(rows)
    return weights / weights.sum(1, keepdims=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    pairs = [(english(n), [BEGIN, *french(n), END]) for n in range(1000)]
    codes = []
    for side in (0, 1):
        words = [PAD, *sorted({w for pair in pairs for w in pair[side]})]
        codes.append({w: i for i, w in enumerate(words)})
    x, y = (coded([p[k] for p in pairs], codes[k], max(len(p[k]) for p in pairs)) for k in (0, 1))
    random = np.random.default_rng(4)
    order = random.permutation(1000)
    train, held = order[150:], order[:150]
    paddle.seed(4)
    net = Translator(len(codes[0]), len(codes[1]))
    steps = 160 if options.quick else 700
    rate = paddle.optimizer.lr.CosineAnnealingDecay(2e-3, T_max=steps)
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    for _ in range(steps):
        rows = train[random.integers(0, len(train), 64)]
        scores = net(paddle.to_tensor(x[rows]), paddle.to_tensor(y[rows, :-1]))
        loss = paddle.nn.functional.cross_entropy(scores, paddle.to_tensor(y[rows, 1:]), ignore_index=0)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
    net.eval()
    out = translate(net, x[held], codes[1], y.shape[1] - 1)
    words = list(codes[1])
    said = [[words[i] for i in row[: list(row).index(codes[1][END])]] if codes[1][END] in row else [] for row in out]
    right = [s == french(n) for s, n in zip(said, held)]
    print(f"{np.mean(right):.0%} of {len(held)} numbers right that were not trained on")
    for n, s in list(zip(held, said))[:4]:
        print(f"  {' '.join(english(n))}: {' '.join(s)}")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6))
    for n, axis in zip((91, 476, 999), axes):
        source, target = english(n), french(n)
        axis.imshow(influence(net, x[n], y[n, : len(target) + 1])[:, : len(source)], cmap="magma")
        axis.set_xticks(range(len(source)), source, rotation=45, ha="right")
        axis.set_yticks(range(len(target)), target)
        axis.set_title(str(n))
    figure.tight_layout()
    figure.savefig(os.path.join(options.out, "translation.png"), dpi=110)
    plt.close(figure)
    return 0 if np.mean(right) > (0.4 if options.quick else 0.9) else 1


if __name__ == "__main__":
    sys.exit(main())
