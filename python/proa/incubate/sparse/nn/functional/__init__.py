"""What `proa.sparse.nn.functional` has, by the name of release 2.4."""

from proa.framework.names import lazy as _lazy
from proa.sparse.nn import functional as _functional

__all__ = list(_functional.__all__)

__getattr__, __dir__ = _lazy(__name__, dict.fromkeys(__all__, "proa.sparse.nn.functional"), ())
