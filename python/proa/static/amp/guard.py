"""`fp16_guard`: which part of a program is computed in 16 bits."""

import contextlib

from proa import _C
from proa.amp.auto_cast import auto_cast
from proa.static.program import default_main_program

__all__ = ["bf16_guard", "fp16_guard"]


@contextlib.contextmanager
def fp16_guard():
    """Marks the ops that are recorded inside: `decorate(use_fp16_guard=True)` computes these in 16 bits and no others.

    Where ops run at once it is `paddle.amp.auto_cast()`.

    Examples:
        >>> with proa.static.amp.fp16_guard():
        ...     print(proa.matmul(proa.ones([2, 2]), proa.ones([2, 2])).dtype)
        proa.float16
    """
    if not _C.in_static_mode():
        with auto_cast(dtype="float16"):
            yield
        return
    program = default_main_program()
    first = program.num_operations
    try:
        yield
    finally:
        program._guarded.append((first, program.num_operations))


@contextlib.contextmanager
def bf16_guard():
    """`fp16_guard`, for `decorate_bf16(use_bf16_guard=True)`."""
    if _C.in_static_mode():
        with fp16_guard():
            yield
    else:
        with auto_cast(dtype="bfloat16"):
            yield
