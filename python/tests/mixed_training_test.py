"""Networks learn at O1 and O2, in float16 and bfloat16, as they do in float32: a convolutional one handwritten digits, a small
transformer text, an LSTM to add. benchmarks/loss_curves.py is the same with the examples' networks and many seeds."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import proa as paddle

STEPS = 500
EVERY = [(level, dtype) for level in ("O1", "O2") for dtype in ("float16", "bfloat16")]
TEXT = (
    "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs; "
    "how vexingly quick daft zebras jump; sphinx of black quartz, judge my vow; "
) * 4


def _smoothed(losses):
    return np.convolve(losses, np.ones(50) / 50, "valid")


def _digits():
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.images))
    return (digits.images[order] / 16.0).astype("float32")[:, None], digits.target[order].astype("int64")


def _train(level, dtype):
    """(losses, part of the held-out digits that is right)."""
    nn = paddle.nn
    paddle.seed(0)
    net = nn.Sequential(
        nn.Conv2D(1, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(2),
        nn.Conv2D(16, 32, 3, padding=1), nn.BatchNorm2D(32), nn.ReLU(), nn.MaxPool2D(2),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    adam = paddle.optimizer.Adam(2e-3, parameters=net.parameters())
    if level == "O2":
        net, adam = paddle.amp.decorate(net, adam, level, dtype)
    scaler = paddle.amp.GradScaler(enable=dtype == "float16")
    (images, labels), batches, losses = _digits(), np.random.RandomState(1), []

    def forward(rows):
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            return net(paddle.to_tensor(images[rows]))

    for _ in range(STEPS):
        rows = batches.randint(0, 1500, 64)
        loss = nn.functional.cross_entropy(forward(rows).astype("float32"), paddle.to_tensor(labels[rows]))
        scaler.scale(loss).backward()
        scaler.step(adam)
        scaler.update()
        adam.clear_grad()
        losses.append(loss.item())
    net.eval()
    right = forward(slice(1500, None)).astype("float32").numpy().argmax(1) == labels[1500:]
    return _smoothed(losses), right.mean()


@pytest.fixture(scope="module")
def in_float32():
    return _train("O0", "float16")[0]


@pytest.mark.parametrize("level, dtype", EVERY)
def test_digits(level, dtype, in_float32):
    losses, right = _train(level, dtype)
    assert right >= 0.98
    # Smoothed over 50 steps: within a hundredth of where it began.
    assert np.abs(losses - in_float32).max() < 0.01 * in_float32[0]


class _Transformer(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        nn = paddle.nn
        self.characters, self.places = nn.Embedding(128, 32), nn.Embedding(16, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, activation="gelu", normalize_before=True)
        self.out = nn.Linear(32, 128)

    def forward(self, x):
        mask = paddle.triu(paddle.full([16, 16], float("-inf")), 1)
        return self.out(self.encoder(self.characters(x) + self.places(paddle.arange(16)), mask))


class _Adder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = paddle.nn.LSTM(2, 24), paddle.nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[1][0][-1])


def _characters(random):
    codes = np.frombuffer(TEXT.encode(), "uint8").astype("int64")
    rows = np.stack([codes[s : s + 17] for s in random.randint(0, len(codes) - 17, 16)])
    return rows[:, :-1], rows[:, 1:]


def _sums(random):
    numbers, marks = random.rand(32, 8).astype("float32"), np.zeros((32, 8), "float32")
    marks[np.arange(32), random.randint(0, 4, 32)] = marks[np.arange(32), random.randint(4, 8, 32)] = 1.0
    return np.stack([numbers, marks], 2), (numbers * marks).sum(1, keepdims=True)


def _curve(make, batch, criterion, seeds, level="O0", dtype="float16"):
    """The mean of several runs' losses, each the mean of fifty steps in a row."""
    return np.mean([_smoothed(_run(make, batch, criterion, seed, level, dtype)) for seed in range(seeds)], 0)


def _run(make, batch, criterion, seed, level, dtype):
    """Losses, with clipping, and a step that decays."""
    paddle.seed(seed)
    net, random, losses = make(), np.random.RandomState(seed), []
    optimizer = paddle.optimizer.AdamW(
        1e-2, parameters=net.parameters(), weight_decay=0.01, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    if level == "O2":
        net, optimizer = paddle.amp.decorate(net, optimizer, level, dtype)
    # From a scale at which no step is left out.
    scaler = paddle.amp.GradScaler(enable=level != "O0" and dtype == "float16", init_loss_scaling=256.0)
    for _ in range(STEPS):
        x, target = map(paddle.to_tensor, batch(random))
        with paddle.amp.auto_cast(level != "O0", level=level, dtype=dtype):
            found = net(x)
        loss = criterion(found.astype("float32"), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses


CURVES = {
    "transformer": (_Transformer, _characters, paddle.nn.functional.cross_entropy, 1),
    "LSTM": (_Adder, _sums, paddle.nn.functional.mse_loss, 16),  # late in training rounding alone moves one run
}


@pytest.fixture(scope="module")
def curves_in_float32():
    return {name: _curve(*work) for name, work in CURVES.items()}


@pytest.mark.parametrize("level, dtype", EVERY)
@pytest.mark.parametrize("name", CURVES)
def test_curves(name, level, dtype, curves_in_float32):
    exact = curves_in_float32[name]
    found = _curve(*CURVES[name], level, dtype)
    assert exact[-1] < 0.2 * exact[0]  # it learns
    assert np.abs(found - exact).max() < 0.01 * exact[0]
