"""Optimizers, and learning rates that change by a schedule (`proa.optimizer.lr`)."""

from proa.framework.names import missing as _missing
from proa.optimizer import lr
from proa.optimizer.adam import Adam, AdamW
from proa.optimizer.adaptive import Adadelta, Adagrad, Adamax, Lamb, RMSProp
from proa.optimizer.optimizer import Optimizer
from proa.optimizer.sgd import SGD, Momentum

__all__ = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "Optimizer",
    "RMSProp",
    "SGD",
    "lr",
]

__getattr__ = _missing(__name__)
