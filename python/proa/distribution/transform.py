"""Transform: maps of random variables, and how they stretch space. The base; kinds of it are in two other modules."""

import enum
from collections.abc import Sequence

from proa import _C
from proa.distribution import variable
from proa.framework.names import invert, lazy

__all__ = ["Transform", "Type"]

__getattr__, __dir__ = lazy(
    __name__,
    invert({
        "proa.distribution.elementwise_transform": "AbsTransform AffineTransform ExpTransform PowerTransform "
        "SigmoidTransform TanhTransform",
        "proa.distribution.structural_transform": "ChainTransform IndependentTransform ReshapeTransform "
        "SoftmaxTransform StackTransform StickBreakingTransform",
    }),
)  # fmt: skip


class Type(enum.Enum):
    """Whether each result comes from one value only (injective), and whether each possible result comes (surjective)."""

    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"

    @classmethod
    def is_injective(cls, _type):
        """Whether it is a bijection or an injection."""
        return _type in (cls.BIJECTION, cls.INJECTION)


def broadcast_shapes(*shapes):
    """The shape that all of these broadcast to, as a tuple."""
    from proa import broadcast_shape

    result = []
    for shape in shapes:
        result = broadcast_shape(result, list(shape))
    return tuple(result)


def sum_rightmost(value, count, shape=None):
    """The sum over the last `count` dims of a value, or of what it broadcasts to `shape` as."""
    if count <= 0:
        return value
    if shape is not None:
        value = _C.ops.broadcast_to(value, list(broadcast_shapes(value.shape, shape)))
    return value.sum(list(range(-count, 0)))


class Transform:
    """Base of transforms y = f(x).

    Subclasses define `_forward`, `_inverse`, one of `_forward_log_det_jacobian` and `_inverse_log_det_jacobian`, and where
    they differ from the defaults `_type`, `_domain`, `_codomain`, `_forward_shape` and `_inverse_shape`.

    A call with a Distribution gives a TransformedDistribution, with a Transform a ChainTransform, with a tensor `forward`.

    Examples:
        >>> class Double(proa.distribution.Transform):
        ...     def _forward(self, x):
        ...         return 2.0 * x
        ...     def _inverse(self, y):
        ...         return y / 2.0
        ...     def _forward_log_det_jacobian(self, x):
        ...         return proa.full_like(x, 2.0).log()
        >>> double = Double()
        >>> double.forward(proa.ones([2])).tolist(), round(double.inverse_log_det_jacobian(proa.ones([])).item(), 4)
        ([2.0, 2.0], -0.6931)
    """

    _type = Type.INJECTION

    @classmethod
    def _is_injective(cls):
        return Type.is_injective(cls._type)

    def __call__(self, input):
        from proa.distribution.distribution import Distribution

        if isinstance(input, Distribution):
            from proa.distribution.transformed_distribution import TransformedDistribution

            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            from proa.distribution.structural_transform import ChainTransform

            return ChainTransform([self, input])
        return self.forward(input)

    def _checked(self, what, name, value, kind):
        if not isinstance(value, _C.Tensor):
            raise _C.located(TypeError(f"{what}: {name} must be a Tensor, not {type(value).__name__}"))
        if len(value.shape) < kind.event_rank:
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}.{what}: {name} needs {kind.event_rank} dims or more; it is {list(value.shape)}"
                )
            )

    def forward(self, x):
        """f(x)."""
        self._checked("forward", "x", x, self._domain)
        return self._forward(x)

    def inverse(self, y):
        """The x of which y is f(x); all of them, as a tuple, if there are several."""
        self._checked("inverse", "y", y, self._codomain)
        return self._inverse(y)

    def forward_log_det_jacobian(self, x):
        """log(abs(det(df/dx))): how much f stretches space at x.

        Raises:
            NotImplementedError: several x have the same f(x).
        """
        self._checked("forward_log_det_jacobian", "x", x, self._domain)
        if not self._is_injective():
            raise _C.located(
                NotImplementedError(
                    f"{type(self).__name__}.forward_log_det_jacobian: several values have the same result; there is none"
                )
            )
        if hasattr(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self.forward(x))
        return self._missing("_forward_log_det_jacobian")

    def inverse_log_det_jacobian(self, y):
        """log(abs(det(dx/dy))): how much the inverse stretches space at y."""
        self._checked("inverse_log_det_jacobian", "y", y, self._codomain)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return self._inverse_log_det_jacobian(y)
        if hasattr(self, "_forward_log_det_jacobian"):
            return -self._forward_log_det_jacobian(self._inverse(y))
        return self._missing("_inverse_log_det_jacobian")

    def forward_shape(self, shape):
        """The shape of f(x) for an x of this shape."""
        return self._forward_shape(self._sizes("forward_shape", shape))

    def inverse_shape(self, shape):
        """The shape of x for an f(x) of this shape."""
        return self._inverse_shape(self._sizes("inverse_shape", shape))

    def _sizes(self, what, shape):
        if not isinstance(shape, Sequence) or isinstance(shape, str):
            raise _C.located(TypeError(f"{what}: shape must be a list of ints, not {type(shape).__name__}"))
        return shape

    @property
    def _domain(self):
        return variable.real

    @property
    def _codomain(self):
        return variable.real

    def _missing(self, name):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define {name}"))

    def _forward(self, x):
        self._missing("_forward")

    def _inverse(self, y):
        self._missing("_inverse")

    def _forward_shape(self, shape):
        return shape

    def _inverse_shape(self, shape):
        return shape
