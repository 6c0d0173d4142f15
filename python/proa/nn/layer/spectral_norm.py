"""SpectralNorm, and the singular value that it divides by."""

import math

from proa import _C
from proa.framework.attributes import real
from proa.framework.requirements import require_sizes
from proa.nn.functional.shapes import size_argument
from proa.nn.initializer import Normal
from proa.nn.layer.layers import Layer
from proa.tensor.linalg import norm
from proa.tensor.precision import keeps_types

_MOST_ITERATIONS = 10_000  # of powers; a few are enough


def rows_of(weight, dim):
    """A weight as a matrix whose rows are dim `dim`."""
    rank = len(weight.shape)
    turned = _C.ops.transpose(weight, [dim % rank, *(i for i in range(rank) if i != dim % rank)])
    return _C.ops.reshape(turned, [weight.shape[dim], -1])


def power_iteration(matrix, u, v, iterations, unit):
    """The vectors u [rows] and v [columns] after some steps towards those of the largest singular value.

    `unit` makes a vector one of length 1.
    """
    if iterations > _MOST_ITERATIONS:
        raise _C.located(ValueError(f"spectral_norm: {iterations} iterations; {_MOST_ITERATIONS} are the most"))
    for _ in range(iterations):
        v = unit(_C.ops.mv(_C.ops.transpose(matrix, [1, 0]), u))
        u = unit(_C.ops.mv(matrix, v))
    return u, v


def singular_value(matrix, u, v):
    """u^T matrix v; of the right u and v the largest singular value."""
    return (u * _C.ops.mv(matrix, v)).sum()


class SpectralNorm(Layer):
    """A weight divided by its largest singular value, found by power iteration (Miyato et al., 2018).

    Each call starts from `weight_u` and `weight_v`, which stay as they are, so that equal weights give equal results.
    (`nn.utils.spectral_norm` keeps them moving from call to call.)

    Args:
        weight_shape (list[int]): of the weight that the layer is called with.
        dim (int): this dim makes the rows of the matrix, the others its columns.
        power_iters (int): iterations in each call.
        eps (float): is added to the lengths that vectors are divided by.
        dtype (str): of the vectors.

    Examples:
        >>> proa.nn.SpectralNorm([4, 3], dim=0, power_iters=2)(proa.rand([4, 3])).shape
        [4, 3]
    """

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, name=None, dtype="float32"):
        super().__init__(dtype=dtype)
        weight_shape = weight_shape if isinstance(weight_shape, (list, tuple)) else [weight_shape]
        shape = [size_argument("SpectralNorm", "weight_shape", d) for d in weight_shape]
        dim = size_argument("SpectralNorm", "dim", dim, -len(shape))
        if dim >= len(shape):
            raise _C.located(ValueError(f"SpectralNorm: dim {dim} is not one of the {len(shape)} of weight_shape"))
        self._dim, self._power_iters, self._eps = (
            dim % len(shape),
            size_argument("SpectralNorm", "power_iters", power_iters, 0),
            real("SpectralNorm", "eps", eps),
        )
        self._weight_shape = shape
        rows = shape[self._dim]
        columns = math.prod(shape) // rows
        self.weight_u = self.create_parameter([rows], default_initializer=Normal(0.0, 1.0))
        self.weight_v = self.create_parameter([columns], default_initializer=Normal(0.0, 1.0))
        self.weight_u.stop_gradient = self.weight_v.stop_gradient = True

    def forward(self, x):
        x = _C.tensor_argument(x, "SpectralNorm", "x")
        says = f"SpectralNorm: the weight must be {self._weight_shape}; it is {{}}"
        if len(x.shape) != len(self._weight_shape):
            raise _C.located(ValueError(says.format(x.shape)))
        x = require_sizes(x, x.shape, self._weight_shape, says, x)
        return self._divided(x)

    @keeps_types
    def _divided(self, x):
        matrix = rows_of(x, self._dim)
        u, v = power_iteration(
            matrix.detach(), self.weight_u.detach(), self.weight_v.detach(), self._power_iters, self._unit
        )
        return x / singular_value(matrix, u, v)

    def _unit(self, vector):
        return vector / (norm(vector) + self._eps)
