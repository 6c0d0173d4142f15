"""Tells from a sentence where it was written: in Python's reference, about NumPy, or about data sets.

    python train.py [--quick] [--out FOLDER]

The corpus is what the installed packages ship: `pydoc_data.topics`, the docstrings of NumPy, scikit-learn's descriptions of
data sets. Writes text.png: who was taken for whom, and the words that say most. Ends with status 1 unless 75 % of held-out
sentences are right (65 % with --quick).
"""

import argparse
import collections
import inspect
import os
import pathlib
import pydoc_data.topics
import re
import sys

import matplotlib
import numpy as np
import sklearn.datasets

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

SOURCES = ("Python", "NumPy", "data sets")
LENGTH = 30


def sentences():
    """[(words, number of the source)], of each source as many as of the smallest."""
    folder = pathlib.Path(sklearn.datasets.__file__).parent / "descr"
    texts = (
        "\n\n".join(text for _, text in sorted(pydoc_data.topics.topics.items())),
        "\n\n".join(inspect.getdoc(getattr(np, name)) or "" for name in sorted(np.__all__)),
        "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.rst"))),
    )
    found = []
    for text in texts:
        parts = re.split(r"(?<=[.:;])\s|\n\s*\n", text)
        words = [re.findall(r"[a-z]+", part.lower()) for part in parts]
        found.append(list({tuple(w): None for w in words if 6 <= len(w) <= LENGTH}))
    count = min(map(len, found))
    random = np.random.default_rng(0)
    return [(list(f[i]), k) for k, f in enumerate(found) for i in random.permutation(len(f))[:count]]


class Classifier(paddle.nn.Layer):
    """Embeddings, a convolution over three words, the largest of each channel: [N, LENGTH] to [N, 3]."""

    def __init__(self, words, width=32):
        super().__init__()
        nn = paddle.nn
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.window = nn.Conv1D(width, width, 3, padding=1)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(width, len(SOURCES))

    def forward(self, x):
        hidden = paddle.nn.functional.relu(self.window(self.words(x).transpose([0, 2, 1])))
        return self.out(self.drop(hidden.max(-1)))


def picture(net, table, vocabulary, path):
    """Who was taken for whom; the words that alone speak most for each source."""
    with paddle.no_grad():
        alone = np.zeros([len(vocabulary), LENGTH], "int64")
        alone[:, 0] = np.arange(1, len(vocabulary) + 1)
        votes = paddle.nn.functional.log_softmax(net(paddle.to_tensor(alone))).numpy()
    figure, axes = plt.subplots(1, 4, figsize=(14, 4.5))
    axes[0].imshow(table, cmap="Blues")
    for i, j in np.ndindex(*table.shape):
        axes[0].text(
            j, i, table[i, j], ha="center", va="center", color="white" if table[i, j] > table.max() / 2 else "black"
        )
    axes[0].set(
        xticks=range(3), yticks=range(3), xticklabels=SOURCES, yticklabels=SOURCES, title="taken for", ylabel="is"
    )
    for k, axis in enumerate(axes[1:]):
        best = np.argsort(votes[:, k])[-15:]
        axis.barh([vocabulary[i] for i in best], np.exp(votes[best, k]), color=f"C{k}")
        axis.set_title(SOURCES[k])
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few epochs, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    corpus = sentences()
    counts = collections.Counter(word for words, _ in corpus for word in words)
    vocabulary = [word for word, n in counts.most_common(2000) if n > 2]
    code = {word: i + 1 for i, word in enumerate(vocabulary)}
    x = np.array([[code.get(w, 0) for w in words] + [0] * (LENGTH - len(words)) for words, _ in corpus])
    y = np.array([k for _, k in corpus])
    order = np.random.default_rng(2).permutation(len(x))
    held, train = order[: len(x) // 5], order[len(x) // 5 :]
    paddle.seed(2)
    net = Classifier(len(vocabulary) + 1)
    optimizer = paddle.optimizer.Adam(3e-3, parameters=net.parameters(), weight_decay=1e-5)
    data = paddle.io.TensorDataset([paddle.to_tensor(x[train]), paddle.to_tensor(y[train])])
    for _ in range(6 if options.quick else 12):
        for words, source in paddle.io.DataLoader(data, batch_size=32, shuffle=True):
            loss = paddle.nn.functional.cross_entropy(net(words), source)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    net.eval()
    with paddle.no_grad():
        guess = net(paddle.to_tensor(x[held])).argmax(-1).numpy()
    table = np.zeros((3, 3), int)
    np.add.at(table, (y[held], guess), 1)
    right = np.trace(table) / len(held)
    print(f"{len(corpus)} sentences, {len(vocabulary)} words; {right:.1%} of {len(held)} held-out sentences right")
    picture(net, table, vocabulary, os.path.join(options.out, "text.png"))
    return 0 if right > (0.65 if options.quick else 0.75) else 1


if __name__ == "__main__":
    sys.exit(main())
