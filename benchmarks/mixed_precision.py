"""What a training step costs in float32, at O1 and at O2, beside PyTorch's autocast.

    python benchmarks/mixed_precision.py [--work "bert;resnet"] [--levels "O1;O2"] [--frameworks "proa;torch"] [--json FILE]

Times are milliseconds; each (network, level) is a process of its own, by turns with the other frameworks that can be
imported (side_by_side.py). "of float32" is the ratio to the framework's own float32 step of the same run; "scaler" is a
float32 step with a GradScaler, and what that took of it. Of Proa stands besides what casts take of a step, and products of
one in float32, by its profiler; and, if //ops/linalg:multiply_rate_benchmark has been built, the least that bfloat16 could
take of float32 by this CPU's instructions.
O2 of PyTorch is a network in 16 bits inside of autocast, with an optimizer that has no float32 copies. A machine with
AVX2 only has no bfloat16 instructions: 16 bits are slower there than float32, for everybody.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import networks
import numpy as np
import side_by_side

LEVELS = ("float32", "O1", "O2", "scaler")
# Name: (network, shape of a batch, classes or words).
WORK = {
    "BERT-base, batch 8 of 128": ("bert", (8, 128), 2),
    "ResNet-50, batch 32": ("resnet50", (32, 3, 224, 224), 1000),
    "char transformer, batch 16 of 64": ("char_transformer", (16, 64), 2),
    "LSTM, batch 32 of 64": ("lstm", (32, 64), 2),
    # Named, but run only when asked for: they fit a small machine.
    "small ResNet-50, batch 4 of 64 x 64": ("resnet50", (4, 3, 64, 64), 1000),
    "small BERT, batch 2 of 32": ("char_transformer", (2, 32), 2),
}
TABLE = list(WORK)[:4]
PRODUCTS = "float32, products in % of a step"
RATES = pathlib.Path(__file__).resolve().parent.parent / "bazel-bin/ops/linalg/multiply_rate_benchmark"


def char_transformer(a: networks.Api):
    return networks.bert(a, layers=4, width=128, heads=4, words=128)


def lstm(a: networks.Api):
    layer = a.nn.Module if isinstance(a, networks.TorchApi) else a.nn.Layer

    class Lstm(layer):
        def __init__(self):
            super().__init__()
            self.words = a.nn.Embedding(1000, 256)
            options = {"batch_first": True} if isinstance(a, networks.TorchApi) else {}
            self.lstm = a.nn.LSTM(256, 256, num_layers=2, **options)
            self.head = a.nn.Linear(256, 2)

        def forward(self, ids):
            return self.head(self.lstm(self.words(ids))[0][:, -1])

    return Lstm()


def _batch(network, shape, classes):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, shape[0])
    if len(shape) == 2:
        return rng.integers(0, {"bert": 30000, "lstm": 1000}.get(network, 128), shape), labels
    return rng.standard_normal(shape).astype(np.float32), labels


class _Clock:
    """Adds up the time of calls, of those inside of others not again."""

    def __init__(self):
        self.took, self.inside = 0.0, False

    def __call__(self, function):
        def timed(*args, **kwargs):
            if self.inside:
                return function(*args, **kwargs)
            self.inside, start = True, time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.inside, self.took = False, self.took + time.perf_counter() - start

        return timed


def runner(a: networks.Api, work: str, level: str, dtype: str):
    """A function that does one step and waits for it. Its list `scaled` has the seconds of each step that a scaler took beside
    the step of the optimizer."""
    network, shape, classes = WORK[work]
    torch = isinstance(a, networks.TorchApi)
    net = a.prepare((globals().get(network) or getattr(networks, network))(a))
    net.train()
    optimizer = a.momentum(net)
    x, label = (a.tensor(v) for v in _batch(network, shape, classes))
    if level == "O2" and torch:
        net = a.cast(net, dtype)
    elif level == "O2":
        net, optimizer = a.lib.amp.decorate(net, optimizer, level="O2", dtype=dtype)

    def cast():
        if level not in ("O1", "O2"):
            return contextlib.nullcontext()
        if torch:
            return a.lib.autocast("cpu", dtype=getattr(a.lib, dtype))
        return a.lib.amp.auto_cast(level=level, dtype=dtype)

    scaler = None
    if level == "scaler" or dtype == "float16":
        scaler = a.lib.amp.GradScaler("cpu") if torch else a.lib.amp.GradScaler()
    if x.dtype == a.lib.float32 and level == "O2" and torch:
        x = a.cast(x, dtype)

    of_scaler, of_optimizer, scaled = _Clock(), _Clock(), []
    if scaler is not None:
        # `_step_scaled` is the step of 16-bit gradients, which divides them as well.
        for what in ("step", "_step_scaled"):
            if hasattr(optimizer, what):
                setattr(optimizer, what, of_optimizer(getattr(optimizer, what)))
        scale, advance = of_scaler(scaler.scale), of_scaler(lambda: (scaler.step(optimizer), scaler.update()))

    def step():
        with cast():
            loss = a.F.cross_entropy(net(x), label)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            of_scaler.took = of_optimizer.took = 0.0
            scale(loss).backward()
            advance()
            scaled.append(of_scaler.took - of_optimizer.took)
        a.clear_grad(optimizer)
        return float(loss)

    step.scaled = scaled
    return step


def measure(name: str, work: str, level: str, dtype: str, seconds: float) -> dict[str, float]:
    a = networks.api(name)
    run, times = runner(a, work, level, dtype), []
    for _ in range(2):
        run()
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    found = {f"{work}, {level}": 1e3 * statistics.median(times)}
    if run.scaled:
        found[f"{work}, {level}, scaler in % of a step"] = 100 * statistics.median(
            took / step for took, step in zip(run.scaled[2:], times)
        )
    if name == "proa" and level in ("O1", "O2"):
        found[f"{work}, {level}, casts in % of a step"] = 100 * share_of(
            a.lib, run, lambda e: e["name"] == "cast", seconds
        )
    if name == "proa" and level == "float32":
        found[f"{work}, {PRODUCTS}"] = 100 * share_of(a.lib, run, lambda e: e["flops"] > 4 * e["bytes"], seconds)
    return found


def share_of(lib, run, wanted, seconds: float) -> float:
    """The part of the time of a step that is in some ops, by the profiler: the median of steps, as others use the machine too."""
    steps, end = 0, time.perf_counter() + seconds
    with lib.profiler.Profiler(on_trace_ready=lambda prof: None, with_flops=True) as prof:
        while steps < 3 or (time.perf_counter() < end and steps < 20):
            run()
            prof.step()
            steps += 1
    events = sorted(prof.profiler_result.events(), key=lambda e: (e["start_ns"], -e["end_ns"]))
    ops = [e for e in events if e["category"] == "op" and wanted(e)]
    parts = []
    for step in [e for e in events if e["category"] == "step"][:steps]:
        took, end = 0, step["start_ns"]
        for e in ops:
            if end <= e["start_ns"] < step["end_ns"]:  # not inside of one that was counted
                took, end = took + e["end_ns"] - e["start_ns"], e["end_ns"]
        parts.append(took / (step["end_ns"] - step["start_ns"]))
    return statistics.median(parts)


def rate_of_bfloat16() -> float | None:
    """How many products of bfloat16 this CPU makes while it makes one of float32; None where the program has not been built."""
    if not RATES.exists():
        return None
    text = subprocess.run([RATES], capture_output=True, text=True, check=True).stdout
    found = re.search(r"bfloat16 of float32: ([\d.]+)", text)
    return float(found[1]) if found else None


def limit(products: float, rate: float) -> float:
    """The least that a step in bfloat16 may take of one in float32, whose part `products` is in products: these take what
    the instructions for them take, or float32's where those are slower, and all else half, as it moves half of the bytes."""
    return products / max(1.0, rate) + (1 - products) / 2


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", help="measure this one, in this process")
    parser.add_argument("--level", choices=LEVELS)
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; the table if empty")
    parser.add_argument("--frameworks", default="", help="names, with semicolons; all that are installed if empty")
    parser.add_argument("--levels", default="", help="of those measured, with semicolons; all if empty")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="to measure each framework for, in a row and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    args = parser.parse_args(argv)
    beginnings = [part.strip().lower() for part in args.work.split(";") if part.strip()]
    wanted = [w for w in WORK if any(w.lower().startswith(b) for b in beginnings)] if beginnings else TABLE
    if args.framework:
        print(json.dumps(measure(args.framework, wanted[0], args.level, args.dtype, args.seconds)))
        return 0
    names = [n for n in side_by_side.installed() if n not in ("jax", "paddle")]
    names = [n for n in names if not args.frameworks or n in args.frameworks.split(";")]
    levels = [level for level in LEVELS if not args.levels or level in args.levels.split(";")]
    results, rate = [], rate_of_bfloat16()
    if rate is not None:
        print(f"products of bfloat16 while one of float32 is made, by this CPU's instructions: {rate:.2f}")
    for work in wanted:
        own = {}
        for level in levels:
            arguments = ["--work", work, "--level", level, "--dtype", args.dtype, "--seconds", str(args.seconds)]
            result = side_by_side.run(__file__, arguments, names, args.rounds, args.threads)
            side_by_side.print_table(result, "ms")
            results.append(result)
            for name, figure in result["figures"].get(f"{work}, {level}", {}).items():
                own.setdefault(name, figure["median"])
                print(f"  {name} {level}: {figure['median'] / own[name]:.3f} of float32", flush=True)
            products = result["figures"].get(f"{work}, {PRODUCTS}", {}).get("proa")
            if products and rate is not None:
                print(
                    f"  no more than bfloat16 could reach here: {limit(products['median'] / 100, rate):.3f} of float32"
                )
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
