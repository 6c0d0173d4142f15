"""Random networks in every way that they can run (random_networks.py), and that a way that is wrong is seen."""

import numpy as np
import pytest

from proa import nn
from python.tests import random_networks


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(24))
def test_every_way_gives_what_calling_does(seed):
    assert random_networks.differences(seed) == []


def test_a_wrong_way_is_seen(monkeypatch):
    def wrong(net, arrays, folder, open_sizes):
        results = random_networks._converted(net, arrays, folder, open_sizes)
        return [[r + 1e-3 * np.abs(r).max() for r in rs] for rs in results]

    monkeypatch.setitem(random_networks.WAYS, "wrong", (wrong, 1e-5))
    texts = random_networks.differences(1, ["wrong"])
    assert len(texts) == 3 and all(t.startswith("wrong, ") for t in texts)


def test_networks_are_of_many_kinds():
    texts = " ".join(repr(random_networks.make(seed)) for seed in range(300))
    for kind in (
        "conv",
        "transposed",
        "batch",
        "affine",
        "prelu",
        "gate",
        "concat",
        "split",
        "attention",
        "layer norm in pieces",
        "LSTM",
        "pixels",
    ):
        assert kind in texts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_ranks_learn_what_one_process_does(seed, count):
    assert random_networks.on_ranks(seed, count) == []


@pytest.mark.filterwarnings("ignore")
def test_ranks_that_learn_something_else_are_seen(monkeypatch):
    monkeypatch.setattr(nn.SyncBatchNorm, "convert_sync_batchnorm", lambda net: net)
    (first, second) = random_networks.on_ranks(1)  # it has a batch norm
    assert first.startswith("rank 0 of 2: ") and second.startswith("rank 1 of 2: ")
