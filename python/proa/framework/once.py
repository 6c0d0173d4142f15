"""What a function does beside its result - running statistics, vectors that move on - where `recompute` calls it again."""

import contextlib
import threading

from proa import _C
from proa.framework.grad_mode import no_grad

_END = object()
_state = threading.local()  # `run`: the innermost one on this thread


class Run:
    """`with Run(values) as run:` around a call of a function that may be called again for backward.

    Args:
        values (list, optional): `run.values` of the first call, when the function is called again.
    """

    __slots__ = ("_before", "_left", "values")

    def __init__(self, values=None):
        self._left = None if values is None else iter(values)
        self.values = [] if values is None else values

    def __enter__(self):
        self._before = getattr(_state, "run", None)
        _state.run = self
        return self

    def __exit__(self, *_):
        _state.run = self._before

    def take(self, compute):
        """See `once`."""
        if self._left is not None:
            value = next(self._left, _END)
            if value is _END:
                raise _C.located(
                    RuntimeError(
                        "recompute: the function did other things when it ran again: it moves more running statistics or vectors "
                        "on than in its first call; was a layer set to training in between?"
                    )
                )
            return value
        value = compute() if self._before is None else self._before.take(compute)
        self.values.append(value)
        return value


@contextlib.contextmanager
def always():
    """What is called inside is computed whatever is around it: a program that is recorded holds it for all of its runs."""
    before, _state.run = getattr(_state, "run", None), None
    try:
        yield
    finally:
        _state.run = before


def once(compute):
    """What `compute()` gives; where a function is called again, what it gave the first time.

    A function makes its calls in the same order both times, as `recompute` asks of it. What `compute` gives is kept until
    backward: it is to be small, and to have no gradient.

    Examples:
        >>> from proa.framework.once import Run, once
        >>> steps = iter(range(9))
        >>> with Run() as first:
        ...     a = once(lambda: next(steps)), once(lambda: next(steps))
        >>> with Run(first.values):
        ...     b = once(lambda: next(steps)), once(lambda: next(steps))
        >>> a, b, next(steps)
        ((0, 1), (0, 1), 2)
    """
    run = getattr(_state, "run", None)
    return compute() if run is None else run.take(compute)


def changing(tensors, compute):
    """What `compute()` gives, which changes some tensors in place.

    Where a function is called again, it starts from what they were the first time, and leaves them as they are now.

    Args:
        tensors (Callable): gives the tensors that are changed, when they are needed: a list.
        compute (Callable): without arguments.

    Examples:
        >>> from proa.framework.once import Run, changing
        >>> kept = proa.zeros([1])
        >>> step = lambda: kept.add_(proa.ones([1])) * 10.0
        >>> with Run() as first:
        ...     a = changing(lambda: [kept], step)
        >>> with Run(first.values):
        ...     b = changing(lambda: [kept], step)
        >>> a.tolist(), b.tolist(), kept.tolist()
        ([10.0], [10.0], [1.0])
    """
    if getattr(_state, "run", None) is None:
        return compute()
    tensors, is_first = tensors(), False

    def copies():
        nonlocal is_first
        is_first = True
        with exactly():
            return [t.detach().clone() for t in tensors]

    before = once(copies)
    if is_first:
        return compute()
    # In other memory, so that nothing that a graph holds of them is changed again when they are as now.
    now = [t.detach() for t in tensors]
    with exactly():
        _show(tensors, [t.clone() for t in before])
    try:
        return compute()
    finally:
        _show(tensors, now)


def _show(tensors, others):
    for tensor, other in zip(tensors, others, strict=True):
        other._share_buffer_to(tensor)


@contextlib.contextmanager
def exactly():
    """Without gradients, without a program that is recorded, without casts."""
    cast = _C.amp.exchange(0)
    try:
        with _C.eager_mode(), no_grad():
            yield
    finally:
        _C.amp.exchange(cast)
