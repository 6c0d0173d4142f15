"""The standard library's multiprocessing, whose queues and pipes hand tensors over in shared memory.

Everything of `multiprocessing` is here under its name. A tensor that goes through a `Queue` or a `Pipe`, or as an argument to
a spawned `Process`, is not copied to the other process: both see the same elements from then on, and what one writes the
other reads. See `reductions.reduce_tensor` for what is copied all the same.

Examples:
    >>> import proa.incubate.multiprocessing as mp
    >>> here, there = mp.Pipe()
    >>> x = proa.ones([2])
    >>> here.send(x)
    >>> y = there.recv()
    >>> y[0] = 5.0
    >>> x.tolist()
    [5.0, 1.0]
"""

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403

from proa.incubate.multiprocessing.reductions import init_reductions

__all__ = [*_standard.__all__]

init_reductions()
