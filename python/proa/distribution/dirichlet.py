"""Dirichlet: shares that sum to one."""

from proa import _C
from proa.distribution.distribution import log_gamma_variates, parameter, sizes
from proa.distribution.exponential_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet distributions over k shares, of density prod(x^(concentration - 1)) / B(concentration).

    Args:
        concentration (list|Tensor): [..., k], positive.

    Examples:
        >>> dirichlet = proa.distribution.Dirichlet(proa.to_tensor([1.0, 1.0, 2.0]))
        >>> dirichlet.mean.tolist(), dirichlet.sample([5]).shape
        ([0.25, 0.25, 0.5], [5, 3])
    """

    def __init__(self, concentration):
        self.concentration = parameter("Dirichlet", "concentration", concentration)
        shape = list(self.concentration.shape)
        if not shape:
            raise _C.located(ValueError("Dirichlet: concentration must have a dim of shares; it is one number"))
        self.dtype = self.concentration.dtype
        super().__init__(shape[:-1], shape[-1:])

    @property
    def mean(self):
        """concentration over its sum."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self):
        """a (A - a) / (A^2 (A + 1)), a the concentration and A its sum."""
        a = self.concentration.astype(_C.float64)
        total = a.sum(-1, keepdim=True)
        return ((a / total) * ((total - a) / total) / (total + 1.0)).astype(self.dtype)

    def sample(self, shape=()):
        """Random shares: [*shape, *batch_shape, k]."""
        dims = sizes("Dirichlet.sample", shape) + list(self.concentration.shape)
        drawn = log_gamma_variates(_C.ops.broadcast_to(self.concentration.detach(), dims))
        return _C.ops.softmax(drawn, -1).astype(self.dtype)

    def prob(self, value):
        """The density at `value`."""
        return self.log_prob(value).exp()

    def log_prob(self, value):
        """The sum of (concentration - 1) log(value), less log B(concentration)."""
        value = parameter("Dirichlet.log_prob", "value", value, self.dtype)
        # In float64, as large terms cancel.
        a = self.concentration.astype(_C.float64)
        powers = (value.astype(_C.float64).log() * (a - 1.0)).sum(-1)
        return (powers - self._log_normalizer(a)).astype(self.dtype)

    def entropy(self):
        """log B(a) + (A - k) digamma(A) - the sum of (a - 1) digamma(a), a the concentration and A its sum."""
        a, digamma = self.concentration.astype(_C.float64), _C.ops.digamma
        total = a.sum(-1)
        inner = ((a - 1.0) * digamma(a)).sum(-1)
        value = self._log_normalizer(a) + (total - float(self.event_shape[0])) * digamma(total) - inner
        return value.astype(self.dtype)

    @property
    def _natural_parameters(self):
        return (self.concentration,)

    def _log_normalizer(self, concentration):
        return _C.ops.lgamma(concentration).sum(-1) - _C.ops.lgamma(concentration.sum(-1))
