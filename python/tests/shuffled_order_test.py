"""The order of shuffled data, as long as a program seeds NumPy and not Proa: that of PaddlePaddle, number for number."""

import random
import sys

import numpy as np
import pytest

import proa
from proa import io
from proa.framework import random as seeds


class Rows(io.Dataset):
    """The numbers 0, 1, 2 and so on."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return np.array([i])


class Noise(Rows):
    """What the generators of Python and NumPy give."""

    def __getitem__(self, i):
        return np.array([np.random.rand(), random.random()])


@pytest.fixture
def unseeded(monkeypatch):
    monkeypatch.setattr(seeds, "_seeded", False)


def order(loader):
    return [i for batch in loader for i in np.ravel(batch.numpy()).tolist()]


def test_samplers_draw_what_the_reference_draws(unseeded):
    drawn = [
        (io.RandomSampler(Rows(10)), lambda: np.random.choice(np.arange(10), 10, replace=False)),
        (io.RandomSampler(Rows(10), num_samples=4), lambda: np.random.choice(np.arange(10), 4, replace=False)),
        (io.RandomSampler(Rows(10), True, 15), lambda: np.random.choice(np.arange(10), 15, replace=True)),
        (io.WeightedRandomSampler([1.0, 3.0, 4.0], 9), lambda: np.random.choice(3, 9, True, [0.125, 0.375, 0.5])),
        (
            io.WeightedRandomSampler([1.0, 3.0, 4.0], 2, False),
            lambda: np.random.choice(3, 2, False, [0.125, 0.375, 0.5]),
        ),
    ]
    for sampler, expected in drawn:
        np.random.seed(7)
        found, after = list(sampler), np.random.rand()
        np.random.seed(7)
        assert found == expected().tolist() and after == np.random.rand(), type(sampler).__name__


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_of_loaders(unseeded, workers, persistent):
    """With workers the seed of theirs is drawn before the order, once for those that stay."""
    loader = io.DataLoader(
        Rows(7), shuffle=True, batch_size=3, num_workers=workers, persistent_workers=persistent and workers > 0
    )
    np.random.seed(3)
    found = [order(loader) for _ in range(3)]
    np.random.seed(3)
    for epoch, rows in enumerate(found):
        if workers and not (persistent and epoch):
            np.random.randint(0, sys.maxsize)
        assert rows == np.random.choice(np.arange(7), 7, replace=False).tolist()


def test_numbers_in_workers(unseeded):
    """Found with PaddlePaddle 3.3: worker 0 of 2 gives the first and third batch, worker 1 the second."""
    np.random.seed(7)
    rows = np.concatenate([batch.numpy() for batch in io.DataLoader(Noise(6), batch_size=2, num_workers=2)])
    np.random.seed(7)
    base = int(np.random.randint(0, sys.maxsize))
    expected = {}
    for rank in range(2):
        numbers = np.random.RandomState(np.random.SeedSequence([rank, base % 2**32, base >> 32]).generate_state(4))
        plain = random.Random(base + rank)
        expected[rank] = [[numbers.rand(), plain.random()] for _ in range(4)]
    np.testing.assert_array_equal(rows, expected[0][:2] + expected[1][:2] + expected[0][2:])


def test_a_seed_of_proa_decides(unseeded):
    def drawn(numpy_seed):
        proa.seed(5)
        np.random.seed(numpy_seed)
        noise = [batch.numpy() for batch in io.DataLoader(Noise(4), batch_size=2, num_workers=2)]
        return order(io.DataLoader(Rows(20), shuffle=True, batch_size=3)), np.concatenate(noise).tolist()

    assert not seeds.is_seeded()
    assert drawn(1) == drawn(2)
    assert seeds.is_seeded()


def test_splits_and_subsets_leave_numpys_numbers_alone(unseeded):
    """As in PaddlePaddle, where the generator of tensors gives their order."""
    np.random.seed(1)
    first, second = io.random_split(Rows(10), [3, 7])
    assert sorted(first.indices + second.indices) == list(range(10))
    assert sorted(io.SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    assert np.random.rand() == np.random.RandomState(1).rand()


def test_an_iterator_of_indices_may_end():
    assert list(io.RandomSampler(Rows(10), generator=iter([1, 2]))) == [1, 2]
    assert list(io.RandomSampler(Rows(10), num_samples=2, generator=iter([5, 6, 7]))) == [5, 6]
