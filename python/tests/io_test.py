"""Data sets, samplers and the loader."""

import itertools

import numpy as np
import pytest

import proa
from proa import io


class Numbers(io.Dataset):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, idx):
        return np.float32(idx), idx * idx

    def __len__(self):
        return self.n


class Stream(io.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_batches_in_order():
    loader = io.DataLoader(Numbers(5), batch_size=2)
    batches = [(x.tolist(), y.tolist()) for x, y in loader]
    assert batches == [([0.0, 1.0], [0, 1]), ([2.0, 3.0], [4, 9]), ([4.0], [16])]
    assert len(loader) == 3
    assert len(io.DataLoader(Numbers(5), batch_size=2, drop_last=True)) == 2
    assert len(list(io.DataLoader(Numbers(5), batch_size=2, drop_last=True))) == 2
    assert batches == [(x.tolist(), y.tolist()) for x, y in loader]  # again


def test_shuffle_follows_the_seed():
    def epoch():
        return [int(y) for _, ys in io.DataLoader(Numbers(50), batch_size=7, shuffle=True) for y in ys.tolist()]

    proa.seed(3)
    first = epoch()
    second = epoch()
    proa.seed(3)
    assert epoch() == first
    assert second != first
    assert sorted(first) == [i * i for i in range(50)]


def test_an_iterator_has_next_as_programs_of_2_x_call_it():
    batches = iter(io.DataLoader(Numbers(3), batch_size=2))
    assert batches.next()[0].shape == [2] and batches.next()[0].shape == [1]
    with pytest.raises(StopIteration):
        batches.next()


def test_iterable():
    assert [b.tolist() for b in io.DataLoader(Stream(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in io.DataLoader(Stream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="its own order"):
        io.DataLoader(Stream(5), shuffle=True)
    with pytest.raises(TypeError, match="no length"):
        len(io.DataLoader(Stream(5)))


def test_without_batches():
    assert [int(y) for _, y in io.DataLoader(Numbers(3), batch_size=None)] == [0, 1, 4]


def test_collate_structures():
    batch = io.default_collate_fn(
        [{"a": np.ones([2], "float32"), "b": ["x", 1]}, {"a": np.zeros([2], "float32"), "b": ["y", 2]}]
    )
    assert batch["a"].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert batch["b"][0] == ["x", "y"] and batch["b"][1].tolist() == [1, 2]
    tensors = io.default_collate_fn([proa.ones([2]), proa.zeros([2])])
    assert tensors.shape == [2, 2]
    with pytest.raises(ValueError, match="different shapes"):
        io.default_collate_fn([np.ones(2), np.ones(3)])
    with pytest.raises(ValueError, match="numbers of fields"):
        io.default_collate_fn([(1, 2), (1,)])
    with pytest.raises(TypeError, match="object"):
        io.default_collate_fn([object()])


def test_collate_fn_is_used():
    loader = io.DataLoader(Numbers(4), batch_size=2, collate_fn=lambda samples: [y for _, y in samples])
    assert list(loader) == [[0, 1], [4, 9]]


def test_batch_sampler():
    sampler = io.BatchSampler(Numbers(7), batch_size=3, drop_last=True)
    assert list(sampler) == [[0, 1, 2], [3, 4, 5]] and len(sampler) == 2
    loader = io.DataLoader(Numbers(7), batch_sampler=sampler)
    assert len(loader) == 2
    with pytest.raises(ValueError, match="goes without"):
        io.DataLoader(Numbers(7), batch_sampler=sampler, batch_size=3)
    with pytest.raises(ValueError, match="either"):
        io.BatchSampler()
    for bad in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="batch_size"):
            io.BatchSampler(Numbers(7), batch_size=bad)


def test_random_sampler():
    assert len(list(io.RandomSampler(range(9), num_samples=4))) == 4
    drawn = list(io.RandomSampler(range(3), replacement=True, num_samples=100))
    assert len(drawn) == 100 and set(drawn) == {0, 1, 2}
    assert list(io.RandomSampler(range(9), generator=1)) == list(io.RandomSampler(range(9), generator=1))
    assert list(io.RandomSampler(range(3), generator=iter([2, 0, 1]))) == [2, 0, 1]
    with pytest.raises(ValueError, match="replacement"):
        io.RandomSampler(range(3), num_samples=5)


def test_weighted_sampler():
    drawn = list(io.WeightedRandomSampler([0.0, 1.0, 3.0], 2000))
    assert 0 not in drawn and 0.7 < drawn.count(2) / 2000 < 0.8
    assert sorted(io.WeightedRandomSampler([1.0, 1.0, 0.0], 2, replacement=False)) == [0, 1]
    for weights in ([-1.0, 2.0], [0.0, 0.0], [float("nan")], [[1.0]]):
        with pytest.raises(ValueError, match="weights"):
            io.WeightedRandomSampler(weights, 1)


def test_subset_sampler():
    assert sorted(io.SubsetRandomSampler([3, 5, 8])) == [3, 5, 8]


def test_distributed_sampler_covers_the_data():
    parts = [list(io.DistributedBatchSampler(Numbers(10), 2, num_replicas=4, rank=r)) for r in range(4)]
    flat = [i for part in parts for batch in part for i in batch]
    assert set(flat) == set(range(10)) and len(flat) == 12
    assert len({len(part) for part in parts}) == 1
    a = io.DistributedBatchSampler(Numbers(10), 2, num_replicas=2, rank=0, shuffle=True)
    a.set_epoch(3)
    first = list(a)
    a.set_epoch(3)
    assert list(a) == first
    with pytest.raises(ValueError, match="rank"):
        io.DistributedBatchSampler(Numbers(10), 2, num_replicas=2, rank=2)


@pytest.mark.parametrize(
    "size, ranks, batch, drop_last", list(itertools.product((1, 3, 5, 8, 11, 13), (1, 2, 3), (1, 2, 4), (False, True)))
)
def test_each_process_has_a_batch_in_turn(size, ranks, batch, drop_last):
    """As in the reference: the first samples fill up the last ones; processes take batches in turn, and equal parts of the rest."""
    each = -(-size // ranks)
    order = [i % size for i in range(each * ranks)]
    want = [[] for _ in range(ranks)]
    while len(order) >= batch * ranks:
        for mine in want:
            mine.append([order.pop(0) for _ in range(batch)])
    rest = len(order) // ranks
    for mine in want:
        last = [order.pop(0) for _ in range(rest)]
        if last and not drop_last:
            mine.append(last)
    samplers = [io.DistributedBatchSampler(range(size), batch, ranks, r, drop_last=drop_last) for r in range(ranks)]
    assert [list(sampler) for sampler in samplers] == want
    assert [len(sampler) for sampler in samplers] == [len(mine) for mine in want]


def test_the_shuffled_order_of_processes_is_the_references():
    """The numbers are PaddlePaddle 3.3's: a run that moves here goes on with the batches that it would have had."""
    first, second = (io.DistributedBatchSampler(Numbers(11), 2, 2, rank, shuffle=True) for rank in (0, 1))
    for sampler in (first, second):
        sampler.set_epoch(3)
    assert list(first) == [[5, 4], [0, 6], [3, 9]]
    assert list(second) == [[1, 2], [7, 0], [8, 10]]
    assert list(second) == [[6, 9], [0, 0], [7, 10]] and second.epoch == 5  # of epoch 4
    # What fills up the last batches is shuffled with the rest.
    first.set_epoch(5)
    both = [i for sampler in (first, second) for batch in sampler for i in batch]
    assert len(both) == 12 and set(both) == set(range(11))


def test_a_tensor_without_samples():
    with pytest.raises(ValueError, match="tensor 1 has no dim that would count the samples"):
        io.TensorDataset([proa.ones([2]), 1])


def test_a_flag_of_batches_is_a_bool():
    assert [io.BatchSampler(Numbers(2), shuffle=s).shuffle for s in (True, False)] == [True, False]
    with pytest.raises(TypeError, match="shuffle must be a bool"):
        io.BatchSampler(Numbers(2), shuffle=3)


def test_samplers_of_a_million():
    """All indices are there, in the numbers and shares that were asked for; of ints, not of objects of NumPy's."""
    million = range(10**6)
    for sampler, replacement in (
        (io.SequenceSampler(million), False),
        (io.RandomSampler(million), False),
        (io.SubsetRandomSampler(million), False),
        (io.RandomSampler(million, replacement=True), True),
    ):
        indices = list(sampler)
        assert len(indices) == len(sampler) == 10**6 and type(indices[0]) is int
        # Of as many draws, 1 - 1/e of the indices come.
        assert abs(len(set(indices)) / 1e6 - (0.63212 if replacement else 1)) <= 2e-3 * replacement
        assert (indices == list(million)) == isinstance(sampler, io.SequenceSampler)
    weights = np.ones(10**6)
    weights[: 10**5] = 9.0
    drawn = np.array(list(io.WeightedRandomSampler(weights, 10**6)))
    assert abs((drawn < 10**5).mean() - 0.5) < 2e-3
    drawn = list(io.WeightedRandomSampler(weights, 10**5, replacement=False))
    assert len(set(drawn)) == 10**5
    batches = list(io.BatchSampler(million, shuffle=True, batch_size=4096, drop_last=True))
    assert len(batches) == 244 and len({i for batch in batches for i in batch}) == 244 * 4096
    parts = [io.DistributedBatchSampler(million, 1000, 3, rank, shuffle=True) for rank in range(3)]
    assert len({i for part in parts for batch in part for i in batch}) == 10**6


def test_datasets():
    both = io.ComposeDataset([Numbers(3), Numbers(3)])
    assert both[2] == (2.0, 4, 2.0, 4) and len(both) == 3
    assert list(io.ChainDataset([Stream(2), Stream(3)])) == [0, 1, 0, 1, 2]
    joined = io.ConcatDataset([Numbers(2), Numbers(3)])
    assert [joined[i][1] for i in range(5)] == [0, 1, 0, 1, 4] and joined[-1][1] == 4
    with pytest.raises(IndexError):
        joined[5]
    assert [io.Subset(Numbers(5), [4, 1])[i][1] for i in range(2)] == [16, 1]
    with pytest.raises(ValueError, match="equal"):
        io.ComposeDataset([Numbers(2), Numbers(3)])
    with pytest.raises(ValueError, match="first dims"):
        io.TensorDataset([proa.ones([2]), proa.ones([3])])


def test_random_split():
    parts = io.random_split(Numbers(10), [6, 4], generator=1)
    seen = [parts[0][i][1] for i in range(6)] + [parts[1][i][1] for i in range(4)]
    assert sorted(seen) == [i * i for i in range(10)]
    with pytest.raises(ValueError, match="add up"):
        io.random_split(Numbers(10), [6, 3])


def test_from_generator():
    loader = io.DataLoader.from_generator(capacity=2).set_sample_generator(
        lambda: iter([(1.0, 2), (3.0, 4), (5.0, 6)]), batch_size=2
    )
    assert [y.tolist() for _, y in loader] == [[2, 4]]


def test_collate_of_every_dtype():
    """Big batches, whose memory is taken over, and small ones give the same tensors; nobody else sees that memory."""
    for dtype in "? i1 u1 i2 u2 >i4 i4 u4 i8 u8 f2 >f4 f4 f8 c8 c16".split():
        for size in (3, 20_000):
            samples = [np.arange(size).astype(dtype), np.ones([size], dtype)]
            batch = io.default_collate_fn(samples)
            wanted = proa.to_tensor(np.stack(samples))
            assert batch.dtype == wanted.dtype and np.array_equal(batch.numpy(), wanted.numpy()), dtype
            batch[0] = 0
            assert samples[0].any() and not batch[0].numpy().any() and batch.stop_gradient
    strided = [np.arange(80_000, dtype="float32").reshape(200, 400).T[::2] for _ in range(2)]
    assert np.array_equal(io.default_collate_fn(strided).numpy(), np.stack(strided))


@pytest.mark.parametrize("workers", [0, 2])
def test_where_a_program_is_recorded(workers):
    """Samples are values in static mode, too: what computes them with tensors runs at once."""

    class Computed(proa.io.Dataset):
        def __getitem__(self, idx):
            return proa.ones([2]) * idx + 1

        def __len__(self):
            return 6

    class Stream(proa.io.IterableDataset):
        def __iter__(self):
            part = proa.io.get_worker_info()
            rank, step = (0, 1) if part is None else (part.id, part.num_workers)
            yield from (Computed()[i] for i in range(rank, 6, step))

    def found(dataset, **kwargs):
        batches = list(proa.io.DataLoader(dataset, num_workers=workers, **kwargs))
        return sorted(
            float(v)
            for batch in batches
            for v in np.asarray(batch[0] if isinstance(batch, list) else batch)[..., 0].ravel()
        )

    proa.enable_static()
    try:
        assert found(Computed(), batch_size=2, shuffle=True) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert found(Stream(), batch_size=2) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert found(Stream(), batch_size=None) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert len(proa.io.random_split(Computed(), [2, 4])[1]) == 4
        assert len(list(proa.io.WeightedRandomSampler([0.5, 0.5], 3))) == 3
    finally:
        proa.disable_static()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_sampler_that_has_no_batch_size_gives_batches(workers):
    class ByLength(io.BatchSampler):
        def __init__(self):
            pass

        def __iter__(self):
            yield from ([0, 1], [5], [2, 3, 4])

        def __len__(self):
            return 3

    data = [(np.full(2, i, "float32"), i) for i in range(6)]
    for sampler in (ByLength(), list(ByLength())):
        batches = list(io.DataLoader(data, batch_sampler=sampler, num_workers=workers))
        assert [(x.shape, y.tolist()) for x, y in batches] == [([2, 2], [0, 1]), ([1, 2], [5]), ([3, 2], [2, 3, 4])]


def test_random_split_by_shares():
    parts = io.random_split(Numbers(11), [0.3, 0.3, 0.4])  # 3.3, 3.3 and 4.4 rounded down leave one
    assert [len(p) for p in parts] == [4, 3, 4] and sorted(i for p in parts for i in p.indices) == list(range(11))
    assert [len(p) for p in io.random_split(Numbers(1), [1, 0])] == [1, 0]
    with pytest.raises(ValueError, match="do not add up to 10"):
        io.random_split(Numbers(10), [1, 0])
