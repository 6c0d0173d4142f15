"""What sequences cost: steps of an LSTM language model and of the CTC loss, in CPU milliseconds of one thread.

    python benchmarks/sequences.py [--framework proa|torch] [--rounds 9]

One framework a process; run by turns to compare (the machine's speed drifts). The language model is 2 x 650, 35 steps, batch
20, 10000 words: forward, backward, a step of SGD. Medians; `layers` is the two LSTM layers alone, `model` all of it.
"""

from __future__ import annotations

import argparse
import importlib
import time

import numpy as np

_WORDS, _SIZE, _STEPS, _BATCH = 10_000, 650, 35, 20
_CTC = ((50, 32, 37, 8), (150, 16, 100, 30), (100, 8, 6625, 25))  # steps, batch, classes, labels


class Proa:
    def __init__(self):
        self.lib = lib = importlib.import_module("proa")
        lib._C.set_num_threads(1)
        self.nn, self.F, self.tensor = lib.nn, lib.nn.functional, lib.to_tensor

    def leaf(self, x):
        return self.lib.to_tensor(x, stop_gradient=False)

    def clear(self, x):
        x.clear_gradient()

    def lstm(self):
        return self.nn.LSTM(_SIZE, _SIZE, num_layers=2)

    def model(self):
        parts = self.nn.Embedding(_WORDS, _SIZE), self.lstm(), self.nn.Linear(_SIZE, _WORDS)
        return parts, self.lib.optimizer.SGD(0.1, parameters=[p for layer in parts for p in layer.parameters()])

    def scores_loss(self, scores, labels):
        return self.F.cross_entropy(scores, labels)

    def ctc(self, logits, *more):
        return self.F.ctc_loss(logits, *more)

    def clear_all(self, optimizer):
        optimizer.clear_grad()


class Torch:
    def __init__(self):
        self.lib = lib = importlib.import_module("torch")
        lib.set_num_threads(1)
        self.nn, self.F, self.tensor = lib.nn, lib.nn.functional, lib.tensor

    def leaf(self, x):
        return self.lib.tensor(x, requires_grad=True)

    def clear(self, x):
        x.grad = None

    def lstm(self):
        return self.nn.LSTM(_SIZE, _SIZE, num_layers=2, batch_first=True)

    def model(self):
        parts = self.nn.Embedding(_WORDS, _SIZE), self.lstm(), self.nn.Linear(_SIZE, _WORDS)
        return parts, self.lib.optim.SGD([p for layer in parts for p in layer.parameters()], 0.1)

    def scores_loss(self, scores, labels):
        return self.F.cross_entropy(scores, labels)

    def ctc(self, logits, *more):
        return self.F.ctc_loss(self.F.log_softmax(logits, -1), *more)

    def clear_all(self, optimizer):
        optimizer.zero_grad(set_to_none=True)


def cases(framework):
    """Pairs of a name and a function that does it once."""
    rng = np.random.default_rng(0)
    layers = framework.lstm()
    x = framework.leaf(rng.standard_normal((_BATCH, _STEPS, _SIZE)).astype("float32"))

    def run_layers():
        framework.clear(x)
        for p in layers.parameters():
            framework.clear(p)
        layers(x)[0].sum().backward()

    yield "layers", run_layers
    (embedding, lstm, linear), optimizer = framework.model()
    words, labels = (framework.tensor(rng.integers(0, _WORDS, (_BATCH, _STEPS))) for _ in range(2))

    def run_model():
        scores = linear(lstm(embedding(words))[0]).reshape([-1, _WORDS])
        framework.scores_loss(scores, labels.reshape([-1])).backward()
        optimizer.step()
        framework.clear_all(optimizer)

    yield "model", run_model
    for steps, batch, classes, length in _CTC:
        logits = framework.leaf(rng.standard_normal((steps, batch, classes)).astype("float32"))
        more = [
            framework.tensor(v)
            for v in (rng.integers(1, classes, (batch, length)), np.full(batch, steps), np.full(batch, length))
        ]

        def run_ctc(logits=logits, more=more):
            framework.clear(logits)
            framework.ctc(logits, *more).backward()

        yield f"ctc {steps}x{batch}x{classes}, {length}", run_ctc


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", choices=("proa", "torch"), default="proa")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    framework = Proa() if args.framework == "proa" else Torch()
    for name, step in cases(framework):
        times = []
        for _ in range(args.rounds + 2):
            start = time.process_time()
            step()
            times.append(1e3 * (time.process_time() - start))
        print(f"{args.framework:6} {name:24} {np.median(times[2:]):9.2f} ms")


if __name__ == "__main__":
    main()
