"""Ops by the reference's names: those of 2.x with names and values of attributes, or with values alone as in this package.

`_C_ops.softmax(x, "axis", -1)` and `_C_ops.softmax(x, -1)`; `final_state_softmax` is `softmax`.
"""

from proa import _C, _legacy_C_ops
from proa.framework.names import MissingName as _MissingName


def __getattr__(name):
    plain = name.removeprefix("final_state_")
    own = None if plain.startswith("_") else getattr(_C.ops, plain, None)
    try:
        old = getattr(_legacy_C_ops, plain)
    except AttributeError:
        if own is None:
            raise _MissingName(__name__, name) from None
        return own
    if own is None:
        return old

    def call(*arguments, **attributes):
        if attributes or (len(arguments) > 1 and not any(isinstance(a, str) for a in arguments)):
            return own(*arguments, **attributes)
        return old(*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = old.__doc__
    return call


def __dir__():
    return sorted({*dir(_legacy_C_ops), *(name for name in dir(_C.ops) if not name.startswith("_"))})
