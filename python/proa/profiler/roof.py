"""The roof: what this machine can do at most, so that tables can say what share of it an op reaches."""

import time

import proa
from proa import _C

_measured: dict[int, tuple[float, float]] = {}  # by number of threads


def measure_roof(refresh=False):
    """Arithmetic and memory traffic of this machine with the threads that are set, measured once in a process.

    Products of float32 matrices (1536 x 1536) and sums of arrays that no cache holds (64 MiB each), the best of several;
    it takes about a second. Caches let small ops exceed the second figure.

    Args:
        refresh (bool): measure again.

    Returns:
        tuple[float, float]: GFLOP/s and GB/s; what `ProfilerResult.roof` takes.

    Examples:
        >>> gflops, gbytes = proa.profiler.measure_roof()
        >>> gflops > 0 and gbytes > 0
        True
    """
    threads = _C.get_num_threads()
    if refresh or threads not in _measured:
        with proa.no_grad():
            _measured[threads] = (_products(1536), _sums(1 << 24))
    return _measured[threads]


def _best(function, seconds=0.4, least=3):
    """The shortest time of a call, of as many as fit."""
    best, calls = float("inf"), 0
    end = time.perf_counter() + seconds
    while calls < least or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best


def _products(n):
    x = proa.ones([n, n])
    return 2e-9 * n**3 / _best(lambda: proa.matmul(x, x))


def _sums(n):
    x, y = proa.ones([n]), proa.ones([n])
    return 12e-9 * n / _best(lambda: x.add_(y))
