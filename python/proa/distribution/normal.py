"""Normal: the distribution of mean loc and deviation scale."""

import math

from proa import _C
from proa.distribution.distribution import Distribution, parameter, sizes, together

__all__ = ["Normal"]


class Normal(Distribution):
    """Normal distributions.

    Args:
        loc (float|list|Tensor): means.
        scale (float|list|Tensor): standard deviations, positive.
        name (str, optional): not used.

    Examples:
        >>> normal = proa.distribution.Normal([0.0, 1.0], [1.0, 2.0])
        >>> normal.sample([5]).shape, round(normal.entropy()[0].item(), 4)
        ([5, 2], 1.4189)
    """

    def __init__(self, loc, scale, name=None):
        both = parameter("Normal", "loc", loc), parameter("Normal", "scale", scale)
        self.loc, self.scale = together(*both, loc, scale)
        self.dtype = self.loc.dtype
        self.name = name or "Normal"
        super().__init__((self.loc + self.scale).shape)

    @property
    def mean(self):
        """The means."""
        return _C.ops.broadcast_to(self.loc, list(self.batch_shape))

    @property
    def variance(self):
        """The variances."""
        return _C.ops.broadcast_to(self.scale * self.scale, list(self.batch_shape))

    def sample(self, shape=(), seed=0):
        """Random numbers: [*shape, *batch_shape]."""
        return self.rsample(shape, seed).detach()

    def rsample(self, shape=(), seed=0):
        """`sample` whose gradient flows to loc and scale."""
        dims = sizes("Normal.sample", shape) + list(self.batch_shape)
        return self.loc + self.scale * _C.ops.gaussian(dims, self.dtype, 0.0, 1.0, seed)

    def entropy(self):
        """0.5 + 0.5 * log(2 pi) + log(scale)."""
        return _C.ops.full_like(self.loc + self.scale, 0.5 + 0.5 * math.log(2.0 * math.pi)) + self.scale.log()

    def log_prob(self, value):
        """-(value - loc)^2 / (2 scale^2) - log(scale) - log(2 pi) / 2."""
        value = parameter("Normal.log_prob", "value", value, self.dtype)
        # Divided before it is squared: the square of a small or large scale is no number any more.
        away = (value - self.loc) / self.scale
        return -0.5 * (away * away) - self.scale.log() - 0.5 * math.log(2.0 * math.pi)
