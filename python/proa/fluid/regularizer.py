"""Weight decay, under its old names."""

from proa import regularizer as _regularizer
from proa.framework.names import missing as _missing

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer"]

__getattr__ = _missing(__name__)


class L1DecayRegularizer(_regularizer.L1Decay):
    """`regularizer.L1Decay` by its old argument."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)


class L2DecayRegularizer(_regularizer.L2Decay):
    """`regularizer.L2Decay` by its old argument."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)


L1Decay, L2Decay = L1DecayRegularizer, L2DecayRegularizer
