"""Multinomial: how often each of several classes is drawn."""

import numbers

from proa import _C
from proa.distribution.distribution import Distribution, parameter, sizes

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts of k classes among total_count draws.

    Args:
        total_count (int): draws, at least one.
        probs (list|Tensor): [..., k], not negative; they are divided by their sum.

    Examples:
        >>> counts = proa.distribution.Multinomial(10, proa.to_tensor([0.2, 0.3, 0.5]))
        >>> counts.mean.tolist(), counts.sample([4]).sum(-1).tolist()
        ([2.0, 3.0, 5.0], [10.0, 10.0, 10.0, 10.0])
    """

    def __init__(self, total_count, probs):
        if not isinstance(total_count, numbers.Integral) or isinstance(total_count, bool):
            raise _C.located(TypeError(f"Multinomial: total_count must be an int, not {type(total_count).__name__}"))
        if total_count < 1:
            raise _C.located(ValueError(f"Multinomial: total_count is {total_count}; it must be positive"))
        probs = parameter("Multinomial", "probs", probs)
        if not probs.shape:
            raise _C.located(ValueError("Multinomial: probs must have a dim of classes; it is one number"))
        self.total_count = int(total_count)
        self.probs = probs / probs.sum(-1, keepdim=True)
        self.dtype = probs.dtype
        super().__init__(probs.shape[:-1], probs.shape[-1:])

    @property
    def mean(self):
        """total_count * probs."""
        return self.probs * float(self.total_count)

    @property
    def variance(self):
        """total_count * probs * (1 - probs)."""
        return self.probs * (1.0 - self.probs) * float(self.total_count)

    def sample(self, shape=()):
        """Random counts: [*shape, *batch_shape, k], in the dtype of probs."""
        dims = sizes("Multinomial.sample", shape)
        classes = self.event_shape[0]
        times = 1
        for size in dims:
            times *= size
        weights = self.probs.detach().reshape([-1, classes])
        rows = weights.shape[0]
        drawn = _C.ops.multinomial(weights, times * self.total_count, True).reshape([rows, times, self.total_count])
        counts = _C.ops.one_hot(drawn, classes, self.dtype).sum(2)
        return _C.ops.transpose(counts, [1, 0, 2]).reshape([*dims, *self.batch_shape, classes])

    def prob(self, value):
        """The probability of these counts."""
        return self.log_prob(value).exp()

    def log_prob(self, value):
        """log(total_count! / prod(value!)) + the sum of value * log(probs)."""
        value = parameter("Multinomial.log_prob", "value", value, self.dtype)
        # 0 * log(0) is 0; its gradient is no number.
        never = (value == 0.0).logical_and(self.probs == 0.0)
        logs = value * _C.ops.where(never, _C.ops.full([], 1.0, self.dtype), self.probs).log()
        return _C.ops.lgamma(value.sum(-1) + 1.0) - _C.ops.lgamma(value + 1.0).sum(-1) + logs.sum(-1)

    def _logs(self):
        return self.probs.log()

    def entropy(self):
        """The entropy, in nats: n H(probs) - log n! + the means of log(value!), each of a binomial distribution."""
        n, kind = self.total_count, self.dtype
        counts = (_C.ops.arange(1, n + 1, 1, _C.int64)).astype(kind).reshape([-1] + [1] * len(self.probs.shape))
        lgamma = _C.ops.lgamma
        whole = lgamma(_C.ops.full([], n + 1.0, kind))
        choose = whole - lgamma(counts + 1.0) - lgamma(float(n) - counts + 1.0)
        zero = _C.ops.full([], 0.0, kind)
        rest = float(n) - counts
        # 0 * log(0) is 0 where a class never or always comes.
        logs = _C.ops.where(self.probs > 0.0, self._logs(), zero)
        others = 1.0 - self.probs
        never = _C.ops.where(others > 0.0, _C.ops.where(others > 0.0, others, zero + 1.0).log(), zero)
        mass = (choose + counts * logs + rest * never).exp()
        mass = _C.ops.where((self.probs > 0.0).logical_and((others > 0.0).logical_or(rest == 0.0)), mass, zero)
        means = (mass * lgamma(counts + 1.0)).sum([0, -1])
        return -(self.probs * logs).sum(-1) * float(n) - whole + means
