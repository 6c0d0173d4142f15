"""The layers, a file each kind."""

import sys as _sys


def __getattr__(name):
    # Programs import layers from here too; submodules are found by the import system.
    import proa.nn
    from proa.framework.names import MissingName

    value = None if name.startswith("_") else getattr(proa.nn, name, None)
    if not isinstance(value, type):
        raise MissingName(__name__, name)
    _sys.modules[__name__].__dict__[name] = value
    return value
