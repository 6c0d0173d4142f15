"""Learning rates that follow a schedule.

A scheduler is made with the optimizer's base rate and given to it as
`learning_rate`; `scheduler.step()` goes to the next epoch (or batch: the unit is
the caller's).
"""

from proa.framework.names import missing as _missing
from proa.optimizer.lr.cycle import CosineAnnealingDecay, CyclicLR, OneCycleLR
from proa.optimizer.lr.decay import (
    ExponentialDecay,
    InverseTimeDecay,
    LambdaDecay,
    MultiplicativeDecay,
    MultiStepDecay,
    NaturalExpDecay,
    NoamDecay,
    PiecewiseDecay,
    PolynomialDecay,
    StepDecay,
)
from proa.optimizer.lr.plateau import ReduceOnPlateau
from proa.optimizer.lr.scheduler import LRScheduler
from proa.optimizer.lr.warmup import LinearWarmup

__all__ = [
    "CosineAnnealingDecay",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
]

__getattr__ = _missing(__name__)
