"""Mixed precision: `auto_cast`, `GradScaler`, and looking for NaN and Inf, `proa.amp.debugging`."""

from proa.amp import debugging
from proa.amp.auto_cast import amp_guard as amp_guard
from proa.amp.auto_cast import auto_cast
from proa.amp.decoration import decorate
from proa.amp.grad_scaler import GradScaler
from proa.framework.names import missing as _missing

__all__ = ["GradScaler", "auto_cast", "debugging", "decorate"]

__getattr__ = _missing(__name__)
