"""What a Model does as one of several processes: each trains on its share of the data with the mean of all gradients, and
each knows the outputs and labels of all in evaluation and prediction.
"""

import contextlib

from proa import _C
from proa.io import DataLoader, Dataset, DistributedBatchSampler, IterableDataset

__all__ = ["Gathered", "Shares", "is_first", "loader_of"]

_NOTHING = contextlib.nullcontext()


def _count():
    from proa.distributed import get_world_size

    return get_world_size()


def is_first():
    """Whether this process speaks and writes for all of them."""
    from proa.distributed import get_rank

    return get_rank() == 0


def loader_of(data, batch_size, shuffle, num_workers, drop_last=False):
    """A loader of the batches of this process; data that makes its own batches is left as it is."""
    if not isinstance(data, Dataset):
        return data
    if _count() == 1 or isinstance(data, IterableDataset):
        shuffle = shuffle and not isinstance(data, IterableDataset)
        return DataLoader(data, batch_size=batch_size, shuffle=shuffle, num_workers=num_workers, drop_last=drop_last)
    from proa.distributed import get_rank

    sampler = DistributedBatchSampler(data, batch_size, _count(), get_rank(), shuffle, drop_last)
    return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)


class Shares:
    """The network of one of several processes; with one process, the network itself.

    Args:
        network (Layer): what is trained.
    """

    def __init__(self, network):
        self._network, self._parallel, self.are_several = network, None, False

    def join(self):
        """Makes this process a member of the job that its launcher describes."""
        self.are_several = _count() > 1
        if self.are_several:
            from proa.distributed import init_parallel_env

            init_parallel_env()

    def _trained(self):
        """The layer whose backward exchanges gradients. It is made late: mixed precision changes parameters before."""
        if self._parallel is None:
            from proa.distributed import DataParallel

            wrapped = isinstance(self._network, DataParallel)
            self._parallel = self._network if wrapped else DataParallel(self._network)
        return self._parallel

    def run(self, *inputs):
        """The network's outputs."""
        if self.are_several and self._network.training and _C.is_grad_enabled():
            return self._trained()(*inputs)
        return self._network(*inputs)

    def batch(self, update):
        """The context of a batch of training; without an update its gradients wait, to be exchanged with later ones."""
        return self._trained().no_sync() if self.are_several and not update else _NOTHING


class Gathered:
    """The outputs and labels of all processes for the batches of a loader, in the order of the data and each once.

    Args:
        loader: where batches come from; its DistributedBatchSampler says that processes share them.
    """

    def __init__(self, loader):
        sampler = getattr(loader, "batch_sampler", None)
        self._left = self._rows = None
        if isinstance(sampler, DistributedBatchSampler) and sampler.nranks > 1:
            self._left = len(sampler.dataset)

    def __call__(self, *parts):
        """Lists of tensors as lists of those of all processes; what stands for no sample is as it is."""
        if self._left is None:
            return parts
        rows = next((t.shape[0] for part in parts for t in part if t.ndim), 0)
        made, self._rows, whole = [], 0, 0
        for part in parts:
            made.append([])
            for t in part:
                if t.ndim and t.shape[0] == rows:
                    t = _of_all(t)
                    whole = t.shape[0]
                    t = t[: self._left]
                    self._rows = t.shape[0]
                made[-1].append(t)
        self._left = max(self._left - whole, 0)
        return made

    def count(self, inputs):
        """How many samples the last batch had, which a process was given these inputs of."""
        if self._rows is not None:
            return self._rows
        return len(inputs[0]) if inputs else 0


def _of_all(tensor):
    from proa.distributed import all_gather

    found = []
    all_gather(found, tensor)
    return _C.ops.concat(found, 0)
