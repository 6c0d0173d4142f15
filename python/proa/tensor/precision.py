"""The type that sums of half precision are formed in.

A sum in float16 is infinite above 65,504, and what is divided by it is silently 0; in bfloat16 three digits are left.
"""

import contextlib
import functools

from proa import _C

TYPE_CHECKING = False  # `typing` costs more to import than this module.
if TYPE_CHECKING:
    from proa.tensor.method import Function

_HALF = (_C.float16, _C.bfloat16)


@contextlib.contextmanager
def _kept_types():
    before = _C.amp.exchange(0)
    try:
        if _C.in_static_mode():
            from proa.static.amp.guard import kept

            with kept():
                yield
        else:
            yield
    finally:
        _C.amp.exchange(before)


def keeps_types(function: "Function") -> "Function":
    """A function whose ops compute in the types that they are given, in autocast too.

    At level O2 that lowers ops that have no class of their own: of squares in float16 what `widened` is there for is lost.
    """

    @functools.wraps(function)
    def kept(*args, **kwargs):
        with _kept_types():
            return function(*args, **kwargs)

    return kept  # type: ignore[return-value]


def widened(x):
    """float16 and bfloat16 as float32, other types as they are."""
    return x.astype(_C.float32) if x.dtype in _HALF else x


def narrowed(out, *inputs):
    """A result that was computed of `widened(inputs)` in the type that the inputs themselves promote to."""
    if out.dtype != _C.float32 or any(x.dtype not in _HALF for x in inputs):
        return out
    types = {x.dtype for x in inputs}
    return out.astype(types.pop()) if len(types) == 1 else out
