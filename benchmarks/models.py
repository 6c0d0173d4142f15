"""What a training step or a prediction costs, for whole networks, beside peers and the machine's limit.

    python benchmarks/models.py [--work "lenet;resnet"] [--rounds 3] [--threads 2] [--json FILE [--resume]]

Each framework that can be imported runs in its own process, by turns (side_by_side.py), and
so does the limit (limits.py), where its program is built. Times are milliseconds, the median
of the runs of a process after warming up, and of the rounds the median again. On one thread
they are of the CPU, which does not see what else the machine does. Beside them stands what
other processes did (disturbance.py). FILE is written after each row; with --resume rows that
it holds are not measured again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import sys
import time

import disturbance
import limits
import networks
import numpy as np
import side_by_side


@dataclasses.dataclass
class Row:
    network: str
    shape: tuple[int, ...]  # of a batch
    classes: int
    trains: bool
    dtype: str = "float32"


def _images(network, n, trains, dtype="float32"):
    return Row(network, (n, 3, 224, 224), 1000, trains, dtype)


def _words(n, trains, dtype="float32"):
    return Row("bert", (n, 128), 2, trains, dtype)


WORK = {
    "ResNet-50, batch 32, training": _images("resnet50", 32, True),
    "ResNet-50, batch 8, training": _images("resnet50", 8, True),
    "ResNet-50, batch 1, training": _images("resnet50", 1, True),
    "ResNet-50, batch 32, inference": _images("resnet50", 32, False),
    "ResNet-50, batch 1, inference": _images("resnet50", 1, False),
    "MobileNet v1, batch 32, training": _images("mobilenet", 32, True),
    "MobileNet v1, batch 32, inference": _images("mobilenet", 32, False),
    "MobileNet v1, batch 1, inference": _images("mobilenet", 1, False),
    "BERT-base, batch 8 of 128, training": _words(8, True),
    "BERT-base, batch 8 of 128, inference": _words(8, False),
    "BERT-base, batch 1 of 128, inference": _words(1, False),
    "bfloat16: ResNet-50, batch 32, training": _images("resnet50", 32, True, "bfloat16"),
    "bfloat16: ResNet-50, batch 32, inference": _images("resnet50", 32, False, "bfloat16"),
    "bfloat16: BERT-base, batch 8 of 128, training": _words(8, True, "bfloat16"),
    "LeNet, batch 64, training": Row("lenet", (64, 1, 28, 28), 10, True),
    "Ten Linear(4, 4) + ReLU, batch 1, training": Row("ten_linear", (1, 4), 4, True),
    # Named, but run only when asked for.
    "MobileNet v1, batch 8, training": _images("mobilenet", 8, True),
    "BERT-base, batch 2 of 128, training": _words(2, True),
}
TABLE = list(WORK)[:16]


def named(beginnings: str) -> list[str]:
    """The rows whose names begin with one of these, which semicolons part."""
    return [w for w in WORK if any(w.lower().startswith(part.strip().lower()) for part in beginnings.split(";"))]


def batch(row: Row):
    """Inputs as an array."""
    rng = np.random.default_rng(0)
    if row.network == "bert":
        return rng.integers(0, 30000, row.shape), rng.integers(0, row.classes, row.shape[0])
    return rng.standard_normal(row.shape).astype(np.float32), rng.integers(0, row.classes, row.shape[0])


def runner(a: networks.Api, work: str, compiled: bool = False):
    """A function that does one step of the work and waits for it; `compiled`: training with the network and its loss as one
    compiled function."""
    row = WORK[work]
    net = a.prepare(getattr(networks, row.network)(a))
    x, label = (a.tensor(v) for v in batch(row))
    if row.dtype != "float32":
        net = a.cast(net, row.dtype)
        x = x if row.network == "bert" else a.cast(x, row.dtype)
    if not row.trains:
        net = a.frozen(net, x)

        def predict():
            with a.no_grad():
                return float(a.cast(net(x), "float32").sum())

        return predict
    net.train()
    optimizer = a.momentum(net)

    def loss_of(x, label):
        return a.F.cross_entropy(a.cast(net(x), "float32"), label)

    if compiled:
        loss_of = a.compiled(loss_of)

    def step():
        loss = loss_of(x, label)
        loss.backward()
        optimizer.step()
        a.clear_grad(optimizer)
        return float(loss)

    return step


def milliseconds(run, seconds: float, warm: int = 2) -> float:
    """The median of the runs that fit into the time, after some to warm up."""
    times = []
    alone = os.environ.get("OMP_NUM_THREADS") == "1"
    now = time.process_time if alone else time.perf_counter
    for _ in range(warm):
        run()
    end = time.perf_counter() + seconds
    while len(times) < 2 or (time.perf_counter() < end and len(times) < 2000):
        start = now()
        run()
        times.append(now() - start)
    return 1e3 * statistics.median(times)


def measure(name: str, work: str, seconds: float) -> dict[str, float]:
    ms = milliseconds(runner(networks.api(name), work), seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {work: ms, work + ", peak MiB": peak}


def _measure_row(work: str, args) -> dict:
    names = [n for n in side_by_side.installed() if n != "jax"]
    arguments = ["--work", work, "--seconds", str(args.seconds)]
    result = side_by_side.run(__file__, arguments, names, args.rounds, args.threads)
    if args.limits.exists() and "proa" in names:
        found = disturbance.calm(lambda: limits.limit(args.limits, work, args.threads))
        result["limits"] = {work: found.value.ms}
        result["flops"] = {work: found.value.flops}
        result["limit_others"] = {work: found.others}
    result["loads"] = {work: result["load"]}
    side_by_side.print_table(result, "ms")
    if "limits" in result:
        print(f"limit {result['limits'][work]:.4g} ms", flush=True)
    return result


def _merged(old: dict | None, new: dict) -> dict:
    if old is None:
        return new
    place = {line: i for i, work in enumerate(WORK) for line in (work, work + ", peak MiB")}
    for part in ("figures", "limits", "flops", "limit_others", "loads"):
        # In the order of the table, whichever rows were measured again.
        merged = old.get(part, {}) | new.get(part, {})
        new[part] = dict(sorted(merged.items(), key=lambda item: place[item[0]]))
    new["load"] = [min(old["load"][0], new["load"][0]), max(old["load"][1], new["load"][1])]
    return new


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", help="measure this one, in this process")
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; the table if empty")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="to measure each framework for, in a row and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limits", type=pathlib.Path, default=limits.PROGRAM, help="the program limits_benchmark")
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the file holds")
    args = parser.parse_args(argv)
    wanted = named(args.work) if args.work else TABLE
    if args.framework:
        print(json.dumps(measure(args.framework, wanted[0], args.seconds)))
        return 0
    file = pathlib.Path(args.json) if args.json else None
    result = json.loads(file.read_text()) if args.resume and file and file.exists() else None
    for work in wanted:  # a process for each, so that memory is its own
        if result is not None and work in result["figures"]:
            continue
        result = _merged(result, _measure_row(work, args))
        if file:
            file.write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
