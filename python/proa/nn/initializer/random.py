"""Initializers that draw random numbers."""

import math

from proa import _C
from proa.nn.initializer.base import Initializer, fans


def _normal(shape, mean, std, dtype):
    return _C.ops.gaussian(shape, dtype, mean, std)


def _uniform(shape, low, high, dtype):
    return _C.ops.uniform(shape, dtype, low, high)


class Normal(Initializer):
    """Normal with this mean and standard deviation; the sign of `std` does not matter.

    Examples:
        >>> layer = proa.nn.Linear(2, 2, weight_attr=proa.nn.initializer.Normal(0.0, 0.02))
    """

    def __init__(self, mean=0.0, std=1.0, name=None):
        self._mean, self._std = float(mean), abs(float(std))

    def make(self, shape, dtype):
        return _normal(shape, self._mean, self._std, dtype)


class TruncatedNormal(Initializer):
    """Normal, on condition that it lies within two standard deviations of the mean.

    Examples:
        >>> bool(proa.nn.Linear(9, 9, weight_attr=proa.nn.initializer.TruncatedNormal()).weight.abs().max() <= 2.0)
        True
    """

    def __init__(self, mean=0.0, std=1.0, name=None):
        self._mean, self._std = float(mean), abs(float(std))

    def make(self, shape, dtype):
        return _C.ops.truncated_gaussian(shape, dtype, self._mean, self._std)


class Uniform(Initializer):
    """Uniform in [low, high).

    Examples:
        >>> bool(proa.nn.Linear(9, 9, weight_attr=proa.nn.initializer.Uniform(-0.1, 0.1)).weight.abs().max() <= 0.1)
        True
    """

    def __init__(self, low=-1.0, high=1.0, name=None):
        if low > high:
            raise _C.located(ValueError(f"Uniform: low must not be above high; low is {low}, high is {high}"))
        self._low, self._high = float(low), float(high)

    def make(self, shape, dtype):
        return _uniform(shape, self._low, self._high, dtype)


class _Xavier(Initializer):
    """Fans are numbers, not only whole ones; those of the parameter's shape unless given."""

    def __init__(self, fan_in=None, fan_out=None, name=None):
        self._fan_in, self._fan_out = fan_in, fan_out

    def _variance(self, shape):
        fan_in, fan_out = fans(shape)
        fan_in = self._fan_in if self._fan_in is not None else fan_in
        fan_out = self._fan_out if self._fan_out is not None else fan_out
        total = fan_in + fan_out
        return 2.0 / total if total else 0.0


class XavierNormal(_Xavier):
    """Normal of variance 2 / (fan_in + fan_out) (Glorot and Bengio, 2010).

    Examples:
        >>> proa.nn.Linear(2, 3, weight_attr=proa.nn.initializer.XavierNormal()).weight.shape
        [2, 3]
    """

    def make(self, shape, dtype):
        return _normal(shape, 0.0, math.sqrt(self._variance(shape)), dtype)


class XavierUniform(_Xavier):
    """Uniform of variance 2 / (fan_in + fan_out) (Glorot and Bengio, 2010).

    Examples:
        >>> bool(proa.nn.Linear(3, 3, weight_attr=proa.nn.initializer.XavierUniform()).weight.abs().max() <= 1.0)
        True
    """

    def make(self, shape, dtype):
        limit = math.sqrt(3.0 * self._variance(shape))
        return _uniform(shape, -limit, limit, dtype)


class _Kaiming(Initializer):
    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu"):
        self._fan_in, self._negative_slope, self._nonlinearity = fan_in, negative_slope, nonlinearity

    def _std(self, shape):
        from proa.nn.initializer.base import calculate_gain

        fan_in = self._fan_in if self._fan_in is not None else fans(shape)[0]
        gain = calculate_gain(self._nonlinearity, self._negative_slope)
        return gain / math.sqrt(fan_in) if fan_in else 0.0


class KaimingNormal(_Kaiming):
    """Normal of standard deviation gain / sqrt(fan_in), sqrt(2 / fan_in) for relu (He et al., 2015).

    Examples:
        >>> proa.nn.Linear(2, 3, weight_attr=proa.nn.initializer.KaimingNormal()).weight.shape
        [2, 3]
    """

    def make(self, shape, dtype):
        return _normal(shape, 0.0, self._std(shape), dtype)


class KaimingUniform(_Kaiming):
    """Uniform in +-sqrt(3) * gain / sqrt(fan_in), +-sqrt(6 / fan_in) for relu (He et al., 2015).

    Examples:
        >>> bool(proa.nn.Linear(6, 3, weight_attr=proa.nn.initializer.KaimingUniform()).weight.abs().max() <= 1.0)
        True
    """

    def make(self, shape, dtype):
        limit = math.sqrt(3.0) * self._std(shape)
        return _uniform(shape, -limit, limit, dtype)


class Orthogonal(Initializer):
    """`gain` times a random matrix with orthonormal rows or columns, whichever are fewer.

    Dims after the first are taken together. By a QR factorization of normal numbers in float64.

    Examples:
        >>> w = proa.nn.Linear(3, 3, weight_attr=proa.nn.initializer.Orthogonal()).weight
        >>> bool(proa.allclose(w @ w.T, proa.eye(3), atol=1e-5))
        True
    """

    def __init__(self, gain=1.0, name=None):
        self._gain = gain

    def make(self, shape, dtype):
        import numpy as np

        if len(shape) < 2:
            raise _C.located(ValueError(f"Orthogonal: at least 2 dims are needed; the parameter is {list(shape)}"))
        rows, columns = shape[0], math.prod(shape[1:])
        drawn = _normal([max(rows, columns), min(rows, columns)], 0.0, 1.0, _C.float64).numpy()
        q, r = np.linalg.qr(drawn)
        q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)  # makes the distribution uniform
        q = q.T if rows < columns else q
        return _C.to_tensor((self._gain * q).reshape(shape), dtype)
