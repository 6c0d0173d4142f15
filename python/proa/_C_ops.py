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
        raise _MissingName(__name__, name) from None
    if own is None:
        return old

    def call(*arguments, **attributes):
        values = attributes or not any(isinstance(a, str) for a in arguments)
        return own(*arguments, **attributes) if values and len(arguments) != 1 else old(*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = old.__doc__
    return call


def __dir__():
    return dir(_legacy_C_ops)
