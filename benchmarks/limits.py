"""The limit of a network: its convolutions and matrix products alone.

    python benchmarks/limits.py --work "ResNet-50, batch 1, inference" [--threads 2]

Lists the products that a step of the work needs, has each timed in oneDNN at its best layout
with warm memory (ops/onednn/limits_benchmark.cc), and adds up. It is a bound, not a promise:
everything else of a network costs nothing in it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

import problem

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "bazel-bin/ops/onednn/limits_benchmark"


def products(work: str) -> collections.Counter:
    """What a step of the work computes, as lines for limits_benchmark, and how often."""
    import models
    import networks

    row = models.WORK[work]
    found: collections.Counter = collections.Counter()
    passes = ("forward", "input_grad", "weight_grad") if row.trains else ("forward",)
    first = []  # the layer whose input needs no gradient

    def conv(layer, inputs, _):
        n, c, h, w = inputs[0].shape
        o, _, kh, kw = layer.weight.shape
        stride, pad = layer._stride[0], layer._padding
        for what in passes:
            if what != "input_grad" or first:
                found[f"conv {row.dtype} {what} {n} {c} {h} {w} {o} {kh} {kw} {stride} {pad} {layer._groups}"] += 1
        first.append(layer)

    def linear(layer, inputs, _):
        k, n = layer.weight.shape
        m = inputs[0].numel() // k
        matmul(1, m, n, k, "n", "n")

    def matmul(batch, m, n, k, a, b):
        found[f"matmul {row.dtype} {batch} {m} {n} {k} {a} {b}"] += 1
        if row.trains:
            found[f"matmul {row.dtype} {batch} {m} {k} {n} n t"] += 1
            found[f"matmul {row.dtype} {batch} {k} {n} {m} t n"] += 1

    class Counting(networks.Api):
        def attention(self, q, k, v):
            n, length, heads, size = q.shape
            matmul(n * heads, length, length, size, "n", "t")
            matmul(n * heads, length, size, length, "n", "n")
            return super().attention(q, k, v)

    a = Counting("proa")
    net = getattr(networks, row.network)(a)
    net.eval()
    for layer in net.sublayers():
        if isinstance(layer, a.nn.Conv2D):
            layer.register_forward_post_hook(conv)
        elif isinstance(layer, a.nn.Linear):
            layer.register_forward_post_hook(linear)
    x, _ = models.batch(row)
    with a.no_grad():
        net(a.tensor(x))
    return found


def listed(work: str) -> dict[str, int]:
    """`products`, found in another process: what the system calls the peak memory of a process begins with that of
    its parent."""
    out = subprocess.run(
        [sys.executable, __file__, "--list", "--work", work], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(out.splitlines()[-1])


def times(program: pathlib.Path, lines: list[str], threads: int) -> list[float]:
    """Seconds of each product."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    text = "\n".join(lines) + "\n"
    out = subprocess.run([program], input=text, capture_output=True, text=True, env=environment, check=True).stdout
    return [float(seconds) for seconds in out.split()]


class Limit(NamedTuple):
    ms: float
    flops: float


def limit(program: pathlib.Path, work: str, threads: int) -> Limit:
    """The products of a step, and what they take one after the other."""
    count = listed(work)
    took = times(program, list(count), threads)
    ms = 1e3 * sum(n * seconds for n, seconds in zip(count.values(), took, strict=True))
    return Limit(ms, sum(n * problem.flops(line) for line, n in count.items()))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, help="a row of models.py")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, help="limits_benchmark")
    parser.add_argument("--list", action="store_true", help="the products alone, as JSON")
    args = parser.parse_args(argv)
    if args.list:
        print(json.dumps(products(args.work)))
        return 0
    found = limit(args.program, args.work, args.threads)
    print(f"{found.ms:.4g} ms, {found.flops / found.ms / 1e6:.0f} GFLOP/s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
