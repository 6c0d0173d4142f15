"""What other processes did while something was measured, and measuring again if that was much.

    python benchmarks/disturbance.py bazel-bin/ops/bandwidth_benchmark

runs a command so, and prints what the run that counts has printed, with a line on what others took.

The kernel counts the time that CPUs were busy; less what this process and those it has waited for took, it is what
others took, other virtual machines included. The load average cannot tell: a measurement is a load itself.
"""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# Of one CPU. Measurements with more are repeated, this often at most.
BOUND = 0.1
REPEATS = 2


class Measured(NamedTuple):
    value: Any
    others: float | None  # CPUs that others took on average; None where the kernel does not say
    load: float  # the load average when it began


def busy(stat: str, ticks: int) -> float | None:
    """Seconds that the CPUs have been busy, of the text of /proc/stat."""
    fields = stat.split("\n", 1)[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / ticks or None


def _busy() -> float | None:
    try:
        return busy(pathlib.Path("/proc/stat").read_text(encoding="ascii"), os.sysconf("SC_CLK_TCK"))
    except OSError:
        return None


def _own() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, who))


def watched(function: Callable[[], Any]) -> Measured:
    """Calls the function; processes that it starts must have ended when it returns."""
    load, start, all_before, own_before = os.getloadavg()[0], time.perf_counter(), _busy(), _own()
    value = function()
    all_after, own_after, wall = _busy(), _own(), time.perf_counter() - start
    if all_before is None or all_after is None:
        return Measured(value, None, load)
    # Ticks are coarse: a short measurement may seem to have taken more than there was.
    return Measured(value, max(0.0, all_after - all_before - (own_after - own_before)) / wall, load)


def calm(function: Callable[[], Any], watch: Callable[..., Measured] = watched) -> Measured:
    """The first measurement that others disturbed by no more than the bound; if there is none, the least disturbed.

    A function that gives None has failed, and is not called again.
    """
    found = []
    for _ in range(1 + REPEATS):
        found.append(watch(function))
        if found[-1].value is None or found[-1].others is None or found[-1].others <= BOUND:
            return found[-1]
    return min(found, key=lambda m: m.others)


def main(command: list[str]) -> int:
    def output():
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        return run.stdout if run.returncode == 0 else None

    found = calm(output)
    if found.value is None:
        return 1
    print(found.value, end="")
    if found.others is not None:
        print(f"others took {found.others:.2f} of a CPU")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
