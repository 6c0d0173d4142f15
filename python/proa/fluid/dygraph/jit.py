"""See proa.jit."""

from proa.framework.names import missing as _missing
from proa.jit import *
from proa.jit import to_static

__getattr__ = _missing(__name__)

declarative = to_static
