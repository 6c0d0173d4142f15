"""What a call costs: nanoseconds of Python's way into an op and back, on tensors of four floats.

    python benchmarks/call_overhead.py [--json FILE]

Measures Proa beside every peer that can be imported (PaddlePaddle, PyTorch). Times are net
of the loop around the call, the best of several runs, on one thread.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import sys
import time

_CALLS = 200_000
_RUNS = 7
# What issue 2 asks for, in ns.
_TARGETS = {
    "x + y": 120,
    "x + y, recorded": 200,
    "add(x, y)": 160,
    "backward, per node": 120,
    "step of ten Linear(4, 4) + ReLU": 60_000,
}


class Proa:
    """A framework: how its tensors are made and its calls are spelled."""

    name = "proa"

    def __init__(self):
        self.lib = importlib.import_module(self.name)
        self.F = importlib.import_module(self.name + ".nn.functional")

    def threads(self):
        self.lib._C.set_num_threads(1)

    def tensor(self, recorded=False):
        return self.lib.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=not recorded)

    def add(self):
        return self.lib.add

    def network(self):
        """A training step: forward, backward, momentum, clearing gradients."""
        nn = self.lib.nn
        layers = [m for _ in range(10) for m in (nn.Linear(4, 4), nn.ReLU())]
        net = nn.Sequential(*layers)
        optimizer = self.lib.optimizer.Momentum(0.01, 0.9, parameters=net.parameters())
        x = self.lib.ones([1, 4])

        def step():
            net(x).sum().backward()
            optimizer.step()
            optimizer.clear_grad()

        return step


class Paddle(Proa):
    name = "paddle"

    def threads(self):
        pass


class Torch(Proa):
    name = "torch"

    def threads(self):
        self.lib.set_num_threads(1)

    def tensor(self, recorded=False):
        return self.lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=recorded)

    def network(self):
        nn = self.lib.nn
        net = nn.Sequential(*[m for _ in range(10) for m in (nn.Linear(4, 4), nn.ReLU())])
        optimizer = self.lib.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        x = self.lib.ones([1, 4])

        def step():
            net(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        return step


def _best(function) -> float:
    """Seconds of the fastest of several calls."""
    gc.collect()
    gc.disable()
    try:
        times = []
        for _ in range(_RUNS):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
        return min(times)
    finally:
        gc.enable()


def _loop(source: str, calls: int, **names):
    """A function that runs a statement `calls` times."""
    space = dict(names)
    exec(f"def loop():\n    for _ in range({calls}):\n        {source}", space)  # noqa: S102
    return space["loop"]


def per_call(source: str, calls: int = _CALLS, **names) -> float:
    """ns of one run of the statement, without the loop and the reading of the names."""
    empty = _best(_loop("pass", calls, **names))
    return max(_best(_loop(source, calls, **names)) - empty, 0.0) / calls * 1e9


def backward_per_node(framework, nodes: int = 10_000) -> float:
    """ns of backward for one node of a chain of additions."""
    x, y = framework.tensor(recorded=True), framework.tensor()
    times = []
    for _ in range(_RUNS):
        z = x
        for _ in range(nodes):
            z = z + y
        out = z.sum()
        start = time.perf_counter()
        out.backward()
        times.append(time.perf_counter() - start)
    return min(times) / nodes * 1e9


def measure(framework) -> dict[str, float]:
    framework.threads()
    x, y, recorded = framework.tensor(), framework.tensor(), framework.tensor(recorded=True)
    out = {
        "x + y": per_call("x + y", x=x, y=y),
        "x + y, recorded": per_call("x + y", x=recorded, y=y),
        "add(x, y)": per_call("add(x, y)", x=x, y=y, add=framework.add()),
        "x + 2.0": per_call("x + 2.0", x=x),
        "x[1]": per_call("x[1]", x=x),
        "x.sum()": per_call("x.sum()", x=x),
        "x.reshape([2, 2])": per_call("x.reshape([2, 2])", x=x),
        "x.shape": per_call("x.shape", x=x),
        "backward, per node": backward_per_node(framework),
    }
    with contextlib.suppress(AttributeError, NotImplementedError):
        step = framework.network()
        for _ in range(20):
            step()
        out["step of ten Linear(4, 4) + ReLU"] = per_call("step()", 100, step=step)
    return out


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the figures there")
    args = parser.parse_args(argv)
    results = {}
    for kind in (Proa, Paddle, Torch):
        try:
            framework = kind()
        except ImportError as e:
            print(f"{kind.name}: {e}", file=sys.stderr)
            continue
        results[kind.name] = measure(framework)
    lines = list(dict.fromkeys(k for r in results.values() for k in r))
    print(f"{'ns':34}" + "".join(f"{n:>12}" for n in results) + f"{'at most':>12}")
    for line in lines:
        figures = [r.get(line) for r in results.values()]
        target = _TARGETS.get(line)
        row = "".join(f"{f:12,.0f}" if f is not None else f"{'-':>12}" for f in figures)
        print(f"{line:34}{row}" + (f"{target:12,}" if target else ""))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
