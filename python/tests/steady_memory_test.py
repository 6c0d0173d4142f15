"""Training in its steady state takes no memory from the system: blocks are used again."""

import os
import resource

import numpy as np
import pytest

import proa
from proa import nn

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in AddressSanitizer's quarantine"
)


def _step():
    """One step of a small convolutional network, with megabytes of activations."""
    net = nn.Sequential(
        nn.Conv2D(3, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Conv2D(16, 32, 3, padding=1), nn.BatchNorm2D(32), nn.ReLU(), nn.AdaptiveAvgPool2D(1),
        nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    optimizer = proa.optimizer.Momentum(0.01, parameters=net.parameters())
    rng = np.random.default_rng(0)
    x = proa.to_tensor(rng.standard_normal((16, 3, 48, 48)).astype("float32"))
    label = proa.to_tensor(rng.integers(0, 10, 16))

    def step():
        loss = nn.functional.cross_entropy(net(x), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return float(loss)

    return step


def test_no_page_is_touched_first():
    step = _step()
    for _ in range(12):
        step()
    reserved = proa.device.memory_reserved("cpu")
    least = None
    for _ in range(5):  # what else the interpreter does may cost a page now and then
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(4):
            step()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        least = faults if least is None else min(least, faults)
    assert proa.device.memory_reserved("cpu") == reserved
    assert least == 0


def test_released_memory_is_faulted_in_again():
    """The measure above does measure: with nothing kept, each step touches new pages, if only huge ones."""
    step = _step()
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        step()
        proa.device.empty_cache("cpu")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before >= 8
