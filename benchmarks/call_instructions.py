"""Instructions of one op call, counted by callgrind: with nothing watching, and with each that may.

    python benchmarks/call_instructions.py [--calls 20000]

Needs valgrind. Each figure is the difference of two runs, divided by the difference of their calls, so that what
happens once drops out; it does not depend on what else the machine does. To see what a change costs a call, run it
with both builds of the package (PYTHONPATH).
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
_PROGRAM = """
import proa
x, y, add = proa.ones([4]), proa.ones([4]), proa._C.ops.add
{watcher}
for _ in range({calls}): add(x, y)
"""


def _collected(watcher, calls):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    program = _PROGRAM.format(watcher=watcher, calls=calls)
    done = subprocess.run([*command, program], capture_output=True, text=True, env=environment, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20000)
    args = parser.parse_args(argv)
    print("instructions of add(x, y), 4 floats, from Python")
    for name, watcher in _WATCHERS.items():
        few, many = (_collected(watcher, n) for n in (1000, 1000 + args.calls))
        print(f"{name:>20} {(many - few) / args.calls:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
