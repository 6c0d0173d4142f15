"""Which ops ran in which dtype, how often, and how many of their arguments were cast: `collect_operator_stats`."""

import contextlib
import re

from proa import _C

__all__ = [
    "OperatorStats",
    "collect_operator_stats",
    "disable_operator_stats_collection",
    "enable_operator_stats_collection",
]

_DTYPES = ("float16", "bfloat16", "float32")
_running = None


class OperatorStats:
    """What `collect_operator_stats` counts. Empty until the collection ends.

    `calls` maps the name of each op to a dict: how often it ran in "float16", "bfloat16", "float32" and "other" dtypes,
    forward, backward and in programs, and "casts", how many of its arguments autocast made another dtype of.

    Examples:
        >>> x = proa.ones([2, 2])
        >>> with proa.amp.debugging.collect_operator_stats(show=False) as stats:
        ...     with proa.amp.auto_cast(dtype="bfloat16"):
        ...         y = proa.matmul(x, x)
        >>> stats.calls["matmul"]
        {'float16': 0, 'bfloat16': 1, 'float32': 0, 'other': 0, 'casts': 2}
    """

    def __init__(self):
        self.calls = {}
        self._profiler = None

    def start(self):
        """Counts from now on."""
        from proa.profiler import Profiler

        self._profiler = Profiler(record_shapes=True, on_trace_ready=lambda profiler: None)
        self._profiler.start()

    def stop(self):
        """Counts no more."""
        self._profiler.stop()
        self._count(self._profiler.profiler_result.events())
        self._profiler = None

    def _count(self, events):
        classes = {op["name"]: op["amp"] for op in _C.op_registry()}
        for event in events:
            if event["category"] != "kernel":
                continue
            name, dtype = event["name"].split()[:2]
            row = self.calls.setdefault(name, dict.fromkeys((*_DTYPES, "other", "casts"), 0))
            row[dtype if dtype in _DTYPES else "other"] += 1
            given = [kind for kind in re.findall(r"\] (\w+)", event["shapes"] or "") if kind in _DTYPES]
            if dtype in _DTYPES:
                # Of ops without a class O2 casts the first argument alone.
                cast = given if classes.get(name, "keep") != "keep" else given[:1]
                row["casts"] += sum(kind != dtype for kind in cast) if name != "cast" else 0

    def __str__(self):
        lines = [f"{'op':<40} {'float16':>9} {'bfloat16':>9} {'float32':>9} {'other':>9} {'casts':>9}"]
        lines += [
            f"{name:<40} " + " ".join(f"{n:>9}" for n in row.values()) for name, row in sorted(self.calls.items())
        ]
        return "\n".join(lines)


@contextlib.contextmanager
def collect_operator_stats(show=True):
    """Counts inside of the context which ops run in which dtype, and prints a table at its end.

    Args:
        show (bool): print the table.

    Yields:
        OperatorStats: its `calls` are filled at the end.

    Raises:
        RuntimeError: another collection, or a Profiler, is running.

    Examples:
        >>> with proa.amp.debugging.collect_operator_stats():
        ...     y = proa.to_tensor([1.0, 2.0]).exp()
        op                                         float16  bfloat16   float32     other     casts
        exp                                              0         0         1         0         0
    """
    stats = OperatorStats()
    stats.start()
    try:
        yield stats
    finally:
        stats.stop()
        if show:
            print(stats)


def enable_operator_stats_collection():
    """Counts from now on which ops run in which dtype.

    Raises:
        RuntimeError: another collection, or a Profiler, is running.

    Examples:
        >>> proa.amp.debugging.enable_operator_stats_collection()
        >>> y = proa.to_tensor([1.0, 2.0]).exp()
        >>> proa.amp.debugging.disable_operator_stats_collection()
        op                                         float16  bfloat16   float32     other     casts
        exp                                              0         0         1         0         0
    """
    global _running
    if _running is not None:
        raise _C.located(RuntimeError("enable_operator_stats_collection: it is enabled already; disable it first"))
    stats = OperatorStats()
    stats.start()
    _running = stats


def disable_operator_stats_collection():
    """Counts no more, and prints the table.

    Raises:
        RuntimeError: it was not enabled.

    Examples:
        >>> proa.amp.debugging.disable_operator_stats_collection()
        Traceback (most recent call last):
        RuntimeError: ... enable it first...
    """
    global _running
    if _running is None:
        raise _C.located(RuntimeError("disable_operator_stats_collection: it is not enabled; enable it first"))
    stats, _running = _running, None
    stats.stop()
    print(stats)
