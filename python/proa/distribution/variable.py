"""What a transform takes and gives: real numbers, positive ones, vectors; how many of the last dims are one event."""

__all__ = ["Independent", "Positive", "Real", "Stack", "Variable", "positive", "real"]


class Variable:
    """Values of a kind.

    Args:
        is_discrete (bool): countable values.
        event_rank (int): how many of the last dims belong to one value.
        constraint (Callable, optional): a tensor -> which of its numbers are such values.
    """

    def __init__(self, is_discrete=False, event_rank=0, constraint=None):
        self._is_discrete, self._event_rank, self._constraint = is_discrete, event_rank, constraint

    @property
    def is_discrete(self):
        return self._is_discrete

    @property
    def event_rank(self):
        return self._event_rank

    def constraint(self, value):
        """Which of the numbers of `value` are of this kind."""
        return value == value if self._constraint is None else self._constraint(value)  # noqa: PLR0124  what is no NaN


class Real(Variable):
    """Real numbers."""

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank)


class Positive(Variable):
    """Numbers above 0 (and 0)."""

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank, lambda value: value >= 0.0)


class Independent(Variable):
    """Values of another kind, of which more of the last dims are one event."""

    def __init__(self, base, reinterpreted_batch_rank):
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        super().__init__(base.is_discrete, base.event_rank + reinterpreted_batch_rank, base.constraint)


class Stack(Variable):
    """Values of several kinds, side by side along an axis."""

    def __init__(self, vars, axis=0):
        self._vars, self._axis = vars, axis
        super().__init__(any(v.is_discrete for v in vars))

    @property
    def event_rank(self):
        rank = max(v.event_rank for v in self._vars)
        return rank + 1 if self._axis + rank < 0 else rank


real = Real()
positive = Positive()
