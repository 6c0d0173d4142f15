"""Metrics that add up over batches."""

from proa.framework.names import missing as _missing
from proa.metric.metrics import Accuracy, Auc, Metric, Precision, Recall, accuracy

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]

__getattr__ = _missing(__name__)
