"""Callbacks of Model.fit, evaluate and predict."""

from proa.framework.names import missing as _missing
from proa.hapi.callbacks import (
    Callback,
    EarlyStopping,
    LRScheduler,
    ModelCheckpoint,
    ProgBarLogger,
    ReduceLROnPlateau,
)
from proa.hapi.visual_dl import VisualDL

__all__ = [
    "Callback",
    "EarlyStopping",
    "LRScheduler",
    "ModelCheckpoint",
    "ProgBarLogger",
    "ReduceLROnPlateau",
    "VisualDL",
]

__getattr__ = _missing(__name__)
