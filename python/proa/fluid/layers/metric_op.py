"""Metrics of a batch."""

from proa.static.metrics import accuracy
from proa.static.metrics import auc as _auc

__all__ = ["accuracy", "auc"]


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1):
    """`static.auc`."""
    return _auc(input, label, curve, num_thresholds, topk, slide_steps)
