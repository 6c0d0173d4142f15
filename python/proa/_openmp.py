"""Loads the core with OpenMP threads that go to sleep soon. Imported before anything that needs the core.

libgomp reads its settings once, when it is loaded. Left to itself it lets idle threads spin for
milliseconds after each parallel loop: the cores that they burn are missing elsewhere, and on a
machine that others use too the threads of a loop then wait for one another. A tenth of a
millisecond bridges the gaps between the loops of one step: to wake a thread that sleeps takes
some 50 us on a virtual machine, more than most loops. Settings of the user win, and the
environment is left as it was.
"""

import importlib as _importlib
import os as _os

# Rounds of 15 to 45 ns, by the processor. A step of a small transformer takes 52 ms with 500, 34 with these, 32 with 10,000; two
# such processes on the same cores, which spin in each other's time, 65, 82 and 90.
_SPINS = "2000"
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def _load() -> None:
    chosen = any(name in _os.environ for name in _SETTINGS)
    if not chosen:
        _os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        _importlib.import_module("proa._C")
    finally:
        if not chosen:
            del _os.environ["GOMP_SPINCOUNT"]


_load()
