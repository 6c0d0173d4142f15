"""Mixed precision. What there is so far: looking for NaN and Inf, `proa.amp.debugging`."""

from proa.amp import debugging

__all__ = ["debugging"]
