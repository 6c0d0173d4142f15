"""`fp16_guard`: which part of a program is computed in 16 bits."""

import contextlib

from proa import _C
from proa.static.program import default_main_program

__all__ = ["bf16_guard", "fp16_guard"]


@contextlib.contextmanager
def _marking(program, ranges):
    """Adds the first and the end number of the operations that are recorded inside to `ranges`."""
    first = program.num_operations
    try:
        yield
    finally:
        ranges.append((first, program.num_operations))


@contextlib.contextmanager
def kept():
    """Marks the ops that are recorded inside as such that mixing leaves in the types that they are given."""
    program = default_main_program()
    with _marking(program, program._unmixed):
        yield


@contextlib.contextmanager
def fp16_guard():
    """Marks the ops that are recorded inside: `decorate(use_fp16_guard=True)` computes these in 16 bits and no others.

    Where ops run at once it does nothing: networks that have it in their forward are trained in float32 as well.

    Examples:
        >>> with proa.static.amp.fp16_guard():
        ...     print(proa.matmul(proa.ones([2, 2]), proa.ones([2, 2])).dtype)
        proa.float32
    """
    if not _C.in_static_mode():
        yield
        return
    program = default_main_program()
    with _marking(program, program._guarded):
        yield


@contextlib.contextmanager
def bf16_guard():
    """`fp16_guard`, for `decorate_bf16(use_bf16_guard=True)`."""
    with fp16_guard():
        yield
