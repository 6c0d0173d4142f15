"""Transforms of each number."""

import math

from proa import _C
from proa.distribution import variable
from proa.distribution.transform import Transform, Type, broadcast_shapes

__all__ = [
    "AbsTransform", "AffineTransform", "ExpTransform", "PowerTransform", "SigmoidTransform", "TanhTransform",
]  # fmt: skip


def _tensor(what, name, value):
    if not isinstance(value, _C.Tensor):
        raise _C.located(TypeError(f"{what}: {name} must be a Tensor, not {type(value).__name__}"))
    return value


class AbsTransform(Transform):
    """y = abs(x). Its inverse is two: (-y, y).

    Examples:
        >>> down, up = proa.distribution.AbsTransform().inverse(proa.ones([1]))
        >>> down.item(), up.item()
        (-1.0, 1.0)
    """

    _type = Type.SURJECTION

    def _forward(self, x):
        return x.abs()

    def _inverse(self, y):
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        zero = _C.ops.full([], 0.0, y.dtype)
        return zero, zero

    @property
    def _codomain(self):
        return variable.positive


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc, scale (Tensor): broadcast with x.

    Examples:
        >>> affine = proa.distribution.AffineTransform(proa.to_tensor(1.0), proa.to_tensor(2.0))
        >>> affine.forward(proa.ones([2])).tolist(), affine.inverse(proa.ones([2])).tolist()
        ([3.0, 3.0], [0.0, 0.0])
    """

    _type = Type.BIJECTION

    def __init__(self, loc, scale):
        self._loc, self._scale = _tensor("AffineTransform", "loc", loc), _tensor("AffineTransform", "scale", scale)

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    def _forward(self, x):
        return self._loc + self._scale * x

    def _inverse(self, y):
        return (y - self._loc) / self._scale

    def _forward_log_det_jacobian(self, x):
        return self._scale.abs().log()

    def _forward_shape(self, shape):
        return broadcast_shapes(shape, self._loc.shape, self._scale.shape)

    _inverse_shape = _forward_shape


class ExpTransform(Transform):
    """y = exp(x).

    Examples:
        >>> proa.distribution.ExpTransform().forward(proa.zeros([2])).tolist()
        [1.0, 1.0]
    """

    _type = Type.BIJECTION

    @property
    def _codomain(self):
        return variable.positive

    def _forward(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def _forward_log_det_jacobian(self, x):
        return x


class PowerTransform(Transform):
    """y = x ** power, for positive x.

    Args:
        power (Tensor): broadcast with x.

    Examples:
        >>> proa.distribution.PowerTransform(proa.to_tensor(2.0)).forward(proa.to_tensor([3.0])).tolist()
        [9.0]
    """

    _type = Type.BIJECTION

    def __init__(self, power):
        self._power = _tensor("PowerTransform", "power", power)

    @property
    def power(self):
        return self._power

    @property
    def _codomain(self):
        return variable.positive

    def _forward(self, x):
        return x.pow(self._power)

    def _inverse(self, y):
        return y.pow(1.0 / self._power)

    def _forward_log_det_jacobian(self, x):
        return (self._power * x.pow(self._power - 1.0)).abs().log()

    def _forward_shape(self, shape):
        return broadcast_shapes(shape, self._power.shape)

    _inverse_shape = _forward_shape


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    Examples:
        >>> proa.distribution.SigmoidTransform().forward(proa.zeros([1])).tolist()
        [0.5]
    """

    _type = Type.BIJECTION

    @property
    def _codomain(self):
        return variable.Variable(False, 0, lambda value: (value >= 0.0).logical_and(value <= 1.0))

    def _forward(self, x):
        return _C.ops.sigmoid(x)

    def _inverse(self, y):
        return y.log() - _C.ops.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -_C.ops.softplus(-x) - _C.ops.softplus(x)


class TanhTransform(Transform):
    """y = tanh(x).

    Examples:
        >>> proa.distribution.TanhTransform().inverse(proa.zeros([1])).tolist()
        [0.0]
    """

    _type = Type.BIJECTION

    @property
    def _codomain(self):
        return variable.Variable(False, 0, lambda value: (value >= -1.0).logical_and(value <= 1.0))

    def _forward(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def _forward_log_det_jacobian(self, x):
        # log(1 - tanh(x)^2), which is 0 - infinity for x of no more than 10 if it is computed so.
        return 2.0 * (math.log(2.0) - x - _C.ops.softplus(-2.0 * x))
