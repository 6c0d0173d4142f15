"""CallContext: what a recording depends on besides its arguments and the layers that it uses."""

from proa import _C
from proa.framework import flags

_NAMES = ("gradients", "autocast", "default_dtype", "place", "flags")


def current():
    """The state of this thread and process, as a key: see `differences` for what it holds."""
    return (
        _C.is_grad_enabled(),
        _C.amp.number(),
        _C.get_default_dtype().name,
        _C.get_device(),
        flags.with_meaning(),
    )


def differences(a, b):
    """The names of the parts in which two contexts differ."""
    return [name for name, x, y in zip(_NAMES, a, b, strict=True) if x != y]


def settings(training):
    """What a program file says of the context: pairs of texts."""
    autocast = _C.amp.current()
    return [
        *([("autocast", f"{autocast[1]} {autocast[0]}")] if autocast is not None else []),
        ("default_dtype", _C.get_default_dtype().name),
        ("place", _C.get_device()),
        ("training", str(training).lower()),
    ]
