"""Functions of layers of sparse tensors, by the name of release 2.3: `proa.sparse.nn.functional`."""

from proa.framework.names import borrow as _borrow
from proa.sparse.nn.functional import relu

__all__ = ["relu"]

__getattr__ = _borrow(__name__, "proa.sparse.nn.functional")
