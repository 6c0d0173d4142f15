"""See proa.incubate.autograd."""

from proa.framework.names import borrow as _borrow

__getattr__ = _borrow(__name__, "proa.incubate.autograd")
