"""Gradients that end in a branch or loop: `detach` there, and what `no_grad` keeps away from them.

What a region makes has no gradient while it is recorded, so that a program does not see where one ends. A function with a
backward of zeros says so.
"""

import threading

from proa import _C
from proa.autograd.py_layer import PyLayer
from proa.framework.dtype import is_floating
from proa.framework.grad_mode import no_grad
from proa.jit.dy2static import writes
from proa.jit.dy2static.values import built, flat


class _Stopped(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return _C.ops.assign(x)

    @staticmethod
    def backward(ctx, g):
        return _C.ops.full_like(g, 0)


def stopped(value):
    """A tensor of a region without gradient; anything else, and outside of regions, as it is."""
    if (
        not writes.depth()
        or not isinstance(value, _C.Tensor)
        or not _C.is_symbolic(value)
        or not is_floating(value.dtype)
    ):
        return value
    before = _C.set_grad_enabled(True)
    try:
        return _Stopped.apply(value)
    finally:
        _C.set_grad_enabled(before)


def all_stopped(value):
    """The same of the tensors in lists, tuples and dicts."""
    if isinstance(value, _C.Tensor):
        return stopped(value)
    tree, leaves = flat(value)
    return built(tree, [stopped(leaf) for leaf in leaves])


_thread = threading.local()


class _NoGradient:
    """`no_grad` in a region, where there are no gradients anyway: notes that the user is inside."""

    def __init__(self, manager):
        self._manager = manager

    def __enter__(self):
        _thread.inside = getattr(_thread, "inside", 0) + 1
        return self._manager.__enter__()

    def __exit__(self, *error):
        _thread.inside -= 1
        return self._manager.__exit__(*error)


def context(manager):
    """What stands behind `with`."""
    return _NoGradient(manager) if writes.depth() and isinstance(manager, no_grad) else manager


def kept(value):
    """A value that a `with` of a block binds or returns: without gradient if that is `no_grad`."""
    return all_stopped(value) if writes.depth() and getattr(_thread, "inside", 0) else value
