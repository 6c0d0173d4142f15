"""What a run of a program costs besides its kernels: microseconds of `Executor.run`, nanoseconds of an instruction.

    python benchmarks/run_overhead.py [--rounds 5] [--peer]

Programs are chains of additions of four floats, of 1 to 1001 instructions: an instruction costs the slope of the time over
their number, its kernel and the memory of its result included; a run costs what a program of one instruction takes besides
it. Asked for are at most 5 microseconds of a run, and 60 ns of an instruction above its kernel. Times are of the CPU, on one
thread, the best of several runs by turns, medians of rounds. With --peer the same of PaddlePaddle, in its own process.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import subprocess
import sys
import time

_LENGTHS = (1, 101, 1001)
_CALLS = {1: 4000, 101: 400, 1001: 60}


def _program(lib, length):
    """(program, its result) of a chain of additions."""
    program = lib.static.Program()
    with lib.static.program_guard(program, lib.static.Program()):
        y = x = lib.static.data("x", [4], "float32")
        for _ in range(length):
            y = lib.add(y, x)
    return program, y


def _runs(lib, name):
    """By what is measured: a function that runs it so often, and how often."""
    lib.enable_static()
    executor = lib.static.Executor(lib.CPUPlace())
    found = {}
    for length in _LENGTHS:
        program, result = _program(lib, length)
        if name == "proa":
            lib.disable_static()
        feed = {"x": lib.to_tensor([1.0, 2.0, 3.0, 4.0])} if name == "proa" else {"x": _array()}
        if name == "proa":
            lib.enable_static()

        def run(calls, program=program, feed=feed, result=result):
            step = executor.run
            for _ in range(calls):
                step(program, feed=feed, fetch_list=[result], return_numpy=False)

        found[f"Executor.run of {length}"] = run, _CALLS[length]
    program, result = _program(lib, 1)
    test, given, name_of = program.clone(for_test=True), {"x": _array()}, [result.name]

    def by_name(calls):
        for _ in range(calls):
            executor.run(test, feed=given, fetch_list=name_of)

    found["a test, arrays, a name"] = by_name, _CALLS[1]
    if name != "proa":
        return found
    lib.disable_static()
    x = lib.to_tensor([1.0, 2.0, 3.0, 4.0])
    for length in _LENGTHS:

        def chain(x, length=length):
            y = x
            for _ in range(length):
                y = lib.add(y, x)
            return y

        converted = lib.jit.to_static(chain)
        converted(x)

        def call(calls, converted=converted):
            with lib.no_grad():
                for _ in range(calls):
                    converted(x)

        found[f"to_static of {length}"] = call, _CALLS[length]
    add = lib._C.ops.add

    def eager(calls):
        with lib.no_grad():
            for _ in range(calls):
                add(x, x)

    found["eager add"] = eager, 20000
    return found


def _array():
    import numpy as np

    return np.array([1.0, 2.0, 3.0, 4.0], "float32")


def measured(name, turns):
    """Microseconds of one call, by what is measured."""
    lib = importlib.import_module(name)
    runs = _runs(lib, name)
    for run, calls in runs.values():
        run(max(1, calls // 10))
    best = dict.fromkeys(runs, float("inf"))
    gc.disable()
    for _ in range(turns):
        for what, (run, calls) in runs.items():
            begin = time.process_time()
            run(calls)
            best[what] = min(best[what], (time.process_time() - begin) / calls * 1e6)
    return best


def _of_process(name, turns):
    command = [sys.executable, __file__, "--measure", name, "--turns", str(turns)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--peer", action="store_true", help="PaddlePaddle too")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measured(args.measure, args.turns)))
        return
    for name in ["proa", "paddle"] if args.peer else ["proa"]:
        rounds = [_of_process(name, args.turns) for _ in range(args.rounds)]
        times = {what: statistics.median(r[what] for r in rounds) for what in rounds[0]}
        print(name)
        for what, value in times.items():
            print(f"  {what:24} {value:10.2f} µs")
        for way in ("Executor.run", "to_static"):
            if f"{way} of 1" not in times:
                continue
            low, high = times[f"{way} of 1"], times[f"{way} of {_LENGTHS[-1]}"]
            each = (high - low) / (_LENGTHS[-1] - 1)
            print(f"  {way + ', an instruction':24} {each * 1e3:10.1f} ns with its kernel")
            print(f"  {way + ', a run':24} {low - each:10.2f} µs")


if __name__ == "__main__":
    main()
