"""x[a:b] where only the run of a program knows a or b: the core asks here what such an index gives."""

from proa import _C
from proa.framework.attributes import is_late

__all__ = ["part"]

_ALL = 2**62  # The end of a slice that takes what there is.


def _dims(item):
    """How many dims of x a part of an index is for."""
    if item is None or item is Ellipsis:
        return 0
    mask = isinstance(item, _C.Tensor) and item.dtype == _C.bool
    return len(item.shape) if mask else 1


def part(x, key):
    """x[key]: first the slices whose bounds are not known, by an op, then the rest of the index."""
    items = list(key) if isinstance(key, tuple) else [key]
    axes, starts, ends, steps = [], [], [], []
    axis = 0
    for i, item in enumerate(items):
        if item is Ellipsis:
            axis = len(x.shape) - sum(_dims(other) for other in items[i + 1 :])
        if isinstance(item, slice) and is_late(item.start, item.stop, item.step):
            if is_late(item.step):
                raise _C.located(RuntimeError("index: the step of a slice must be known when the program is recorded"))
            step = 1 if item.step is None else item.step
            if step < 0:
                raise _C.located(
                    RuntimeError("index: a slice with a negative step must be known when the program is recorded")
                )
            axes.append(axis)
            starts.append(0 if item.start is None else item.start)
            ends.append(_ALL if item.stop is None else item.stop)
            steps.append(step)
            items[i] = slice(None)
        axis += _dims(item)
    return _C.ops.slice(x, axes, starts, ends, steps)[tuple(items)]
