"""What a call costs: nanoseconds of Python's way into an op and back, on tensors of four floats.

    python benchmarks/call_overhead.py [--rounds 3] [--json FILE]

Measures Proa beside every peer that can be imported, each in its own process, by turns
(side_by_side.py). Times are of the CPU, net of the loop around the call, on one thread: the best of
several runs of a process, and the median of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import operator
import sys
import time

import side_by_side

_CALLS = 50_000
_RUNS = 9
# What is asked for, in ns.
_TARGETS = {
    "x + y": 120,
    "x + y, recorded": 200,
    "add(x, y)": 160,
    "backward, per node": 120,
    "backward of x * y, per node": 250,
    "backward of matmul 4x4, per node": 250,
    "Hessian of 20 variables": 2_000_000,
    "step of ten Linear(4, 4) + ReLU": 60_000,
    "program of one op": 5_000,
}


class Proa:
    """A framework: how its tensors are made and its calls are spelled."""

    name = "proa"

    def __init__(self):
        self.lib = importlib.import_module(self.name)
        self.F = importlib.import_module(self.name + ".nn.functional")

    def tensor(self, recorded=False):
        return self.lib.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=not recorded)

    def add(self):
        return self.lib.add

    def square_matrix(self, recorded=False):
        return self.lib.to_tensor([[0.25] * 4] * 4, stop_gradient=not recorded)

    def hessian(self, f):
        """A function that computes the matrix of second derivatives of f at twenty points."""
        x = self.lib.to_tensor([0.5] * 20)
        matrix = self.lib.incubate.autograd.Hessian
        return lambda: matrix(f, x)[:, :]

    def program(self, f):
        """The function of two tensors recorded as a program, and called as it was."""
        return self.lib.jit.to_static(f)

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


class Torch(Proa):
    name = "torch"

    def tensor(self, recorded=False):
        return self.lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=recorded)

    def square_matrix(self, recorded=False):
        return self.lib.tensor([[0.25] * 4] * 4, requires_grad=recorded)

    def hessian(self, f):
        x = self.lib.full([20], 0.5)
        matrix = self.lib.autograd.functional.hessian
        return lambda: matrix(f, x)

    def program(self, f):
        return self.lib.jit.trace(f, (self.tensor(), self.tensor()))

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


class Jax:
    """Arrays without a tape: what has no counterpart is left out."""

    def __init__(self):
        self.lib = importlib.import_module("jax.numpy")

    def tensor(self, recorded=False):
        return self.lib.array([1.0, 2.0, 3.0, 4.0])

    def add(self):
        return self.lib.add


_KINDS = {"proa": Proa, "torch": Torch, "paddle": Paddle, "jax": Jax}


def _best(function) -> float:
    """Seconds of the fastest of several calls."""
    gc.collect()
    gc.disable()
    try:
        times = []
        for _ in range(_RUNS):
            start = time.process_time()
            function()
            times.append(time.process_time() - start)
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


def rosenbrock(x):
    """The valley of Rosenbrock: one number of n variables."""
    a, b = x[:-1], x[1:]
    return (100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a)).sum()


def backward_per_node(op, x, y, nodes: int = 1_000) -> float:
    """ns of backward for one node of the chain op(op(op(x, y), y), y) ..., by x."""
    times = []
    for _ in range(5 * _RUNS):
        z = x
        for _ in range(nodes):
            z = op(z, y)
        out = z.sum()
        start = time.process_time()
        out.backward()
        times.append(time.process_time() - start)
    return min(times) / nodes * 1e9


def _chain(ops: int):
    """A function that adds its second argument to the first, so many times."""

    def chain(x, y):
        for _ in range(ops):
            x = x + y
        return x

    return chain


def program_per_op(framework, more: int = 200) -> float:
    """ns of one `x + y` more in a program, without the call from Python."""
    x, y = framework.tensor(), framework.tensor()
    few, many = framework.program(_chain(10)), framework.program(_chain(10 + more))
    for _ in range(20):
        few(x, y), many(x, y)
    calls = _CALLS // more
    times = [per_call("f(x, y)", calls, f=f, x=x, y=y) for f in (few, many)]
    return (times[1] - times[0]) / more


def measure(framework) -> dict[str, float]:
    x, y = framework.tensor(), framework.tensor()
    out = {
        "x + y": per_call("x + y", x=x, y=y),
        "add(x, y)": per_call("add(x, y)", x=x, y=y, add=framework.add()),
        "x + 2.0": per_call("x + 2.0", x=x),
        "x[1]": per_call("x[1]", x=x),
        "x.sum()": per_call("x.sum()", x=x),
        "x.reshape([2, 2])": per_call("x.reshape([2, 2])", x=x),
        "x.shape": per_call("x.shape", x=x),
    }
    if isinstance(framework, Jax):
        return out
    recorded = framework.tensor(recorded=True)
    out["x + y, recorded"] = per_call("x + y", x=recorded, y=y)
    out["backward, per node"] = backward_per_node(operator.add, recorded, y)
    out["backward of x * y, per node"] = backward_per_node(operator.mul, recorded, framework.tensor())
    out["backward of matmul 4x4, per node"] = backward_per_node(
        operator.matmul, framework.square_matrix(recorded=True), framework.square_matrix()
    )
    with contextlib.suppress(AttributeError, NotImplementedError):
        out["Hessian of 20 variables"] = per_call("hessian()", 20, hessian=framework.hessian(rosenbrock))
    with contextlib.suppress(AttributeError, NotImplementedError):
        one = framework.program(_chain(1))
        for _ in range(20):
            one(x, y)
        out["program of one op"] = per_call("f(x, y)", _CALLS // 10, f=one, x=x, y=y)
        out["x + y in a program"] = program_per_op(framework)
    with contextlib.suppress(AttributeError, NotImplementedError):
        step = framework.network()
        for _ in range(20):
            step()
        out["step of ten Linear(4, 4) + ReLU"] = per_call("step()", 100, step=step)
    return out


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=_KINDS, help="measure this one, in this process")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    args = parser.parse_args(argv)
    if args.framework:
        print(json.dumps(measure(_KINDS[args.framework]())))
        return 0
    names = [n for n in side_by_side.installed(tuned=False) if n in _KINDS]
    result = side_by_side.run(__file__, [], names, args.rounds, threads=1)
    side_by_side.print_table(result, "ns")
    for line, target in _TARGETS.items():
        ours = result["figures"].get(line, {}).get("proa")
        if ours and ours["median"] > target:
            print(f"{line}: at most {target} ns is the aim")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
