"""Where a network's step goes, op by op, each against its own limit.

    python benchmarks/account.py [--work "lenet;resnet"] [--threads 2] [--problems] [--json FILE [--resume]]

Convolutions and matrix products are held against the same product alone in oneDNN, at its best layout and with warm
memory (limits.py); every other op against the bytes that it must read and write, at the rate of a copy of 64 MiB that
is timed in the same process. What an op takes above its limit is what there is to gain; ops on small tensors, which
caches hold, may be below it. Calls and milliseconds are the means of the recorded steps, all of them whole.

Each row is measured in a process of its own, again if others disturbed it (disturbance.py). FILE is written after each
row; with --resume rows that it holds are not measured again. With --problems each shape of a product has a line.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import statistics
import sys
import time
from concurrent import futures

import disturbance
import limits
import models
import networks
import numpy as np
import problem
import side_by_side

# The rows of docs/performance.md.
ROWS = [
    "ResNet-50, batch 32, training",
    "ResNet-50, batch 32, inference",
    "ResNet-50, batch 1, inference",
    "MobileNet v1, batch 32, training",
    "BERT-base, batch 8 of 128, training",
    "BERT-base, batch 8 of 128, inference",
    "bfloat16: ResNet-50, batch 32, training",
    "bfloat16: BERT-base, batch 8 of 128, training",
    "LeNet, batch 64, training",
]


def copy_rate(threads: int, size: int = 64 << 20, runs: int = 15) -> float:
    """GB/s of a copy between two buffers, read and written; the median of the runs after some to warm up."""
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    took = []
    with futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(runs + 5):
            start = time.perf_counter()
            list(pool.map(lambda part: np.copyto(*part), parts))
            took.append(time.perf_counter() - start)
    return 2e-9 * size / statistics.median(took[5:])


class ProductLimits:
    """Milliseconds of a network's products, by what is known of them in an event."""

    def __init__(self, counts: dict[str, int], seconds: dict[str, float]):
        """Of the products by line: how many a step has, and what each takes."""
        self._lines = collections.defaultdict(list)
        for line in counts:
            self._lines[problem.key_of_line(line)].append(line)
        self._counts, self._seconds = counts, seconds
        self._met = collections.Counter()

    def of(self, event: dict) -> tuple[str, float] | None:
        """The name of the product and the limit of the event; None if it is no product.

        Several that cannot be told apart share the mean of theirs, so that sums are right.
        """
        key, times = problem.key_of_event(event)
        lines = self._lines.get(key)
        if lines is None:
            return None
        self._met[key] += times
        count = sum(self._counts[line] for line in lines)
        mean = sum(self._counts[line] * self._seconds[line] for line in lines) / count
        return " / ".join(lines), 1e3 * times * mean

    def unmet(self, steps: int) -> list[str]:
        """Products of which the events had another number than the network: their limits are missing in the account."""
        return [
            " / ".join(lines)
            for key, lines in self._lines.items()
            if self._met[key] != steps * sum(self._counts[line] for line in lines)
        ]


def summed(events: list[dict], limit_of, rate: float, steps: int) -> dict[str, dict[str, dict[str, float]]]:
    """Calls, milliseconds and limit of a step: by op, and with products by their shapes ("problems").

    Args:
        events: of the profiler.
        limit_of: `ProductLimits.of`.
        rate: of memory, GB/s.
        steps: that the events are of.
    """
    # Calls are counted whole: thirds do not add up to whole numbers.
    tables = {part: collections.defaultdict(lambda: [0, 0.0, 0.0]) for part in ("ops", "problems")}
    for event in events:
        if event["category"] != "op":
            continue
        name, limit = limit_of(event) or (event["name"], event["bytes"] / rate / 1e6)
        for part, key in (("ops", event["name"]), ("problems", name)):
            row = tables[part][key]
            row[0] += 1
            row[1] += (event["end_ns"] - event["start_ns"]) / 1e6
            row[2] += limit
    return {
        part: {
            key: {"calls": calls / steps, "ms": ms / steps, "limit": limit / steps}
            for key, (calls, ms, limit) in sorted(table.items(), key=lambda item: -item[1][1])
        }
        for part, table in tables.items()
    }


def account(work: str, threads: int, program: pathlib.Path = limits.PROGRAM, seconds: float = 2) -> dict:
    """The account of a row of models.py, in this process, which has so many threads."""
    import proa

    counts = limits.listed(work)
    products = ProductLimits(counts, dict(zip(counts, limits.times(program, list(counts), threads), strict=True)))
    step = models.runner(networks.api("proa"), work)
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    steps = int(min(50, max(3, seconds / (time.perf_counter() - start))))
    with proa.profiler.Profiler(on_trace_ready=lambda prof: None, record_shapes=True, with_flops=True) as prof:
        for _ in range(steps):
            step()
            prof.step()
    result = prof.profiler_result
    assert not result.dropped, "the recording has no room for all events"
    events = result.events()
    # What begins after the last step has nothing in it.
    whole = [e["end_ns"] - e["start_ns"] for e in events if e["category"] == "step"][:steps]
    rate = copy_rate(threads)
    tables = summed(events, products.of, rate, steps)
    return {"steps": steps, "ms": sum(whole) / steps / 1e6, "GB/s": rate, "unmet": products.unmet(steps)} | tables


def _measure_row(work: str, args) -> dict:
    arguments = ["--work", work, "--limits", str(args.limits)]
    found = disturbance.calm(lambda: side_by_side.measure(__file__, "proa", arguments, args.threads))
    if found.value is None:
        raise SystemExit(f"{work} could not be measured")
    return found.value | {"load": found.load, "others": found.others}


def _print(work: str, row: dict, part: str) -> None:
    print(f"{work}: {row['steps']} steps, copy {row['GB/s']:.1f} GB/s, load {row['load']:.1f}", end="")
    print("" if row["others"] is None else f", others took {row['others']:.2f} of a CPU")
    print(f"{'':64} {'calls':>6} {'ms':>9} {'limit':>9} {'above':>9}")
    for name, r in sorted(row[part].items(), key=lambda item: item[1]["limit"] - item[1]["ms"]):
        print(f"{name:64} {r['calls']:6.4g} {r['ms']:9.3f} {r['limit']:9.3f} {r['ms'] - r['limit']:9.3f}")
    ms, limit = (sum(r[key] for r in row[part].values()) for key in ("ms", "limit"))
    print(f"{'all ops':64} {'':6} {ms:9.3f} {limit:9.3f} {ms - limit:9.3f}")
    print(f"{'step':64} {'':6} {row['ms']:9.3f}", flush=True)
    for name in row["unmet"]:
        print(f"not as often in the events as in the network: {name}", file=sys.stderr)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=["proa"], help="measure it in this process")
    parser.add_argument(
        "--work", default="", help="beginnings of names, with semicolons; docs/performance.md's if empty"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--problems", action="store_true", help="a line for each shape of a product")
    parser.add_argument("--limits", type=pathlib.Path, default=limits.PROGRAM, help="the program limits_benchmark")
    parser.add_argument("--json", help="write the accounts there; - is the standard output")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the file holds")
    args = parser.parse_args(argv)
    wanted = models.named(args.work) if args.work else ROWS
    if args.framework:
        print(json.dumps(account(wanted[0], args.threads, args.limits)))
        return 0
    file = pathlib.Path(args.json) if args.json else None
    result = {"machine": side_by_side.machine(), "threads": args.threads, "accounts": {}}
    if args.resume and file and file.exists():
        result["accounts"] = json.loads(file.read_text(encoding="utf-8"))["accounts"]
    for work in wanted:
        if work in result["accounts"]:
            continue
        result["accounts"][work] = _measure_row(work, args)
        _print(work, result["accounts"][work], "problems" if args.problems else "ops")
        if file:
            file.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
