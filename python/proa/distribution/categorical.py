"""Categorical: one of several classes."""

from proa import _C
from proa.distribution.distribution import Distribution, parameter, sizes

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Distributions over classes.

    As in the reference, `sample`, `prob` and `log_prob` take `logits` as weights that are not negative (divided by their
    sum), and `entropy` and `kl_divergence` take them as logarithms (through softmax): give normalized logarithms to the
    latter, or weights to the former.

    Args:
        logits (list|Tensor): [..., classes].
        name (str, optional): not used.

    Examples:
        >>> three = proa.distribution.Categorical(proa.to_tensor([1.0, 2.0, 1.0]))
        >>> three.probs(proa.to_tensor([1, 2])).tolist(), three.sample([4]).shape
        ([0.5, 0.25], [4])
    """

    def __init__(self, logits, name=None):
        self.logits = parameter("Categorical", "logits", logits)
        if not self.logits.shape:
            raise _C.located(ValueError("Categorical: logits must have a dim of classes; they are one number"))
        self.dtype = self.logits.dtype
        self.name = name or "Categorical"
        super().__init__(self.logits.shape[:-1])

    @property
    def _weights(self):
        return self.logits / self.logits.sum(-1, keepdim=True)

    def sample(self, shape=()):
        """Random classes: [*shape, *batch_shape], int64."""
        dims = sizes("Categorical.sample", shape)
        count = 1
        for size in dims:
            count *= size
        weights = self._weights.detach()
        if len(weights.shape) > 2:
            weights = weights.reshape([-1, weights.shape[-1]])
        drawn = _C.ops.multinomial(weights, count, True)
        if len(weights.shape) == 2:
            drawn = drawn.transpose([1, 0])
        return drawn.reshape(dims + list(self.batch_shape))

    def _log_softmax(self):
        return _C.ops.log_softmax(self.logits, -1)

    def entropy(self):
        """-sum of p * log(p), of p = softmax(logits)."""
        logs = self._log_softmax()
        return -(logs.exp() * logs).sum(-1)

    def prob(self, value):
        """The weights of these classes over the sum of all.

        Args:
            value (Tensor): int64; of one distribution any dims, of several [..., count] or [count] (for each of them).
        """
        value = value if isinstance(value, _C.Tensor) else _C.to_tensor(value)
        value = value.astype("int64")
        weights = self._weights
        if len(weights.shape) == 1:
            return _C.ops.gather(weights, value.reshape([-1])).reshape(value.shape)
        if len(value.shape) == 1:
            value = _C.ops.broadcast_to(value, [*weights.shape[:-1], value.shape[0]])
        return _C.ops.take_along_axis(weights, value, len(weights.shape) - 1)

    def log_prob(self, value):
        """The logarithm of `prob`."""
        return self.prob(value).log()
