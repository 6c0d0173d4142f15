"""A convolution or a matrix product of a network: one line for limits_benchmark.

A line names the pass and the sizes (ops/onednn/limits_benchmark.cc). This module says what a line computes and by what
a recorded event of the profiler is recognized as one: `key_of_line` and `key_of_event` agree.
"""

from __future__ import annotations

import math
import re

_CONVOLUTIONS = {"conv2d": "forward", "conv_input_grad": "input_grad", "conv_weight_grad": "weight_grad"}
# Products in a call of an op that is more than one.
_SEVERAL = {"attention": 2, "attention_grad": 4}


def _conv(line: str):
    """The pass, and the shapes of image, result and weight."""
    _, _, what, *numbers = line.split()
    n, c, h, w, o, kh, kw, stride, pad, groups = map(int, numbers)
    y = (n, o, (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1)
    return what, (n, c, h, w), y, (o, c // groups, kh, kw)


def _matmul(line: str):
    """Batch, rows, columns, what is summed over, and which operands are transposed: "n t"."""
    _, _, *numbers, a, b = line.split()
    return *map(int, numbers), f"{a} {b}"


def flops(line: str) -> int:
    """Multiplications and additions."""
    if line.startswith("conv"):
        _, _, y, weight = _conv(line)
        return 2 * math.prod(y) * math.prod(weight[1:])
    return 2 * math.prod(_matmul(line)[:4])


def key_of_line(line: str) -> tuple:
    if line.startswith("conv"):
        what, x, y, weight = _conv(line)
        # Weights of 1x1 and of 3x3 with padding have gradients from the same shapes: the size of the sum tells them apart.
        shapes = {"forward": (x, weight), "input_grad": (y, weight), "weight_grad": (x, y)}[what]
        return what, *shapes, math.prod(weight[1:])
    batch, m, n, k, transposed = _matmul(line)
    if batch > 1:
        return "attention", batch * m * n * k
    a = (m, k) if transposed[0] == "n" else (k, m)
    b = (k, n) if transposed[2] == "n" else (n, k)
    # A square weight has the same shape either way; forward is not transposed, and gradients are.
    return "linear" if transposed == "n n" else "linear_grad", a, b


def shapes_of(event: dict) -> list[tuple[int, ...]]:
    return [tuple(map(int, s.split(","))) if s else () for s in re.findall(r"\[([\d, ]*)\]", event["shapes"] or "")]


def _matrix(shape):
    return math.prod(shape[:-1]), shape[-1]


def key_of_event(event: dict) -> tuple[tuple | None, int]:
    """The key of the products that an event stands for, and how many they are; None if it is none."""
    name, shapes = event["name"], shapes_of(event)
    if name in ("conv2d", "conv2d_batch_norm_relu_inference"):
        return ("forward", *shapes[:2], math.prod(shapes[1][1:])), 1
    if name in _CONVOLUTIONS:
        y = shapes[1] if name == "conv_weight_grad" else shapes[0]
        return (_CONVOLUTIONS[name], *shapes[:2], round(event["flops"]) // (2 * math.prod(y))), 1
    if name in _SEVERAL:
        n, length, heads, size = shapes[0]
        keys = shapes[1][1]
        return ("attention", n * heads * length * keys * size), _SEVERAL[name]
    if name in ("linear", "matmul"):
        return ("linear" if name == "linear" else "linear_grad", _matrix(shapes[0]), _matrix(shapes[1])), 1
    return None, 0
