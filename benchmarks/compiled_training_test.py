"""The rows of compiled training: what is compared, and that steps learn whichever way they are compiled."""

import compiled_training
import models
import networks
import numpy as np
import pytest


def test_ratios():
    medians = {"proa": 4.0, "proa_compiled": 3.0, "torch": 5.0, "torch_compiled": 6.0}
    work = "LeNet, batch 64, training"
    found = compiled_training.ratios(work, medians, 2.0)
    assert found == {"limit": 1.5, "eager": 0.75, "torch.compile": 0.5}
    text = compiled_training.report(work, found)
    assert "1.500 of the limit (at most 1.7 promised)" in text and "0.500 of torch.compile" in text
    assert compiled_training.ratios(work, {"proa_compiled": 3.0}, None) == dict.fromkeys(found)
    assert compiled_training.report(work, dict.fromkeys(found)) == ""


def test_what_is_promised_is_measured():
    assert set(compiled_training.PROMISED) <= set(models.WORK) and len(compiled_training.PROMISED) == 5
    assert all(models.WORK[work].trains for work in compiled_training.PROMISED)


@pytest.mark.parametrize("work", ["LeNet, batch 64, training", "Ten Linear(4, 4) + ReLU, batch 1, training"])
def test_compiled_steps_are_the_eager_ones(work):
    losses = []
    for compiled in (False, True):
        a = networks.api("proa")
        a.lib.seed(5)
        step = models.runner(a, work, compiled=compiled)
        losses.append([step() for _ in range(4)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert losses[0][0] != losses[0][-1]
