"""Learning rates of optimizers whose steps a program holds.

A program captures the tensor of the rate; a schedule moves the number that the tensor is filled from. Who
runs a program calls `refresh` first.
"""

import weakref

from proa import _C

_optimizers: weakref.WeakSet = weakref.WeakSet()
_any = False  # asked in each call of a program; to ask the set takes longer


def note(optimizer):
    """A program holds a step of `optimizer` from now on."""
    global _any
    _optimizers.add(optimizer)
    _any = True


def refresh():
    """Fills the tensors of the rates anew where schedules moved on."""
    for optimizer in list(_optimizers) if _any else ():
        # One whose step was not recorded to its end has no rate in a program, and the scope of this run shall not get it.
        if optimizer._lr_filled is not None or not _C.in_static_mode():
            optimizer._lr()


def is_rate(tensor):
    """Whether a tensor is one of these rates."""
    return _any and any(tensor is rate for rate in tensors())


def as_read(tensor):
    """A rate as programs read it, which PaddlePaddle keeps as float32 [1]; steps use more digits."""
    return _C.ops.cast(_C.ops.reshape(tensor, [1]), _C.float32)


def tensors():
    """The tensors of these rates."""
    return [optimizer._lr_tensor for optimizer in list(_optimizers) if optimizer._lr_tensor is not None]
