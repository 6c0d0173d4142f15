"""Writes small.npz with PaddlePaddle 3.x: the smallest programs that train, for readers to be given millions of changed ones.

python python/tests/reference_models/small.py
"""

import pathlib

import numpy as np
from control_flow import _logical_not, paddle  # sets the flag of old programs before it imports

static, nn = paddle.static, paddle.nn


def _fc(x, size=1):
    return static.nn.fc(x, size, bias_attr=False)


def step(x):
    return _fc(x), paddle.optimizer.SGD(0.1)


def clipped(x):
    return _fc(x), paddle.optimizer.Adam(0.1, grad_clip=nn.ClipGradByNorm(1.0))


def decayed(x):
    return _fc(x), paddle.optimizer.Momentum(0.1, weight_decay=paddle.regularizer.L2Decay(0.1))


def branch(x):
    return static.nn.cond(paddle.mean(x) > 0, lambda: _fc(x), lambda: _fc(x) * 2.0), paddle.optimizer.SGD(0.1)


def loop(x):
    i, n = paddle.full([1], 0, "int64"), paddle.full([1], 3, "int64")
    h = static.nn.while_loop(lambda i, h: i < n, lambda i, h: [i + 1, h * h], [i, _fc(x)])[1]
    return h, paddle.optimizer.SGD(0.1)


def array(x):
    i = paddle.full([1], 0, "int64")
    items = paddle.tensor.array_write(_fc(x), i)
    return paddle.tensor.array_read(items, i), paddle.optimizer.SGD(0.1)


def rows(x):
    ids = paddle.cast(x > 0, "int64")
    return static.nn.embedding(ids, [2, 1]), paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(0.1, 2))


def main():
    paddle.enable_static()
    paddle.logical_not = _logical_not
    found = {}
    for build in (step, clipped, decayed, branch, loop, array, rows):
        program = static.Program()
        with static.program_guard(program, static.Program()), paddle.utils.unique_name.guard():
            y, optimizer = build(static.data("x", [None, 2]))
            optimizer.minimize(paddle.mean(y))
        found[build.__name__] = np.frombuffer(program.desc.serialize_to_string(), "uint8")
    np.savez_compressed(pathlib.Path(__file__).parent / "small.npz", **found)


if __name__ == "__main__":
    main()
