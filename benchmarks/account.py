"""Where a network's step goes, op by op, each against its own limit.

    python benchmarks/account.py --work "ResNet-50, batch 32, training" [--threads 2] [--problems]

Convolutions and matrix products are held against the same product alone in oneDNN, at its best layout and with warm
memory (limits.py); every other op against the bytes that it must read and write, at the rate of memcpy. What an op takes
above its limit is what there is to gain. With --problems, each shape of a product has a line of its own.
"""

from __future__ import annotations

import argparse
import collections
import math
import re
import sys

import limits
import models
import networks

_PRODUCTS = {
    "conv2d": "forward",
    "conv2d_input_grad": "input_grad",
    "conv2d_weight_grad": "weight_grad",
}


def _shapes(event) -> list[tuple[int, ...]]:
    return [tuple(map(int, s.split(","))) if s else () for s in re.findall(r"\[([\d, ]*)\]", event["shapes"])]


def _conv_key(line: str):
    """What an event of this convolution shows: the pass and two shapes. That of 1x1 and that of 3x3 with padding have the
    same ones for a gradient of the weight: the FLOPs tell them apart."""
    _, _, what, *numbers = line.split()
    n, c, h, w, o, kh, kw, stride, pad, groups = map(int, numbers)
    x, y = (n, c, h, w), (n, o, (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1)
    weight = (o, c // groups, kh, kw)
    shapes = {"forward": (x, weight), "input_grad": (y, weight), "weight_grad": (x, y)}[what]
    return what, shapes, math.prod(weight[1:])


def _matmul_key(line: str):
    """The multiset of sizes: one is as fast as another."""
    batch, m, n, k = map(int, line.split()[2:6])
    return "matmul", batch * m * n * k


def _event_key(event):
    name, shapes = event["name"], _shapes(event)
    if name in _PRODUCTS:
        if name == "conv2d":
            return "forward", tuple(shapes[:2]), math.prod(shapes[1][1:])
        y = shapes[1] if name == "conv2d_weight_grad" else shapes[0]
        return _PRODUCTS[name], tuple(shapes[:2]), round(event["flops"]) // (2 * math.prod(y))
    if name in ("matmul", "linear"):
        return "matmul", math.prod(shapes[0]) * (
            shapes[1][-1] if name == "linear" else round(event["flops"]) // 2 // math.prod(shapes[0])
        )
    return None


def account(work: str, threads: int, steps: int = 3):
    """By op: the calls of a step, their milliseconds, and the limit of those."""
    import proa

    lines = list(limits.listed(work))
    seconds = dict(zip(lines, limits.times(limits.PROGRAM, lines, threads), strict=True))
    known = {}
    for line, took in seconds.items():
        known[_conv_key(line) if line.startswith("conv") else _matmul_key(line)] = (line, 1e3 * took)
    step = models.runner(networks.api("proa"), work)
    for _ in range(3):
        step()
    with proa.profiler.Profiler(on_trace_ready=lambda prof: None, record_shapes=True, with_flops=True) as prof:
        for _ in range(steps):
            step()
            prof.step()
    result = prof.profiler_result
    rate = proa.profiler.measure_roof()[1] * 1e6  # bytes a millisecond
    ops, problems = collections.defaultdict(lambda: [0, 0.0, 0.0]), collections.defaultdict(lambda: [0, 0.0, 0.0])
    for event in result.events():
        if event["category"] != "op":
            continue
        took = (event["end_ns"] - event["start_ns"]) / 1e6 / steps
        line, limit = known.get(_event_key(event), (None, event["bytes"] / rate))
        for table, key in ((ops, event["name"]), (problems, line or event["name"])):
            row = table[key]
            row[0] += 1 / steps
            row[1] += took
            row[2] += limit / steps
    return ops, problems, rate / 1e6


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, help="a row of models.py")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--problems", action="store_true", help="a line for each shape of a product")
    args = parser.parse_args(argv)
    ops, problems, rate = account(args.work, args.threads)
    table = problems if args.problems else ops
    print(f"memory {rate:.1f} GB/s")
    rows = sorted(table.items(), key=lambda r: -(r[1][1] - r[1][2]))
    for name, (calls, took, limit) in rows:
        print(f"{name:64} {calls:6.0f} {took:9.2f} {limit:9.2f} {took - limit:9.2f}")
    total = [sum(r[i] for r in table.values()) for i in (1, 2)]
    print(f"{'all':64} {'':6} {total[0]:9.2f} {total[1]:9.2f} {total[0] - total[1]:9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
