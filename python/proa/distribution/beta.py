"""Beta: numbers between 0 and 1."""

from proa import _C
from proa.distribution.distribution import log_gamma_variates, parameter, sizes
from proa.distribution.exponential_family import ExponentialFamily

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Beta distributions, of density x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta) on (0, 1).

    Args:
        alpha (float|list|Tensor): positive.
        beta (float|list|Tensor): positive.

    Examples:
        >>> beta = proa.distribution.Beta(2.0, 3.0)
        >>> round(beta.mean.item(), 4), round(beta.prob(0.5).item(), 4), beta.sample([4]).shape
        (0.4, 1.5, [4])
    """

    def __init__(self, alpha, beta):
        alpha, beta = parameter("Beta", "alpha", alpha), parameter("Beta", "beta", beta)
        shape = (alpha + beta).shape
        self.alpha, self.beta = (_C.ops.broadcast_to(v, shape) for v in (alpha, beta))
        self.dtype = self.alpha.dtype
        super().__init__(shape)

    @property
    def mean(self):
        """alpha / (alpha + beta)."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self):
        """alpha beta / ((alpha + beta)^2 (alpha + beta + 1))."""
        total = self.alpha + self.beta
        return (self.alpha / total) * (self.beta / total) / (total + 1.0)

    def sample(self, shape=()):
        """Random numbers: [*shape, *batch_shape]."""
        dims = sizes("Beta.sample", shape) + list(self.batch_shape)
        x, y = (log_gamma_variates(_C.ops.broadcast_to(v.detach(), dims)) for v in (self.alpha, self.beta))
        return _C.ops.sigmoid(x - y).astype(self.dtype)

    def prob(self, value):
        """The density at `value`."""
        return self.log_prob(value).exp()

    def log_prob(self, value):
        """(alpha - 1) log(value) + (beta - 1) log(1 - value) - log B(alpha, beta)."""
        value = parameter("Beta.log_prob", "value", value, self.dtype)
        # In float64, as large terms cancel. A factor of 0 takes away an infinite logarithm at the ends.
        alpha, beta, value = (x.astype(_C.float64) for x in (self.alpha, self.beta, value))
        powers = _times_log(alpha - 1.0, value.log()) + _times_log(beta - 1.0, _C.ops.log1p(-value))
        return (powers - self._log_normalizer(alpha, beta)).astype(self.dtype)

    def entropy(self):
        """log B(alpha, beta) - (alpha - 1) digamma(alpha) - (beta - 1) digamma(beta) + (alpha + beta - 2) digamma(alpha + beta)."""
        alpha, beta, digamma = self.alpha.astype(_C.float64), self.beta.astype(_C.float64), _C.ops.digamma
        total = alpha + beta
        value = self._log_normalizer(alpha, beta) + (total - 2.0) * digamma(total)
        return (value - (alpha - 1.0) * digamma(alpha) - (beta - 1.0) * digamma(beta)).astype(self.dtype)

    @property
    def _natural_parameters(self):
        return self.alpha, self.beta

    def _log_normalizer(self, alpha, beta):
        return _C.ops.lgamma(alpha) + _C.ops.lgamma(beta) - _C.ops.lgamma(alpha + beta)


def _times_log(factor, logarithm):
    """factor * logarithm, and 0 where the factor is."""
    return _C.ops.where(factor == 0.0, _C.ops.full_like(factor, 0.0), factor) * _C.ops.where(
        (factor == 0.0).logical_and(_C.ops.isinf(logarithm)), _C.ops.full_like(logarithm, 0.0), logarithm
    )
