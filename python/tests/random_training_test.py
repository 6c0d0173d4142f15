"""Random networks learn the same in every way that they can be trained (random_training.py), and a way that is wrong is seen."""

import pytest

import proa
from python.tests import random_training


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(24))
def test_every_way_learns_what_training_at_once_does(seed):
    assert random_training.differences(seed) == []


def test_a_wrong_way_is_seen():
    class Wrong(random_training.AtOnce):
        def gradients(self, x):
            loss = super().gradients(x)
            last = [p for p in self.net.parameters() if p.grad is not None][-1]
            last.grad = last.grad * 1.001
            return loss

    (text,) = random_training.differences(5, [Wrong])  # (by SGD: others divide by how large gradients are)
    assert text.startswith("5 Wrong: ")


def test_plans_are_of_all_kinds():
    plans = [random_training.Plan(seed) for seed in range(24)]
    assert len({p.optimizer for p in plans}) == 9 and {p.images for p in plans} == {True, False}
    assert {p.clip for p in plans} == {0, 1, 2, 3} and {p.schedule for p in plans} == set(range(5))
    assert {p.decay for p in plans} == {0, 1, 2} and {p.grouped for p in plans} == {True, False}
    assert proa.get_default_dtype() == "float32"
