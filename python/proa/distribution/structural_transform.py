"""Transforms of whole events, and transforms made of transforms."""

import math
from collections.abc import Sequence

from proa import _C
from proa.distribution import variable
from proa.distribution.transform import Transform, Type, sum_rightmost
from proa.framework.attributes import known_int, known_ints

__all__ = [
    "ChainTransform", "IndependentTransform", "ReshapeTransform", "SoftmaxTransform", "StackTransform",
    "StickBreakingTransform",
]  # fmt: skip


def _all_transforms(what, transforms):
    if not isinstance(transforms, Sequence) or not all(isinstance(t, Transform) for t in transforms):
        raise _C.located(TypeError(f"{what}: transforms must be a list of Transforms, not {transforms!r}"))
    return transforms


class ChainTransform(Transform):
    """One transform after another, the first of the list first.

    Args:
        transforms (list[Transform]): of what goes in to what comes out.

    Examples:
        >>> D = proa.distribution
        >>> chain = D.ChainTransform([D.AffineTransform(proa.to_tensor(0.0), proa.to_tensor(2.0)), D.ExpTransform()])
        >>> round(chain.forward(proa.ones([])).item(), 4), round(chain.inverse(proa.ones([])).item(), 4)
        (7.3891, 0.0)
    """

    def __init__(self, transforms):
        self.transforms = _all_transforms("ChainTransform", transforms)

    def _is_injective(self):
        return all(t._is_injective() for t in self.transforms)

    def _forward(self, x):
        for transform in self.transforms:
            x = transform.forward(x)
        return x

    def _inverse(self, y):
        for transform in reversed(self.transforms):
            y = transform.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x):
        total, rank = 0.0, self._domain.event_rank
        for t in self.transforms:
            inside = t._domain.event_rank
            shape = list(x.shape)[: len(x.shape) - inside]
            total = total + sum_rightmost(t.forward_log_det_jacobian(x), rank - inside, shape)
            x = t.forward(x)
            rank += t._codomain.event_rank - inside
        return total

    def _forward_shape(self, shape):
        for transform in self.transforms:
            shape = transform.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape):
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return shape

    @property
    def _domain(self):
        if not self.transforms:
            return variable.real
        # As many dims as the transform that takes the most: dims that earlier transforms add are not asked for.
        rank = self.transforms[-1]._codomain.event_rank
        for t in reversed(self.transforms):
            rank = max(rank - t._codomain.event_rank + t._domain.event_rank, t._domain.event_rank)
        first = self.transforms[0]._domain
        return variable.Independent(first, rank - first.event_rank)

    @property
    def _codomain(self):
        if not self.transforms:
            return variable.real
        rank = self.transforms[0]._domain.event_rank
        for t in self.transforms:
            rank = max(rank + t._codomain.event_rank - t._domain.event_rank, t._codomain.event_rank)
        last = self.transforms[-1]._codomain
        return variable.Independent(last, rank - last.event_rank)


class IndependentTransform(Transform):
    """Another transform, of which more of the last dims are one event: the logarithms of stretching are added up.

    Args:
        base (Transform): the other.
        reinterpreted_batch_rank (int): how many dims more, at least 1.

    Examples:
        >>> D = proa.distribution
        >>> D.IndependentTransform(D.ExpTransform(), 1).forward_log_det_jacobian(proa.ones([2, 3])).tolist()
        [3.0, 3.0]
    """

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Transform):
            raise _C.located(TypeError(f"IndependentTransform: base must be a Transform, not {type(base).__name__}"))
        reinterpreted_batch_rank = known_int(
            "IndependentTransform", "reinterpreted_batch_rank", reinterpreted_batch_rank
        )
        if reinterpreted_batch_rank <= 0:
            raise _C.located(
                ValueError(
                    f"IndependentTransform: reinterpreted_batch_rank must be positive, not {reinterpreted_batch_rank!r}"
                )
            )
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank

    def _is_injective(self):
        return self._base._is_injective()

    def _forward(self, x):
        return self._base.forward(x)

    def _inverse(self, y):
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x):
        shape = list(x.shape)[: len(x.shape) - self._base._domain.event_rank]
        return sum_rightmost(self._base.forward_log_det_jacobian(x), self._reinterpreted_batch_rank, shape)

    def _forward_shape(self, shape):
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape):
        return self._base.inverse_shape(shape)

    @property
    def _domain(self):
        return variable.Independent(self._base._domain, self._reinterpreted_batch_rank)

    @property
    def _codomain(self):
        return variable.Independent(self._base._codomain, self._reinterpreted_batch_rank)


class ReshapeTransform(Transform):
    """The last dims in another shape.

    Args:
        in_event_shape, out_event_shape (tuple[int]): before and after, with as many numbers.

    Examples:
        >>> reshape = proa.distribution.ReshapeTransform((2, 3), (3, 2))
        >>> reshape.forward(proa.ones([5, 2, 3])).shape, reshape.forward_shape((5, 2, 3))
        ([5, 3, 2], (5, 3, 2))
    """

    _type = Type.BIJECTION

    def __init__(self, in_event_shape, out_event_shape):
        in_event_shape = known_ints("ReshapeTransform", "in_event_shape", in_event_shape)
        out_event_shape = known_ints("ReshapeTransform", "out_event_shape", out_event_shape)
        if math.prod(in_event_shape) != math.prod(out_event_shape):
            raise _C.located(
                ValueError(
                    f"ReshapeTransform: in_event_shape {tuple(in_event_shape)} and out_event_shape "
                    f"{tuple(out_event_shape)} do not hold as many numbers"
                )
            )
        self._in_event_shape, self._out_event_shape = tuple(in_event_shape), tuple(out_event_shape)

    @property
    def in_event_shape(self):
        return self._in_event_shape

    @property
    def out_event_shape(self):
        return self._out_event_shape

    @property
    def _domain(self):
        return variable.Independent(variable.real, len(self._in_event_shape))

    @property
    def _codomain(self):
        return variable.Independent(variable.real, len(self._out_event_shape))

    def _forward(self, x):
        return x.reshape(list(self._changed(x.shape, self._in_event_shape, self._out_event_shape)))

    def _inverse(self, y):
        return y.reshape(list(self._changed(y.shape, self._out_event_shape, self._in_event_shape)))

    def _forward_shape(self, shape):
        return self._changed(shape, self._in_event_shape, self._out_event_shape)

    def _inverse_shape(self, shape):
        return self._changed(shape, self._out_event_shape, self._in_event_shape)

    def _changed(self, shape, old, new):
        lead = len(shape) - len(old)
        if lead < 0 or tuple(shape[lead:]) != old:
            raise _C.located(ValueError(f"ReshapeTransform: the last dims must be {old}; the shape is {list(shape)}"))
        return tuple(shape[:lead]) + new

    def _forward_log_det_jacobian(self, x):
        return _C.ops.full(list(x.shape)[: len(x.shape) - len(self._in_event_shape)], 0.0, x.dtype)


class _OfVectors(Transform):
    """Base of what takes vectors and gives numbers that add up to 1."""

    @property
    def _domain(self):
        return variable.Independent(variable.real, 1)

    @property
    def _codomain(self):
        def simplex(value):
            return (value >= 0.0).all(-1).logical_and((value.sum(-1) - 1.0).abs() < 1e-6)

        return variable.Variable(False, 1, simplex)

    def _sizes(self, what, shape):
        if len(super()._sizes(what, shape)) == 0:
            raise _C.located(
                ValueError(f"{type(self).__name__}.{what}: the shape of a vector has a dim; it is {shape!r}")
            )
        return shape


class SoftmaxTransform(_OfVectors):
    """y = exp(x) / sum(exp(x)) over the last dim. Several x have the same y; the inverse is log(y).

    Examples:
        >>> proa.distribution.SoftmaxTransform().forward(proa.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    _type = Type.OTHER

    def _forward(self, x):
        return _C.ops.softmax(x, -1)

    def _inverse(self, y):
        return y.log()


class StackTransform(Transform):
    """A transform for each place along an axis.

    Args:
        transforms (list[Transform]): as many as there are places.
        axis (int): the axis.

    Examples:
        >>> D = proa.distribution
        >>> both = D.StackTransform([D.ExpTransform(), D.TanhTransform()], 1)
        >>> both.forward(proa.zeros([1, 2])).tolist()
        [[1.0, 0.0]]
    """

    def __init__(self, transforms, axis=0):
        self._transforms = _all_transforms("StackTransform", transforms)
        if not transforms:
            raise _C.located(TypeError("StackTransform: transforms must not be empty"))
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise _C.located(TypeError(f"StackTransform: axis must be an int, not {type(axis).__name__}"))
        self._axis = axis

    def _is_injective(self):
        return all(t._is_injective() for t in self._transforms)

    @property
    def transforms(self):
        return self._transforms

    @property
    def axis(self):
        return self._axis

    def _each(self, what, value):
        rank = len(value.shape)
        if not -rank <= self._axis < rank or value.shape[self._axis] != len(self._transforms):
            raise _C.located(
                ValueError(
                    f"StackTransform: axis {self._axis} must be of {len(self._transforms)}, one place a transform; the "
                    f"value is {list(value.shape)}"
                )
            )
        parts = _C.ops.unbind(value, self._axis)
        return _C.ops.stack([getattr(t, what)(part) for t, part in zip(self._transforms, parts)], self._axis)

    def _forward(self, x):
        return self._each("forward", x)

    def _inverse(self, y):
        return self._each("inverse", y)

    def _forward_log_det_jacobian(self, x):
        return self._each("forward_log_det_jacobian", x)

    @property
    def _domain(self):
        return variable.Stack([t._domain for t in self._transforms], self._axis)

    @property
    def _codomain(self):
        return variable.Stack([t._codomain for t in self._transforms], self._axis)


class StickBreakingTransform(_OfVectors):
    """From n numbers to n + 1 positive ones that add up to 1: each takes its share of what is left of a stick of length 1.

    Examples:
        >>> shares = proa.distribution.StickBreakingTransform().forward(proa.zeros([2]))
        >>> [round(share, 4) for share in shares.tolist()]
        [0.3333, 0.3333, 0.3333]
    """

    _type = Type.BIJECTION

    def _moved(self, x, count):
        """x where 0 is the share that all take alike."""
        return x - _C.ops.arange(count, 0, -1, x.dtype).log()

    def _forward(self, x):
        share = _C.ops.sigmoid(self._moved(x, x.shape[-1]))
        left = _C.ops.cumprod(1.0 - share, -1)
        one = _C.ops.full_like(share[..., :1], 1.0)
        return _C.ops.concat([share, one], -1) * _C.ops.concat([one, left], -1)

    def _inverse(self, y):
        shares = y[..., :-1]
        left = 1.0 - _C.ops.cumsum(shares, -1)
        count = shares.shape[-1]
        return shares.log() - left.log() + _C.ops.arange(count, 0, -1, y.dtype).log()

    def _forward_log_det_jacobian(self, x):
        y = self._forward(x)
        x = self._moved(x, x.shape[-1])
        return (-x - _C.ops.softplus(-x) + y[..., :-1].log()).sum(-1)

    def _forward_shape(self, shape):
        return (*shape[:-1], shape[-1] + 1)

    def _inverse_shape(self, shape):
        return (*shape[:-1], shape[-1] - 1)
