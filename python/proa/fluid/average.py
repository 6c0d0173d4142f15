"""Averages of numbers that batches give."""

import numpy as np

from proa import _C

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """The mean of values, each with its weight.

    Examples:
        >>> average = proa.fluid.average.WeightedAverage()
        >>> average.add(value=2.0, weight=1)
        >>> average.add(value=4.0, weight=3)
        >>> average.eval()
        3.5
    """

    def __init__(self):
        self.reset()

    def reset(self):
        """Forgets all values."""
        self.numerator = self.denominator = None

    def add(self, value, weight):
        """One value, a number or an array.

        Raises:
            ValueError: the value or the weight is none.
        """
        for name, given in (("value", value), ("weight", weight)):
            if not isinstance(given, (int, float, np.number, np.ndarray)):
                raise _C.located(
                    ValueError(f"WeightedAverage.add: {name} must be a number or an array, not {type(given).__name__}")
                )
        if self.numerator is None:
            self.numerator, self.denominator = value * weight, weight
        else:
            self.numerator, self.denominator = self.numerator + value * weight, self.denominator + weight

    def eval(self):
        """The mean.

        Raises:
            ValueError: nothing was added, or only weights of zero.
        """
        if self.numerator is None or self.denominator == 0:
            raise _C.located(ValueError("WeightedAverage.eval: there is no data; call add first"))
        return self.numerator / self.denominator
