"""What a training step costs in float32, at O1 and at O2, beside PyTorch's autocast.

    python benchmarks/mixed_precision.py [--work "bert;resnet"] [--levels "O1;O2"] [--frameworks "proa;torch"] [--json FILE]

Times are milliseconds; each (network, level) is a process of its own, by turns with the other frameworks that can be
imported (side_by_side.py). "of float32" is the ratio to the framework's own float32 step of the same run; "scaler" is a
float32 step with a GradScaler. Of Proa stands besides what casts take of a step, by its profiler.
O2 of PyTorch is a network in 16 bits inside of autocast, with an optimizer that has no float32 copies. A machine with
AVX2 only has no bfloat16 instructions: 16 bits are slower there than float32, for everybody.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import statistics
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


def runner(a: networks.Api, work: str, level: str, dtype: str):
    """A function that does one step and waits for it."""
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

    def step():
        with cast():
            loss = a.F.cross_entropy(net(x), label)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        a.clear_grad(optimizer)
        return float(loss)

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
    if name == "proa" and level in ("O1", "O2"):
        found[f"{work}, {level}, casts in % of a step"] = 100 * share_of_casts(a.lib, run)
    return found


def share_of_casts(lib, run, steps: int = 3) -> float:
    """The part of the time of a step that is in casts, by the profiler."""
    with lib.profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        for _ in range(steps):
            run()
            prof.step()
    events = prof.profiler_result.events()

    def took(of):
        return sum(e["end_ns"] - e["start_ns"] for e in of)

    casts = [e for e in events if e["category"] == "op" and e["name"] == "cast"]
    return took(casts) / took([e for e in events if e["category"] == "step"][:steps])


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
    results = []
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
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
