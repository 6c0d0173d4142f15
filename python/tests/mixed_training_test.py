"""A convolutional network learns handwritten digits at O1 and O2, in float16 and bfloat16, as it does in float32."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import proa as paddle

STEPS = 350


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
    return np.convolve(losses, np.ones(50) / 50, "valid"), right.mean()


@pytest.fixture(scope="module")
def in_float32():
    return _train("O0", "float16")[0]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_digits(level, dtype, in_float32):
    losses, right = _train(level, dtype)
    assert right >= 0.98
    # Smoothed over 50 steps: within a hundredth of where it began.
    assert np.abs(losses - in_float32).max() < 0.01 * in_float32[0]
