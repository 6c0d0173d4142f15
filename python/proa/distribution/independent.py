"""Independent: distributions side by side as one of vectors."""

from proa import _C
from proa.distribution.distribution import Distribution
from proa.distribution.transform import sum_rightmost
from proa.framework.attributes import known_int

__all__ = ["Independent"]


class Independent(Distribution):
    """Another distribution, whose last batch dims become event dims.

    Args:
        base (Distribution): the other.
        reinterpreted_batch_rank (int): how many dims, from 1 to all.

    Examples:
        >>> D = proa.distribution
        >>> vectors = D.Independent(D.Normal(proa.zeros([2, 3]), proa.ones([2, 3])), 1)
        >>> vectors.batch_shape, vectors.event_shape, vectors.log_prob(proa.zeros([2, 3])).shape
        ((2,), (3,), [2])
    """

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Distribution):
            raise _C.located(TypeError(f"Independent: base must be a Distribution, not {type(base).__name__}"))
        reinterpreted_batch_rank = known_int("Independent", "reinterpreted_batch_rank", reinterpreted_batch_rank)
        rank = len(base.batch_shape)
        if not 0 < reinterpreted_batch_rank <= rank:
            raise _C.located(
                ValueError(
                    f"Independent: reinterpreted_batch_rank must be from 1 to {rank}, the batch dims of base, not "
                    f"{reinterpreted_batch_rank!r}"
                )
            )
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        shape, kept = base.batch_shape + base.event_shape, rank - reinterpreted_batch_rank
        super().__init__(shape[:kept], shape[kept:])

    @property
    def mean(self):
        """The means of base."""
        return self._base.mean

    @property
    def variance(self):
        """The variances of base."""
        return self._base.variance

    def sample(self, shape=()):
        """Samples of base: [*shape, *batch_shape, *event_shape]."""
        return self._base.sample(shape)

    def rsample(self, shape=()):
        """`sample` whose gradient flows to the parameters."""
        return self._base.rsample(shape)

    def log_prob(self, value):
        """The sum of base's over the event dims."""
        return sum_rightmost(self._base.log_prob(value), self._reinterpreted_batch_rank)

    def prob(self, value):
        """The density (or probability) at `value`."""
        return self.log_prob(value).exp()

    def entropy(self):
        """The sum of base's over the event dims."""
        return sum_rightmost(self._base.entropy(), self._reinterpreted_batch_rank)
