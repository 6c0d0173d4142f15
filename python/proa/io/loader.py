"""DataLoader: batches of a data set, as tensors."""

import hashlib
import itertools
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from proa import _C
from proa.framework.attributes import a_list, function, known_int, known_real, wrong
from proa.framework.random import is_seeded
from proa.io import tuning
from proa.io.collate import as_tensors, default_collate_fn, default_convert_fn
from proa.io.dataset import IterableDataset
from proa.io.reader_cost import Observed
from proa.io.sampler import BatchSampler

_MOST_WORKERS = 1 << 15  # as many processes as a Linux has numbers for, unless somebody raised that


class DataLoader:
    """Gives the batches of a data set.

    Args:
        dataset (Dataset|IterableDataset): where samples come from.
        feed_list (list, optional), return_list (bool): with return_list=False a batch is [{name: tensor}], with the names
            of these inputs of a program: what an Executor is fed with.
        places: accepted for compatibility; tensors are on the current device.
        batch_sampler (BatchSampler, optional): decides the batches, instead of the next three.
        batch_size (int|None): samples in a batch; None gives samples without a batch dim.
        shuffle (bool): a new random order in each epoch.
        drop_last (bool): leave out the last batch if it is smaller.
        collate_fn (Callable, optional): list of samples -> batch, whose arrays become tensors and whose tuples lists.
        num_workers (int): processes that load ahead; 0 loads in this process. Batches come in the same order for any
            number. Of an IterableDataset each worker has its own; see `get_worker_info`.
        use_buffer_reader: accepted for compatibility.
        use_shared_memory (bool): workers put arrays into memory that both processes see, not through a pipe.
        timeout (float): seconds that a batch of a worker may be waited for; 0 waits for ever.
        worker_init_fn (Callable, optional): called in each worker as it starts, with its number.
        persistent_workers (bool): keep the workers, and what their data sets hold then, from one iteration to the next.
        prefetch_factor (int): batches that each worker loads ahead.
        pin_memory (bool): accepted for compatibility.

    Workers are forked as an iteration begins. They see the data set as it is then, without a copy; but Python writes to
    objects that it only reads (it counts references), and a page that a worker writes to becomes its own. A list of many
    small objects may so come to lie in memory once a worker; an array does not. A worker has one thread for computing. The
    seeds of its random numbers (Python's, NumPy's, Proa's) follow from `proa.seed`; in a program that does not call it, from
    NumPy's global generator, as in PaddlePaddle.

    Raises:
        Exception: what a worker raised, of the same type; the message names the worker and the sample.
        RuntimeError: a worker was killed, or the timeout is over; the message says which, how, and at which sample.

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
        prefetch_factor=2,
        pin_memory=False,
    ):
        if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
            raise _C.located(ValueError(f"DataLoader: num_workers must be an int >= 0, not {num_workers!r}"))
        if num_workers > _MOST_WORKERS:
            raise _C.located(
                ValueError(f"DataLoader: num_workers must be at most {_MOST_WORKERS}; it is {num_workers}")
            )
        if known_real("DataLoader", "timeout", timeout) < 0:
            raise _C.located(ValueError(f"DataLoader: timeout must not be negative; it is {timeout}"))
        if num_workers > 0 and not hasattr(os, "memfd_create"):
            raise _C.located(
                NotImplementedError("DataLoader: worker processes need Linux; use num_workers=0 on this system")
            )
        if known_int("DataLoader", "prefetch_factor", prefetch_factor) < 1:
            raise _C.located(ValueError(f"DataLoader: prefetch_factor must be at least 1; it is {prefetch_factor}"))
        self.dataset, self.return_list, self.num_workers = dataset, return_list, num_workers
        self.prefetch_factor, self.pin_memory = prefetch_factor, pin_memory
        self.places, self.timeout, self.worker_init_fn = places, timeout, worker_init_fn
        self.feed_list, self.use_shared_memory = feed_list, use_shared_memory
        self.persistent_workers, self._pool, self._iterations, self._tuned = persistent_workers, None, 0, False
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or batch_sampler is not None):
            raise _C.located(
                ValueError("DataLoader: an IterableDataset decides its own order; leave out shuffle and batch_sampler")
            )
        function("DataLoader", "collate_fn", collate_fn)
        function("DataLoader", "worker_init_fn", worker_init_fn)
        iterable = hasattr(batch_sampler, "__iter__") and not isinstance(batch_sampler, (str, bytes))
        if batch_sampler is not None and not iterable:
            raise wrong("DataLoader", "batch_sampler", "a BatchSampler or a list of lists", batch_sampler)
        if isinstance(batch_sampler, (list, tuple)):
            for i, batch in enumerate(batch_sampler):
                a_list("DataLoader", f"element {i} of batch_sampler", batch, "a list of indices")
        if not hasattr(dataset, "__getitem__"):
            raise wrong("DataLoader", "dataset", "a data set or a list", dataset)
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
        single = self.batch_sampler is None and self.batch_size is None  # a batch sampler need not know its sizes
        self.collate_fn = collate_fn or (default_convert_fn if single else default_collate_fn)

    def __len__(self) -> int:
        """Number of batches; an error for an IterableDataset."""
        if self._iterable:
            raise _C.located(TypeError("DataLoader: an IterableDataset has no length"))
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if tuning.is_enabled() and not self._tuned and not self._iterable and self.batch_size is not None:
            self._tuned, self.num_workers = True, tuning.best_number(self._alike, self.dataset, self.batch_size)
        batches = self._from_workers() if self.num_workers else self._batches()
        if not self.return_list and self.feed_list is not None:
            names = [tensor if isinstance(tensor, str) else tensor.name for tensor in self.feed_list]
            batches = ([dict(zip(names, batch))] for batch in batches)
        return Observed(batches)

    __call__ = __iter__

    def _alike(self, dataset, num_workers):
        """A loader of another data set that works as this one does."""
        loader = DataLoader(
            dataset, batch_size=self.batch_size, collate_fn=self.collate_fn, num_workers=num_workers,
            use_shared_memory=self.use_shared_memory, worker_init_fn=self.worker_init_fn,
            prefetch_factor=self.prefetch_factor,
        )  # fmt: skip
        loader._tuned = True
        return loader

    def _from_workers(self):
        from proa.io.worker import Job
        from proa.io.worker_pool import WorkerPool

        pool = self._pool
        if pool is None or not pool.is_open:
            job = Job(
                self.dataset, None if self.collate_fn is default_collate_fn else self.collate_fn, self.worker_init_fn,
                self._iterable, self.batch_size, self.drop_last, self.batch_size is None and self.batch_sampler is None,
                self.use_shared_memory, self.num_workers,
            )  # fmt: skip
            pool = WorkerPool(job, self.timeout, self._seeds(), self.prefetch_factor)
            self._pool = pool if self.persistent_workers else None
        tasks = itertools.repeat(None) if self._iterable else self.batch_sampler
        return pool.epoch(range(len(self.dataset)) if tasks is None else tasks, self.persistent_workers)

    def _seeds(self):
        """One for each worker, others in each iteration; nothing is drawn from the generator of tensors."""
        if not is_seeded():
            base = int(np.random.randint(0, sys.maxsize))
            return [base + rank for rank in range(self.num_workers)]
        self._iterations += 1
        base = f"{_C.get_rng_state()} {self._iterations}"
        return [
            int.from_bytes(hashlib.sha256(f"{base} {rank}".encode()).digest()[:8], "little")
            for rank in range(self.num_workers)
        ]

    def _batches(self):
        _C.memory_keep_malloc()
        if self._iterable:
            groups = self._groups_of_iterable()
        elif self.batch_sampler is None:
            groups = (lambda i=i: self.dataset[i] for i in range(len(self.dataset)))
        else:
            groups = (lambda batch=batch: [self.dataset[i] for i in batch] for batch in self.batch_sampler)
        for group in groups:
            with _C.eager_mode():
                batch = as_tensors(self.collate_fn(group()))
            yield batch

    def _groups_of_iterable(self):
        samples = iter(self.dataset)
        number = 1 if self.batch_size is None else self.batch_size
        while True:
            with _C.eager_mode():
                batch = list(itertools.islice(samples, number))
            if not batch:
                return
            if self.batch_size is None:
                yield lambda sample=batch[0]: sample
            elif len(batch) == number or not self.drop_last:
                yield lambda batch=batch: batch

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
