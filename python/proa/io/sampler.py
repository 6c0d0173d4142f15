"""Samplers: in which order the indices of a data set come, and in which batches."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from proa import _C
from proa.framework.attributes import known_int, wrong
from proa.io.dataset import IterableDataset, numpy_generator, permutation, sized


class Sampler:
    """Base of samplers. Define `__iter__`, which gives indices.

    Args:
        data_source (Dataset, optional): what is sampled.

    Examples:
        >>> class Backwards(proa.io.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(len(self.data_source) - 1, -1, -1))
        >>> list(Backwards([10, 11, 12]))
        [2, 1, 0]
    """

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define __iter__"))

    def __len__(self) -> int:
        return len(self.data_source)


_MOST_REPLICAS = 1 << 20
_MOST_DRAWN = 1 << 40  # numbers, which would take eight times as many bytes


def _count(what, num_samples):
    if isinstance(num_samples, bool) or not isinstance(num_samples, int) or not 0 < num_samples <= _MOST_DRAWN:
        raise _C.located(
            ValueError(f"{what}: num_samples must be a positive int, at most {_MOST_DRAWN}, not {num_samples!r}")
        )
    return num_samples


class SequenceSampler(Sampler):
    """0, 1, 2 and so on.

    Examples:
        >>> list(proa.io.SequenceSampler([5, 6, 7]))
        [0, 1, 2]
    """

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(sized("SequenceSampler", "data_source", self.data_source))))


class RandomSampler(Sampler):
    """Indices in a random order.

    Args:
        data_source (Dataset): what is sampled.
        replacement (bool): whether an index may come again.
        num_samples (int, optional): how many; all unless given. More than there are
            need replacement.
        generator (optional): a NumPy generator, a seed, or an iterator of indices. Unless given `proa.seed` decides, or
            `numpy.random.seed` in a program that does not call the former.

    Examples:
        >>> sorted(proa.io.RandomSampler(range(4)))
        [0, 1, 2, 3]
    """

    def __init__(self, data_source=None, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise _C.located(TypeError(f"RandomSampler: replacement must be a bool, not {type(replacement).__name__}"))
        if num_samples is not None:
            _count("RandomSampler", num_samples)
        if data_source is not None:
            sized("RandomSampler", "data_source", data_source)
        if num_samples is not None and not replacement and num_samples > len(data_source):
            raise _C.located(
                ValueError(
                    f"RandomSampler: {num_samples} samples out of {len(data_source)} are possible with replacement only"
                )
            )
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self):
        if self._num_samples is not None:
            return self._num_samples
        return len(sized("RandomSampler", "data_source", self.data_source))

    def __iter__(self) -> Iterator[int]:
        if hasattr(self.generator, "__next__"):
            for index in itertools.islice(self.generator, self.num_samples):
                yield int(index)
            return
        n = len(sized("RandomSampler", "data_source", self.data_source))
        source = numpy_generator(self.generator)
        if self.replacement:
            yield from source.choice(n, self.num_samples).tolist()
        else:
            yield from source.permutation(n)[: self.num_samples].tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These indices, in a random order.

    Examples:
        >>> sorted(proa.io.SubsetRandomSampler([3, 5]))
        [3, 5]
    """

    def __init__(self, indices):
        super().__init__(sized("SubsetRandomSampler", "indices", indices))
        if len(indices) == 0:
            raise _C.located(ValueError("SubsetRandomSampler: indices must not be empty"))
        self.indices = indices

    def __iter__(self) -> Iterator[Any]:
        return (self.indices[i] for i in permutation(len(self.indices)).tolist())


class WeightedRandomSampler(Sampler):
    """Indices drawn with these weights.

    Args:
        weights (Sequence[float]): not negative; index i comes in proportion to weights[i].
        num_samples (int): how many.
        replacement (bool): whether an index may come again.

    Examples:
        >>> list(proa.io.WeightedRandomSampler([0.0, 1.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True):
        _count("WeightedRandomSampler", num_samples)
        if not isinstance(replacement, bool):
            raise _C.located(
                TypeError(f"WeightedRandomSampler: replacement must be a bool, not {type(replacement).__name__}")
            )
        try:
            weights = np.asarray(weights.numpy() if hasattr(weights, "numpy") else weights, dtype="float64")
        except (TypeError, ValueError):
            raise wrong("WeightedRandomSampler", "weights", "a list of numbers", weights) from None
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise _C.located(
                ValueError("WeightedRandomSampler: weights must be a list of finite numbers >= 0, not all zero")
            )
        if not replacement and num_samples > np.count_nonzero(weights):
            raise _C.located(
                ValueError(
                    f"WeightedRandomSampler: {num_samples} samples need as many non-zero weights; "
                    f"there are {np.count_nonzero(weights)}"
                )
            )
        super().__init__(None)
        self.weights, self.num_samples, self.replacement = weights, num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        p = self.weights / self.weights.sum()
        chosen = numpy_generator(None).choice(len(p), self.num_samples, self.replacement, p)
        return iter(chosen.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices.

    Args:
        dataset (Dataset, optional): what is sampled, in order or shuffled.
        sampler (Sampler, optional): instead of a data set: where indices come from.
        shuffle (bool): a random order, with `dataset`, as that of `RandomSampler`.
        batch_size (int): indices in a batch.
        drop_last (bool): leave out the last batch if it is smaller.

    Examples:
        >>> list(proa.io.BatchSampler(sampler=proa.io.SequenceSampler(range(5)), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False):
        if (dataset is None) == (sampler is None):
            raise _C.located(ValueError("BatchSampler: give either dataset or sampler"))
        if isinstance(dataset, IterableDataset):
            raise _C.located(TypeError("BatchSampler: the samples of an IterableDataset have no index"))
        if sampler is not None and shuffle:
            raise _C.located(ValueError("BatchSampler: shuffle goes with dataset; a sampler decides its own order"))
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise _C.located(ValueError(f"BatchSampler: batch_size must be a positive int, not {batch_size!r}"))
        if not isinstance(shuffle, bool):
            raise wrong("BatchSampler", "shuffle", "a bool", shuffle)
        if not isinstance(drop_last, bool):
            raise _C.located(TypeError(f"BatchSampler: drop_last must be a bool, not {type(drop_last).__name__}"))
        if sampler is not None and not hasattr(sampler, "__iter__"):
            raise wrong("BatchSampler", "sampler", "a Sampler", sampler)
        if sampler is None:
            sized("BatchSampler", "dataset", dataset)
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.sampler, self.batch_size, self.drop_last, self.shuffle = sampler, batch_size, drop_last, shuffle

    def __iter__(self) -> Iterator[list[Any]]:
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several processes, which share a data set evenly.

    Args:
        dataset (Dataset): what is sampled.
        batch_size (int): indices in a batch of one process.
        num_replicas (int, optional): number of processes; that of the environment unless given.
        rank (int, optional): number of this process.
        shuffle (bool): a random order, the same in all processes; see `set_epoch`.
        drop_last (bool): leave out the last batch if it is smaller.

    Examples:
        >>> len(proa.io.DistributedBatchSampler(range(10), batch_size=4))
        3
    """

    def __init__(self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False):
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise _C.located(
                ValueError(f"DistributedBatchSampler: batch_size must be a positive int, not {batch_size!r}")
            )
        if num_replicas is None or rank is None:
            import os

            num_replicas = int(os.environ.get("PADDLE_TRAINERS_NUM", 1)) if num_replicas is None else num_replicas
            rank = int(os.environ.get("PADDLE_TRAINER_ID", 0)) if rank is None else rank
        num_replicas = known_int("DistributedBatchSampler", "num_replicas", num_replicas)
        rank = known_int("DistributedBatchSampler", "rank", rank)
        sized("DistributedBatchSampler", "dataset", dataset)
        if num_replicas > _MOST_REPLICAS:
            raise _C.located(
                ValueError(
                    f"DistributedBatchSampler: num_replicas must be at most {_MOST_REPLICAS}, not {num_replicas}"
                )
            )
        if not 0 <= rank < num_replicas:
            raise _C.located(ValueError(f"DistributedBatchSampler: rank {rank} is not one of {num_replicas} processes"))
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.nranks, self.local_rank, self.epoch = num_replicas, rank, 0
        self.num_samples = math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[list[int]]:
        # The first samples fill up the last ones, so that all processes have as many.
        order = np.resize(np.arange(len(self.dataset)), self.total_size)
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)  # the reference's order
            self.epoch += 1
        # In turn each process has a batch, and in the end an equal part of the rest.
        whole = self.total_size // (self.batch_size * self.nranks) * self.batch_size * self.nranks
        mine = []
        if whole:
            mine = order[:whole].reshape(-1, self.nranks, self.batch_size)[:, self.local_rank].reshape(-1).tolist()
        mine += order[whole:].reshape(self.nranks, -1)[self.local_rank].tolist()
        for start in range(0, self.num_samples, self.batch_size):
            batch = mine[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = self.num_samples
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def set_epoch(self, epoch) -> None:
        """Makes the shuffled order that of this epoch."""
        self.epoch = epoch
