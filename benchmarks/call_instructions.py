"""Instructions of small calls, counted by callgrind, and of one op call with each that may watch it.

    python benchmarks/call_instructions.py [--calls 5000]

Needs valgrind. Instructions count from the second round of calls on, so that what happens once drops out, and none of
Python's start, which takes 402 million, give or take 200,000. A figure does not depend on what else the machine does,
and little on which machine it is. To see what a change costs a call, run it with both builds of the package (PYTHONPATH).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

_WATCHERS = {
    "nobody": "",
    "the profiler": "proa._C.profiler.start(1 << 20, 1 << 30, 0)",
    "and of kernels": "proa._C.profiler.start(1 << 20, 1 << 30, proa._C.profiler.KERNELS)",
    "the crash handler": "proa.utils.enable_crash_handler(python_stack=False)",
    "the check for NaN": "proa.set_flags({'FLAGS_check_nan_inf': 1})",
}
_ADD = "add(x, y)"
# Statements that are repeated; `r` is recorded for gradients.
_CALLS = {
    "x + y": "x + y",
    "x + 2.0": "x + 2.0",
    "x[1]": "x[1]",
    "x.sum()": "x.sum()",
    "x.reshape([2, 2])": "x.reshape([2, 2])",
    "r + y, recorded": "r + y",
    "r * y, recorded": "r * y",
    "and 10 nodes back": "z = r\n    for _ in range(10): z = z + y\n    z.backward(y)",
    "10 recorded alone": "z = r\n    for _ in range(10): z = z + y",
}
# Counted is what a function of Python does that nothing else calls: `@=`.
_COUNTED = "PyNumber_InPlaceMatrixMultiply"
_PROGRAM = """
import proa
class Count:
    def __imatmul__(self, calls):
        x, y, r, add = proa.ones([4]), proa.ones([4]), proa.ones([4]), proa._C.ops.add
        r.stop_gradient = False
        for _ in range(calls):
            {statement}
        return self
count = Count()
{watcher}
count.__imatmul__(500)
count @= {calls}
"""


def _each(statement, watcher, calls):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={_COUNTED}"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    statement = statement.replace("\n", "\n        ")
    program = _PROGRAM.format(statement=statement, watcher=watcher, calls=calls)
    command += [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]) / calls


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    args = parser.parse_args(argv)
    print("instructions, 4 floats, from Python")
    for name, statement in _CALLS.items():
        print(f"{name:>20} {_each(statement, '', args.calls):8.1f}", flush=True)
    print("of add(x, y), watched by")
    for name, watcher in _WATCHERS.items():
        print(f"{name:>20} {_each(_ADD, watcher, args.calls):8.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
