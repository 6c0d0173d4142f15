"""See proa.io."""

from proa.framework.names import lazy as _lazy
from proa.io import *

__getattr__, __dir__ = _lazy(__name__, submodules=("batch_sampler", "collate", "dataset", "sampler"))
