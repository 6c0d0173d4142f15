"""DataLoader: batches of a data set, as tensors."""

import itertools
import warnings

from proa import _C
from proa.io.collate import default_collate_fn, default_convert_fn
from proa.io.dataset import IterableDataset
from proa.io.reader_cost import Observed
from proa.io.sampler import BatchSampler


class WorkerInfo:
    """Which worker process this is: `id` of `num_workers`, and its `dataset`."""

    def __init__(self, id, num_workers, dataset):
        self.id, self.num_workers, self.dataset = id, num_workers, dataset


def get_worker_info():
    """The WorkerInfo inside a worker process of a DataLoader, None elsewhere."""
    return None


class DataLoader:
    """Gives the batches of a data set.

    Args:
        dataset (Dataset|IterableDataset): where samples come from.
        feed_list, places, return_list: accepted for compatibility; batches are lists of
            tensors on the current device.
        batch_sampler (BatchSampler, optional): decides the batches, instead of the next three.
        batch_size (int|None): samples in a batch; None gives samples without a batch dim.
        shuffle (bool): a new random order in each epoch.
        drop_last (bool): leave out the last batch if it is smaller.
        collate_fn (Callable, optional): list of samples -> batch.
        num_workers (int): processes that load; 0 loads in this process. Loading in other
            processes is not there yet: a number above 0 loads in this one and warns.
        use_buffer_reader, use_shared_memory, timeout, persistent_workers: matter for workers only.
        worker_init_fn (Callable, optional): called in each worker as it starts.

    Examples:
        >>> data = proa.io.TensorDataset([proa.ones([5, 2]), proa.zeros([5])])
        >>> for x, y in proa.io.DataLoader(data, batch_size=2):
        ...     print(x.shape, y.shape)
        [2, 2] [2]
        [2, 2] [2]
        [1, 2] [1]
    """

    def __init__(
        self,
        dataset,
        feed_list=None,
        places=None,
        return_list=True,
        batch_sampler=None,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        collate_fn=None,
        num_workers=0,
        use_buffer_reader=True,
        use_shared_memory=True,
        timeout=0,
        worker_init_fn=None,
        persistent_workers=False,
    ):
        if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
            raise _C.located(ValueError(f"DataLoader: num_workers must be an int >= 0, not {num_workers!r}"))
        if timeout < 0:
            raise _C.located(ValueError(f"DataLoader: timeout must not be negative; it is {timeout}"))
        if num_workers > 0:
            warnings.warn("DataLoader: worker processes are not there yet; loading in this process", stacklevel=2)
        self.dataset, self.return_list, self.num_workers = dataset, return_list, num_workers
        self.places, self.timeout, self.worker_init_fn = places, timeout, worker_init_fn
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or batch_sampler is not None):
            raise _C.located(
                ValueError("DataLoader: an IterableDataset decides its own order; leave out shuffle and batch_sampler")
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise _C.located(ValueError("DataLoader: batch_sampler goes without batch_size, shuffle and drop_last"))
            self.batch_sampler = batch_sampler
            self.batch_size = getattr(batch_sampler, "batch_size", None)
        elif batch_size is None or self._iterable:
            if batch_size is not None and (not isinstance(batch_size, int) or batch_size <= 0):
                raise _C.located(
                    ValueError(f"DataLoader: batch_size must be a positive int or None, not {batch_size!r}")
                )
            self.batch_sampler, self.batch_size = None, batch_size
        else:
            self.batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)
            self.batch_size = batch_size
        self.drop_last = drop_last
        self.collate_fn = collate_fn or (default_convert_fn if self.batch_size is None else default_collate_fn)

    def __len__(self):
        """Number of batches; an error for an IterableDataset."""
        if self._iterable:
            raise _C.located(TypeError("DataLoader: an IterableDataset has no length"))
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def __iter__(self):
        return Observed(self._batches())

    def _batches(self):
        if self._iterable:
            return self._batches_of_iterable()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in range(len(self.dataset)))
        return (self.collate_fn([self.dataset[i] for i in batch]) for batch in self.batch_sampler)

    __call__ = __iter__

    def _batches_of_iterable(self):
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    @staticmethod
    def from_generator(
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
        use_multiprocess=False,
        drop_last=True,
    ):
        """A loader fed by a generator function; call one of its `set_..._generator` methods next.

        Examples:
            >>> loader = proa.io.DataLoader.from_generator()
            >>> loader = loader.set_batch_generator(lambda: iter([proa.ones([2, 3])]))
            >>> [x.shape for (x,) in loader]
            [[2, 3]]
        """
        from proa.io.generator_loader import GeneratorLoader

        return GeneratorLoader(feed_list, iterable=iterable, return_list=return_list, drop_last=drop_last)

    @staticmethod
    def from_dataset(dataset, places, drop_last=True):
        """A loader over a data set that makes its own batches."""
        from proa.io.generator_loader import GeneratorLoader

        loader = GeneratorLoader(drop_last=drop_last)
        return loader.set_batch_generator(lambda: iter(dataset), places)
