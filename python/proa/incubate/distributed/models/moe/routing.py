"""Counts and places of tokens at experts."""

import numpy as np

from proa import _C
from proa.distributed import collective
from proa.framework.grad_mode import no_grad

__all__ = ["counts_of", "limit_by_capacity", "of_all"]


@no_grad()
def counts_of(experts, total):
    """How many of `experts` (any shape, -1 for none) are each of `total`: int64 [total]."""
    return _one_hot(experts, total).sum(0)


def _one_hot(experts, total):
    """int64 [tokens, total]; rows of zeros for -1."""
    from proa import arange

    flat = experts.reshape([-1, 1])
    return (flat == arange(total, dtype="int64").reshape([1, -1])).astype("int64")


@no_grad()
def of_all(counts, group):
    """The counts of all processes of a group: int64 [processes, len]."""
    if group is None or group.nranks == 1:
        return counts.unsqueeze(0)
    parts = []
    collective.all_gather(parts, counts, group)
    return _C.ops.stack(parts, 0)


@no_grad()
def limit_by_capacity(experts, total, capacity, group=None):
    """Experts with -1 where one has had `capacity` tokens: those of earlier processes first, then in order.

    Args:
        experts (Tensor): int64 [tokens, k].
        total (int): experts of all processes.
        capacity (int): tokens for each of them, from all processes.
        group (Group, optional): the processes.
    """
    chosen = _one_hot(experts, total)
    before = 0
    if group is not None and group.nranks > 1:
        earlier = of_all(chosen.sum(0), group).numpy()[: group.rank].sum(0, keepdims=True)
        before = _C.to_tensor(np.asarray(earlier, "int64"))
    place = (chosen.cumsum(0) - chosen + before) * chosen
    fits = (place.sum(-1) < int(capacity)).reshape(experts.shape).astype("int64")
    return experts * fits + (fits - 1)
