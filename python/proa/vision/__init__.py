"""Models of images."""

import importlib

_SUBMODULES = frozenset(("models",))


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"proa.vision.{name}")
    raise AttributeError(f"module 'proa.vision' has no attribute {name!r}")
