"""Initializers that draw no random numbers."""

from proa import _C
from proa.nn.initializer.base import Initializer


class Constant(Initializer):
    """Every element is `value`.

    Examples:
        >>> layer = proa.nn.Linear(2, 2, weight_attr=proa.nn.initializer.Constant(0.5))
        >>> layer.weight.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(self, value=0.0):
        self._value = value

    def make(self, shape, dtype):
        return _C.ops.full(shape, self._value, dtype)


class Assign(Initializer):
    """The elements of a list, a NumPy array or a tensor. A parameter that is made of it takes its shape.

    Examples:
        >>> proa.nn.Linear(1, 2, weight_attr=proa.nn.initializer.Assign([[1.0, 2.0]])).weight.tolist()
        [[1.0, 2.0]]
    """

    def __init__(self, value, name=None):
        self._value = value

    def make(self, shape, dtype):
        value = self._value
        tensor = value.detach().clone() if isinstance(value, _C.Tensor) else _C.to_tensor(value)
        return tensor if tensor.dtype == dtype else _C.ops.cast(tensor, dtype)


class Dirac(Initializer):
    """An identity convolution: input channel i goes to output channel i of each group.

    The weight is [out, in / groups, ...]; all else is zero.

    Examples:
        >>> proa.nn.Conv1D(2, 2, 1, weight_attr=proa.nn.initializer.Dirac()).weight[:, :, 0].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, groups=1, name=None):
        if not isinstance(groups, int) or groups < 1:
            raise _C.located(ValueError(f"Dirac: groups must be a positive int, not {groups!r}"))
        self._groups = groups

    def make(self, shape, dtype):
        import numpy as np

        if len(shape) not in (3, 4, 5):
            raise _C.located(
                ValueError(f"Dirac: the weight of a convolution has 3, 4 or 5 dims; this one is {list(shape)}")
            )
        if shape[0] % self._groups:
            raise _C.located(
                ValueError(f"Dirac: {shape[0]} output channels are not divisible by {self._groups} groups")
            )
        value = np.zeros(shape, "float32")
        centre = tuple(size // 2 for size in shape[2:])
        out = shape[0] // self._groups
        for group in range(self._groups):
            for i in range(min(out, shape[1])):
                value[(group * out + i, i, *centre)] = 1.0
        return _C.to_tensor(value, dtype)


class Bilinear(Initializer):
    """Weights [in, out, k, k] of a transposed convolution that interpolates.

    The rows are those of bilinear interpolation. From one element of a row to the next the factor of the rows moves on
    by 1 / k already, so that the kernel is not symmetric: it is the reference's, whose models depend on it.

    Examples:
        >>> up = proa.nn.Conv2DTranspose(1, 1, 4, stride=2, weight_attr=proa.nn.initializer.Bilinear())
        >>> up.weight[0, 0, 0].tolist()
        [0.0625, 0.28125, 0.375, 0.15625]
    """

    def make(self, shape, dtype):
        import numpy as np

        if len(shape) != 4 or shape[2] != shape[3]:
            raise _C.located(ValueError(f"Bilinear: the weight must be [in, out, k, k]; this one is {list(shape)}"))
        size = shape[3]
        factor = (size + 1) // 2
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        number = np.arange(size * size)
        across, down = number % size, number / size % size
        kernel = (1 - np.abs(across / factor - centre)) * (1 - np.abs(down / factor - centre))
        return _C.to_tensor(np.broadcast_to(kernel.reshape(size, size), shape).astype("float32"), dtype)
