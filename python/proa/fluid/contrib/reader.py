"""Readers of programs that several processes run."""

import itertools
import os

from proa import _C

__all__ = ["distributed_batch_reader"]


def distributed_batch_reader(batch_reader):
    """A reader that gives this process its part of the batches: each n-th one, where n processes run.

    Args:
        batch_reader (Callable): gives an iterator over batches. What is left behind the last whole round is dropped.

    Returns:
        Callable: the same for this process, by PADDLE_TRAINERS_NUM and PADDLE_TRAINER_ID in the environment.

    Raises:
        ValueError: the number of this process is not one of them.

    Examples:
        >>> list(proa.fluid.contrib.reader.distributed_batch_reader(lambda: iter([[1], [2]]))())
        [[1], [2]]
    """
    count, own = int(os.getenv("PADDLE_TRAINERS_NUM", "1")), int(os.getenv("PADDLE_TRAINER_ID", "0"))
    if not 0 <= own < count:
        raise _C.located(
            ValueError(f"distributed_batch_reader: PADDLE_TRAINER_ID is {own}, of {count} (PADDLE_TRAINERS_NUM)")
        )

    def decorated():
        batches = iter(batch_reader())
        while len(whole := list(itertools.islice(batches, count))) == count:
            yield whole[own]

    return decorated
