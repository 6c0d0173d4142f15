"""TransformedDistribution: what becomes of random numbers when they are transformed."""

from collections.abc import Sequence

from proa import _C
from proa.distribution.distribution import Distribution
from proa.distribution.independent import Independent
from proa.distribution.structural_transform import ChainTransform
from proa.distribution.transform import Transform, sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of f(x), for x of another distribution.

    Args:
        base (Distribution): of x.
        transforms (list[Transform]): f, the first of the list first.

    Examples:
        >>> D = proa.distribution
        >>> log_normal = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()])
        >>> round(log_normal.prob(proa.to_tensor(2.0)).item(), 4)
        0.1569
    """

    def __init__(self, base, transforms):
        if not isinstance(base, Distribution):
            raise _C.located(
                TypeError(f"TransformedDistribution: base must be a Distribution, not {type(base).__name__}")
            )
        if not isinstance(transforms, Sequence) or not all(isinstance(t, Transform) for t in transforms):
            raise _C.located(
                TypeError(f"TransformedDistribution: transforms must be a list of Transforms, not {transforms!r}")
            )
        chain = ChainTransform(transforms)
        taken = chain._domain.event_rank
        shape = base.batch_shape + base.event_shape
        if len(shape) < taken:
            raise _C.located(
                ValueError(
                    f"TransformedDistribution: the transforms take events of {taken} dims; base has batch_shape "
                    f"{base.batch_shape} and event_shape {base.event_shape}"
                )
            )
        if taken > len(base.event_shape):
            base = Independent(base, taken - len(base.event_shape))
        self._base, self._transforms = base, transforms
        shape = tuple(chain.forward_shape(shape))
        kept = len(shape) - chain._codomain.event_rank - max(len(base.event_shape) - taken, 0)
        super().__init__(shape[:kept], shape[kept:])

    def sample(self, shape=()):
        """f of samples of base: [*shape, *batch_shape, *event_shape]."""
        return self._transformed(self._base.sample(shape)).detach()

    def rsample(self, shape=()):
        """`sample` whose gradient flows to the parameters of base and of the transforms."""
        return self._transformed(self._base.rsample(shape))

    def _transformed(self, x):
        for transform in self._transforms:
            x = transform.forward(x)
        return x

    def log_prob(self, value):
        """base's at the x of which `value` is f(x), less the logarithm of how much f stretches space there."""
        total, y, rank = 0.0, value, len(self.event_shape)
        for t in reversed(self._transforms):
            x = t.inverse(y)
            inside = t._domain.event_rank
            rank += inside - t._codomain.event_rank
            shape = list(x.shape)[: len(x.shape) - inside]
            total = total - sum_rightmost(t.forward_log_det_jacobian(x), rank - inside, shape)
            y = x
        return total + sum_rightmost(self._base.log_prob(y), rank - len(self._base.event_shape))

    def prob(self, value):
        """The density at `value`."""
        return self.log_prob(value).exp()
