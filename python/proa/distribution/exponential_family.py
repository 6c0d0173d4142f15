"""ExponentialFamily: distributions whose density is exp(t(x) * theta - F(theta) + k(x))."""

from proa.distribution.distribution import Distribution

__all__ = ["ExponentialFamily", "log_normalizer_and_slope"]


def log_normalizer_and_slope(distribution):
    """(F(theta), theta, dF/dtheta) of natural parameters, in float64, as differences of these follow; all have gradients."""
    from proa import _C, grad

    parameters = []
    for parameter in distribution._natural_parameters:
        # A fresh variable each, as one tensor may stand for several.
        fresh = parameter.detach() if parameter.stop_gradient else parameter * 1.0
        parameters.append(fresh.astype(_C.float64) if fresh.dtype == _C.float32 else fresh)
        parameters[-1].stop_gradient = False
    value = distribution._log_normalizer(*parameters)
    return value, parameters, grad(value.sum(), parameters, create_graph=True)


class ExponentialFamily(Distribution):
    """Base of exponential families.

    Subclasses define `_natural_parameters` (a tuple of tensors), `_log_normalizer(*natural_parameters)` and
    `_mean_carrier_measure` (the mean of k(x)). Entropies and divergences between two of one class follow from these.

    Examples:
        >>> class Coin(proa.distribution.ExponentialFamily):
        ...     def __init__(self, logit):
        ...         self.logit = logit
        ...         super().__init__(logit.shape)
        ...     _natural_parameters = property(lambda self: (self.logit,))
        ...     _mean_carrier_measure = 0.0
        ...     def _log_normalizer(self, logit):
        ...         return proa.nn.functional.softplus(logit)
        >>> round(Coin(proa.zeros([])).entropy().item(), 4)  # log(2)
        0.6931
    """

    @property
    def _natural_parameters(self):
        self._missing("_natural_parameters")

    def _log_normalizer(self, *natural_parameters):
        self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self):
        self._missing("_mean_carrier_measure")

    def entropy(self):
        """F(theta) - theta * dF/dtheta - the mean of k(x)."""
        value, parameters, slopes = log_normalizer_and_slope(self)
        value = value - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes):
            value = value - parameter * slope
        return value.astype(self._natural_parameters[0].dtype)
