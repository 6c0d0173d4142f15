"""Mixed precision of programs: `paddle.amp.auto_cast` records its casts, so that these are its names in static mode."""

import contextlib

from proa import _C
from proa.amp.auto_cast import auto_cast

__all__ = ["AutoMixedPrecisionLists", "CustomOpLists", "decorate", "fp16_guard"]


class CustomOpLists:
    """Lists of ops to be computed in 16 bits (white) and in float32 (black)."""

    def __init__(self, custom_white_list=None, custom_black_list=None, custom_black_varnames=None):
        self.white_list = set(custom_white_list or ())
        self.black_list = set(custom_black_list or ())
        self.black_varnames = set(custom_black_varnames or ())


AutoMixedPrecisionLists = CustomOpLists


@contextlib.contextmanager
def fp16_guard():
    """Inside, ops compute in float16 where `decorate(use_fp16_guard=True)` was asked for: as `auto_cast` does."""
    with auto_cast(dtype="float16"):
        yield


def decorate(*args, **kwargs):
    """An optimizer that trains a static program in mixed precision. Not in this version.

    Raises:
        NotImplementedError: build the network inside of paddle.amp.auto_cast instead.
    """
    raise _C.located(
        NotImplementedError(
            "static.amp.decorate: not in this version; build the network inside of paddle.amp.auto_cast(dtype='bfloat16'), "
            "which records its casts"
        )
    )
