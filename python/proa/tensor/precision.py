"""The type that sums of half precision are formed in.

A sum in float16 is infinite above 65,504, and what is divided by it is silently 0; in bfloat16 three digits are left.
"""

from proa import _C

_HALF = (_C.float16, _C.bfloat16)


def widened(x):
    """float16 and bfloat16 as float32, other types as they are."""
    return x.astype(_C.float32) if x.dtype in _HALF else x


def narrowed(out, *inputs):
    """A result that was computed of `widened(inputs)` in the type that the inputs themselves promote to."""
    if out.dtype != _C.float32 or any(x.dtype not in _HALF for x in inputs):
        return out
    types = {x.dtype for x in inputs}
    return out.astype(types.pop()) if len(types) == 1 else out
