"""The losses as layers, under the path that programs know."""

from proa.framework.names import borrow as _borrow

__getattr__ = _borrow(__name__, "proa.nn")


def __dir__():
    from proa.nn.layer import loss

    return sorted(name for name, value in vars(loss).items() if isinstance(value, type) and not name.startswith("_"))
