"""Random calls of public functions, methods and layers beside PaddlePaddle; prints what differs.

Each package runs in a process of its own, under a limit of memory and a watchdog: what dies or hangs is started again
behind the call. With --recorded, and without PaddlePaddle, each call is also made in a program, of closed and of open
sizes, beside the same call at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from fuzz.beside import compare, generate, watch


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="./dev beside", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers: the same calls for the same seed")
    parser.add_argument("--only", default="", help="call only what this regular expression is found in: pool|nn.Conv")
    parser.add_argument("--peer", default="", help="an interpreter that has PaddlePaddle; without, only --recorded")
    parser.add_argument("--recorded", action="store_true", help="each call in a program, too, of closed and open sizes")
    parser.add_argument("--lax", action="store_true", help="show what only the other package refuses, too")
    parser.add_argument("--call", type=int, help="make this one alone, and show its arguments and results")
    parser.add_argument("--seconds", type=int, default=15, help="that a call may take (15)")
    parser.add_argument("--memory", type=float, default=9, help="GiB of addresses that a process may take (9)")
    parser.add_argument("--examples", type=int, default=2, help="calls that are shown of each difference (2)")
    return parser.parse_args(argv)


def _shown(number, call, results) -> None:
    print(f"--call {number}: {call}")
    for array in call.arrays():
        print(f"    {array.dtype}{list(array.shape)} {array.numpy().tolist()}")
    for name, result in results:
        print(f"{name}:")
        if result[0] != "ok":
            print(f"    {' '.join(map(str, result))}")
            continue
        for dtype, value in result[1]:
            print(f"    {dtype} {value if dtype == 'py' else f'{list(value.shape)} {value.numpy().tolist()}'}")
        gradients = result[2] if isinstance(result[2], list) else [result[2]]
        for value in gradients:
            print(f"    gradient {value if value is None or isinstance(value, str) else value.numpy().tolist()}")


def main(argv=None) -> int:
    arguments = _arguments(argv)
    modes = ("eager", "closed", "open") if arguments.recorded or not arguments.peer else ("eager",)
    generator = generate.Generator(arguments.seed, arguments.only, recorded=len(modes) > 1)
    numbers = range(arguments.calls) if arguments.call is None else [arguments.call]
    calls = [generator.call(n) for n in numbers]
    limits = {"seconds": arguments.seconds, "memory": int(arguments.memory * 2**30)}
    report = compare.Report(arguments.lax)
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        tell = lambda text: print(text, flush=True)
        ours = watch.run(calls, [sys.executable], "proa", folder, modes, **limits, report=tell)
        theirs = None
        if arguments.peer:
            theirs = watch.run(calls, [arguments.peer], "paddle", folder, **limits, report=tell)
    for i, (number, call) in enumerate(zip(numbers, calls)):
        mine = ours[i] or {}
        if theirs is not None and mine:
            report.add(number, call, *compare.beside(mine["eager"], (theirs[i] or {}).get("eager")))
        for mode in modes[1:]:
            if mine:
                report.add(number, call, *compare.recorded(mine["eager"], mine[mode]), of=mode)
        if arguments.call is not None:
            peers = [] if theirs is None else [("theirs", (theirs[i] or {}).get("eager", ("died", "", "")))]
            _shown(number, call, [*mine.items(), *peers])
    print("\n".join(report.lines(arguments.examples)), flush=True)
    return int(bool(report.groups))


if __name__ == "__main__":
    os._exit(main())
