"""Uniform: all numbers from low to high alike."""

import math

from proa import _C
from proa.distribution.distribution import Distribution, parameter, sizes, together

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform distributions over [low, high).

    Args:
        low, high (float|list|Tensor): where they begin and end.
        name (str, optional): not used.

    Examples:
        >>> uniform = proa.distribution.Uniform(0.0, [1.0, 4.0])
        >>> uniform.probs([0.5, 3.0]).tolist()
        [1.0, 0.25]
    """

    def __init__(self, low, high, name=None):
        both = parameter("Uniform", "low", low), parameter("Uniform", "high", high)
        self.low, self.high = together(*both, low, high)
        self.dtype = self.low.dtype
        self.name = name or "Uniform"
        super().__init__((self.low + self.high).shape)

    def sample(self, shape=(), seed=0):
        """Random numbers: [*shape, *batch_shape]."""
        return self.rsample(shape, seed).detach()

    def rsample(self, shape=(), seed=0):
        """`sample` whose gradient flows to low and high."""
        dims = sizes("Uniform.sample", shape) + list(self.batch_shape)
        return self.low + (self.high - self.low) * _C.ops.uniform(dims, self.dtype, 0.0, 1.0, seed)

    def entropy(self):
        """log(high - low)."""
        # By halves, as from -3e38 to 3e38 it is further than the largest number.
        return (self.high * 0.5 - self.low * 0.5).log() + math.log(2.0)

    def log_prob(self, value):
        """-log(high - low) within, minus infinity outside."""
        inside = self._inside(parameter("Uniform.log_prob", "value", value, self.dtype))
        ends = [_C.ops.full([], end, self.dtype) for end in (0.0, -math.inf)]
        return _C.ops.where(inside, *ends) - self.entropy()

    def prob(self, value):
        """1 / (high - low) within (both ends left out), 0 outside."""
        value = parameter("Uniform.prob", "value", value, self.dtype)
        return self._inside(value).astype(self.dtype) * 0.5 / (self.high * 0.5 - self.low * 0.5)

    def _inside(self, value):
        return (value > self.low).logical_and(value < self.high)
