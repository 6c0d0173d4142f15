"""Chains of pointwise ops on large tensors: called one by one, and as a program, which runs them tile by tile.

    python benchmarks/pointwise.py [--runs 15]

Medians of runs by turns, in milliseconds, and the median of their ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np

import proa
import proa.nn.functional as F


def swiglu(x, y):
    return x * F.sigmoid(x) * y


def gelu_by_tanh(x):
    return 0.5 * x * (1.0 + proa.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def normalize(x, mean, scale, weight, bias):
    return (x - mean) * scale * weight + bias


def bias_relu_residual(x, bias, residual):
    return F.relu(x + bias) + residual


def huber(x, y):
    d = proa.abs(x - y)
    return proa.where(d < 1.0, 0.5 * d * d, d - 0.5)


def lstm_cell(i, f, g, o, c):
    c = F.sigmoid(f) * c + F.sigmoid(i) * proa.tanh(g)
    return F.sigmoid(o) * proa.tanh(c), c


_CASES = [
    (swiglu, [(4096, 2048)] * 2),
    (gelu_by_tanh, [(4096, 2048)]),
    (normalize, [(4096, 768), (4096, 1), (4096, 1), (768,), (768,)]),
    (bias_relu_residual, [(4096, 2048), (2048,), (4096, 2048)]),
    (huber, [(4096, 2048)] * 2),
    (lstm_cell, [(512, 1024)] * 5),
]


def measure(function, shapes, runs: int) -> tuple[float, float, float]:
    """ms of the calls, ms of the program, how many times as fast the program is."""
    rng = np.random.default_rng(0)
    args = [proa.to_tensor(rng.standard_normal(s).astype("float32")) for s in shapes]
    program = proa.jit.to_static(function)
    times: tuple[list[float], list[float]] = ([], [])
    with proa.no_grad():
        for _ in range(runs + 3):
            for f, own in ((function, times[0]), (program, times[1])):
                start = time.perf_counter()
                f(*args)
                own.append(time.perf_counter() - start)
    called, run = (own[3:] for own in times)
    ratio = statistics.median(a / b for a, b in zip(called, run, strict=True))
    return statistics.median(called) * 1e3, statistics.median(run) * 1e3, ratio


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args(argv).runs
    for function, shapes in _CASES:
        called, run, ratio = measure(function, shapes, runs)
        print(f"{function.__name__:20s} calls {called:8.2f} ms  program {run:8.2f} ms  {ratio:.2f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
