"""Distribution: the base of all."""

import numbers

from proa import _C

__all__ = ["Distribution", "parameter"]


def parameter(what, name, value, dtype=None):
    """A parameter of a distribution as a tensor; numbers, arrays and tensors of integers become floating point."""
    if isinstance(value, _C.Tensor):
        return value.astype(_C.get_default_dtype()) if dtype is None and value.dtype.is_integer else value
    if not isinstance(value, (numbers.Number, list, tuple)) and not hasattr(value, "__array__"):
        raise _C.located(
            TypeError(f"{what}: {name} must be a number, list, array or Tensor, not {type(value).__name__}")
        )
    tensor = _C.to_tensor(value)
    if not tensor.dtype.is_floating_point:
        tensor = tensor.astype(_C.get_default_dtype())
    elif tensor.dtype == _C.float64 and not hasattr(value, "dtype"):
        tensor = tensor.astype(_C.get_default_dtype())
    return tensor if dtype is None else tensor.astype(dtype)


def together(first, second, *given):
    """Two parameters of one shape, unless one was given as a tensor, which is kept."""
    if any(isinstance(value, _C.Tensor) for value in given) or first.shape == second.shape:
        return first, second
    shape = (first + second).shape
    return _C.ops.broadcast_to(first, shape), _C.ops.broadcast_to(second, shape)


def log_gamma_variates(concentration):
    """Logarithms of numbers from Gamma(concentration), float64.

    The numbers themselves are below the smallest float where the concentration is small: then all of them would be the
    same. Gamma(a) is Gamma(a + 1) times a uniform number to the power of 1 / a.
    """
    a = concentration.astype(_C.float64)
    uniform = _C.ops.uniform(a.shape, _C.float64, 0.0, 1.0)
    powers = (_C.ops.clip(uniform, 2.0**-64, 1.0)).log() / a
    return _C.ops.clip(powers + _C.ops.standard_gamma(a + 1.0).log(), -1e300, 1e300)


def sizes(what, shape):
    """The sizes of a sample, as a list."""
    if isinstance(shape, numbers.Integral):
        return [int(shape)]
    if isinstance(shape, _C.Tensor):
        return [int(size) for size in shape.tolist()]
    if not isinstance(shape, (list, tuple)):
        raise _C.located(TypeError(f"{what}: shape must be a list of ints, not {type(shape).__name__}"))
    return [int(size) for size in shape]


class Distribution:
    """Base of distributions.

    Attributes:
        batch_shape: the dims of the parameters: so many distributions side by side.
        event_shape: the dims of one sample of one of them.

    Examples:
        >>> issubclass(proa.distribution.Normal, proa.distribution.Distribution)
        True
    """

    def __init__(self, batch_shape=(), event_shape=()):
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def mean(self):
        """The mean of samples."""
        self._missing("mean")

    @property
    def variance(self):
        """The variance of samples."""
        self._missing("variance")

    def _missing(self, what):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define {what}"))

    def sample(self, shape=()):
        """Random numbers, `shape` of them for each distribution; no gradient flows into them."""
        self._missing("sample")

    def rsample(self, shape=()):
        """`sample` whose gradient flows to the parameters."""
        self._missing("rsample")

    def entropy(self):
        """The entropy, in nats."""
        self._missing("entropy")

    def kl_divergence(self, other):
        """The divergence of `other` from this distribution."""
        from proa.distribution.kl import kl_divergence

        return kl_divergence(self, other)

    def log_prob(self, value):
        """The logarithm of the density (or probability) at `value`."""
        self._missing("log_prob")

    def prob(self, value):
        """The density (or probability) at `value`."""
        return self.log_prob(value).exp()

    def probs(self, value):
        """`prob`."""
        return self.prob(value)
