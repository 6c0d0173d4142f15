"""How many workers load fastest, found by trying. Off unless `incubate.autotune.set_config` turns it on."""

import itertools
import os
import time

from proa.io.dataset import Subset

__all__ = ["best_number", "fastest", "set_tuning"]

_enabled, _batches = False, 8


def set_tuning(enabled, batches=8):
    """Turns it on or off.

    Args:
        enabled (bool): for loaders that begin to iterate from now on.
        batches (int): how many each trial loads.
    """
    global _enabled, _batches
    _enabled, _batches = enabled, batches


def is_enabled():
    """Whether loaders are to try."""
    return _enabled


def fastest(numbers, seconds_of):
    """The number with the smallest `seconds_of`; trying ends where it no longer falls by a twentieth.

    Examples:
        >>> proa.io.tuning.fastest([0, 2, 4, 8], {0: 9.0, 2: 5.0, 4: 4.0, 8: 4.1}.get)
        4
    """
    best = least = None
    for number in numbers:
        seconds = seconds_of(number)
        if least is not None and seconds > 0.95 * least:
            break
        best, least = number, seconds
    return best


def best_number(make, dataset, batch_size):
    """How many workers are best for a loader.

    Args:
        make (Callable): from (dataset, num_workers) to a loader like it.
        dataset, batch_size: of the loader. Its first samples are loaded again for each trial.
    """
    part = Subset(dataset, range(min(len(dataset), _batches * (batch_size or 1))))

    def seconds_of(number):
        batches = iter(make(part, number))
        next(batches, None)  # workers start
        start = time.perf_counter()
        for _ in itertools.islice(batches, _batches - 1):
            pass
        return time.perf_counter() - start

    most = len(os.sched_getaffinity(0))
    return fastest([0, *range(2, most + 1, 2)], seconds_of)
