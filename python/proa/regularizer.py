"""Weight decay: penalties on parameters that optimizers add to gradients."""

from proa.framework.names import missing as _missing


class WeightDecayRegularizer:
    """Base of L1Decay and L2Decay; `coeff` is its strength.

    Examples:
        >>> isinstance(proa.regularizer.L2Decay(1e-4), proa.regularizer.WeightDecayRegularizer)
        True
    """

    def __init__(self, coeff=0.0):
        self._coeff = float(coeff)
        self._regularization_coeff = self._coeff

    @property
    def coeff(self):
        return self._coeff

    def __repr__(self):
        return f"{type(self).__name__}({self._coeff})"


class L1Decay(WeightDecayRegularizer):
    """Adds `coeff * sign(parameter)` to the gradient: the gradient of coeff * |parameter|.

    Examples:
        >>> decay = proa.regularizer.L1Decay(0.01)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(2, 2).parameters(), weight_decay=decay)
    """


class L2Decay(WeightDecayRegularizer):
    """Adds `coeff * parameter` to the gradient: the gradient of coeff / 2 * parameter**2.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters(), weight_decay=proa.regularizer.L2Decay(1e-4))
    """


__getattr__ = _missing(__name__)
