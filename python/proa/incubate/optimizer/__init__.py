"""Optimizers around others, and minimizers of functions."""

from proa.framework.names import missing as _missing
from proa.incubate.optimizer import functional
from proa.incubate.optimizer.distributed_fused_lamb import DistributedFusedLamb
from proa.incubate.optimizer.lookahead import LookAhead
from proa.incubate.optimizer.model_average import ModelAverage

__all__ = ["DistributedFusedLamb", "LookAhead", "ModelAverage", "functional"]

__getattr__ = _missing(__name__)
