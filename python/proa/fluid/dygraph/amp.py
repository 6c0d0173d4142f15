"""See proa.amp."""

from proa.amp.auto_cast import amp_guard
from proa.amp.grad_scaler import AmpScaler

__all__ = ["AmpScaler", "amp_guard"]
