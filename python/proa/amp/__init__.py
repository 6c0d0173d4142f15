"""Mixed precision: `auto_cast`, and looking for NaN and Inf, `proa.amp.debugging`."""

from proa.amp import debugging
from proa.amp.auto_cast import auto_cast

__all__ = ["auto_cast", "debugging"]
