"""Predicates by which programs ask how ops are run.

There is one engine. Programs may still say which of two they want, by FLAGS_enable_eager_mode (in the
environment or by set_flags) or the functions here: the predicates then answer accordingly, results are
the same.
"""

import contextlib

from proa.framework import compat, flags

__all__ = [
    "_disable_legacy_dygraph",
    "_enable_legacy_dygraph",
    "_in_dygrah_mode",
    "_in_eager_without_dygraph_check",
    "_in_legacy_dygraph",
    "_non_static_mode",
    "_test_eager_guard",
    "in_dygraph_mode",
]

_non_static_mode = compat.in_dynamic_mode


def _in_eager_without_dygraph_check():
    """True unless the legacy engine was asked for, in static mode too."""
    return flags.get_flags("enable_eager_mode")["enable_eager_mode"]


def in_dygraph_mode():
    """True while ops run at once, unless the legacy engine was asked for."""
    return _in_eager_without_dygraph_check() and _non_static_mode()


# The spelling under which one release had it.
_in_dygrah_mode = in_dygraph_mode


def _in_legacy_dygraph():
    """True while ops run at once and the legacy engine was asked for."""
    return not _in_eager_without_dygraph_check() and _non_static_mode()


def _enable_legacy_dygraph():
    """Asks for the legacy engine."""
    flags.set_flags({"FLAGS_enable_eager_mode": False})


def _disable_legacy_dygraph():
    """Asks for the eager engine, as it is from the start."""
    flags.set_flags({"FLAGS_enable_eager_mode": True})


@contextlib.contextmanager
def _test_eager_guard(place=None):
    """Inside, the eager engine is asked for; afterwards what was asked for before.

    Args:
        place (Place, optional): where tensors are made inside.
    """
    from proa import _C

    before = _in_eager_without_dygraph_check()
    device = _C.get_device()
    _disable_legacy_dygraph()
    if place is not None:
        _C.set_device(place)
    try:
        yield
    finally:
        flags.set_flags({"FLAGS_enable_eager_mode": before})
        if place is not None:
            _C.set_device(device)
