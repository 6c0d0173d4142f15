"""See proa.fluid.io and proa.static.states."""

from proa.framework.names import borrow as _borrow

__getattr__ = _borrow(__name__, "proa.fluid.io")
