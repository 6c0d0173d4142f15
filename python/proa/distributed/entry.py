"""When a row of a sparse table of a parameter server is kept."""

from proa import _C

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ShowClickEntry"]


class ProbabilityEntry:
    """A new row is kept with this probability.

    Args:
        probability (float): above 0, at most 1.

    Examples:
        >>> entry = proa.distributed.ProbabilityEntry(0.1)
        >>> x = proa.distributed.ProbabilityEntry(2.0)
        Traceback (most recent call last):
            ...
        ValueError: ...probability must be a float in (0, 1], not 2.0...
    """

    def __init__(self, probability):
        if not isinstance(probability, float) or not 0 < probability <= 1:
            raise _C.located(
                ValueError(f"ProbabilityEntry: probability must be a float in (0, 1], not {probability!r}")
            )
        self._probability = probability

    def _to_attr(self):
        return f"probability_entry:{self._probability}"


class CountFilterEntry:
    """A row is kept when it has been seen this many times.

    Args:
        count_filter (int): at least 0.

    Examples:
        >>> entry = proa.distributed.CountFilterEntry(10)
        >>> proa.distributed.CountFilterEntry(-1)
        Traceback (most recent call last):
            ...
        ValueError: ...count_filter must be an int from 0, not -1...
    """

    def __init__(self, count_filter):
        if not isinstance(count_filter, int) or count_filter < 0:
            raise _C.located(ValueError(f"CountFilterEntry: count_filter must be an int from 0, not {count_filter!r}"))
        self._count_filter = count_filter

    def _to_attr(self):
        return f"count_filter_entry:{self._count_filter}"


class ShowClickEntry:
    """Rows are judged by the inputs of these names: how often shown, how often clicked.

    Examples:
        >>> entry = proa.distributed.ShowClickEntry("show", "click")
        >>> proa.distributed.ShowClickEntry("show", 1)
        Traceback (most recent call last):
            ...
        ValueError: ...show_name and click_name must be str...
    """

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise _C.located(ValueError("ShowClickEntry: show_name and click_name must be str"))
        self._show_name, self._click_name = show_name, click_name

    def _to_attr(self):
        return f"show_click_entry:{self._show_name}:{self._click_name}"
