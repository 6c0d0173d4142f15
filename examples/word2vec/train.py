"""Learns what words mean from their neighbours: skip-gram with negative samples (Mikolov et al., 2013).

    python train.py [--quick] [--out FOLDER]

The text is Python's own reference, `pydoc_data.topics`: about 70,000 words. Writes words.png: the vectors of frequent words in
two dims. Ends with status 1 unless true neighbours score higher than random words in 75 % of held-out pairs (65 % with --quick).
"""

import argparse
import collections
import os
import pydoc_data.topics
import re
import sys

import matplotlib
import numpy as np

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

WINDOW, NEGATIVE = 4, 8


def corpus(least):
    """(the words that occur at least so often, the text as numbers of words)."""
    words = re.findall(r"[a-z]{2,}", " ".join(text for _, text in sorted(pydoc_data.topics.topics.items())).lower())
    vocabulary = [word for word, n in collections.Counter(words).most_common() if n >= least]
    code = {word: i for i, word in enumerate(vocabulary)}
    return vocabulary, np.array([code[w] for w in words if w in code])


def pairs(text, random):
    """[(a word, one of its neighbours)], of words that come very often fewer."""
    share = np.bincount(text) / len(text)
    text = text[random.random(len(text)) < np.minimum(1, np.sqrt(1e-3 / share[text]))]
    near = [np.stack([text[d:], text[:-d]], 1) for d in range(1, WINDOW + 1)]
    found = np.concatenate([*near, *(p[:, ::-1] for p in near)])
    return found[random.permutation(len(found))]


class SkipGram(paddle.nn.Layer):
    """Scores of pairs: words [N], others [N, K] to [N, K]."""

    def __init__(self, words, width):
        super().__init__()
        small = paddle.nn.initializer.Uniform(-0.5 / width, 0.5 / width)
        self.words = paddle.nn.Embedding(words, width, weight_attr=small)
        self.others = paddle.nn.Embedding(words, width, weight_attr=paddle.nn.initializer.Constant(0.0))

    def forward(self, word, others):
        return paddle.bmm(self.others(others), self.words(word).unsqueeze(-1)).squeeze(-1)


def nearest(vectors, vocabulary, word, count=5):
    """The words whose vectors point the same way."""
    scores = vectors @ vectors[vocabulary.index(word)]
    return [vocabulary[i] for i in np.argsort(-scores)[1 : count + 1]]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    random = np.random.default_rng(8)
    vocabulary, text = corpus(25 if options.quick else 8)
    paddle.seed(8)
    net = SkipGram(len(vocabulary), 32 if options.quick else 64)
    optimizer = paddle.optimizer.Adam(5e-3 if options.quick else 2e-3, parameters=net.parameters())
    often = np.bincount(text, minlength=len(vocabulary)) ** 0.75
    often = np.cumsum(often / often.sum())
    data, size = pairs(text, random), 512
    held, data = data[:2000], data[2000:]
    labels = paddle.zeros([size, 1 + NEGATIVE])
    labels[:, 0] = 1
    for step in range(1000 if options.quick else 4000):
        rows = data[step * size % (len(data) - size) :][:size]
        wrong = np.searchsorted(often, random.random([size, NEGATIVE])).clip(max=len(vocabulary) - 1)
        others = np.concatenate([rows[:, 1:], wrong], 1)
        scores = net(paddle.to_tensor(rows[:, 0].copy()), paddle.to_tensor(others))
        loss = paddle.nn.functional.binary_cross_entropy_with_logits(scores, labels) * (1 + NEGATIVE)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    random_words = np.searchsorted(often, random.random(len(held))).clip(max=len(vocabulary) - 1)
    with paddle.no_grad():
        both = np.stack([held[:, 1], random_words], 1)
        scores = net(paddle.to_tensor(held[:, 0].copy()), paddle.to_tensor(both)).numpy()
    right = (scores[:, 0] > scores[:, 1]).mean()
    vectors = net.words.weight.numpy()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    print(f"{len(text)} words, {len(vocabulary)} different; a neighbour beats a random word in {right:.0%} of pairs")
    for word in ("class", "list", "exception", "true"):
        print(f"  {word}: {', '.join(nearest(vectors, vocabulary, word))}")
    shown = [i for i, word in enumerate(vocabulary) if len(word) > 3][:110]
    middle = vectors[shown] - vectors[shown].mean(0)
    places = middle @ np.linalg.svd(middle, full_matrices=False)[2][:2].T
    figure, axis = plt.subplots(figsize=(10, 8))
    axis.scatter(places[:, 0], places[:, 1], s=3, color="silver")
    for i, place in zip(shown, places):
        axis.annotate(vocabulary[i], place, fontsize=8)
    axis.set(title="words of Python's reference, by their neighbours", xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(os.path.join(options.out, "words.png"), dpi=110)
    plt.close(figure)
    return 0 if right > (0.65 if options.quick else 0.75) else 1


if __name__ == "__main__":
    sys.exit(main())
