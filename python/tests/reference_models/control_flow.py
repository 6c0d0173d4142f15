"""Writes control_flow.npz with PaddlePaddle 3.x: programs with conditions and loops that train, and the losses of their steps.

python python/tests/reference_models/control_flow.py
"""

import os
import pathlib

os.environ["FLAGS_enable_pir_api"] = "0"
import numpy as np
import paddle
from paddle.base.layer_helper import LayerHelper
from paddle.static.nn.control_flow import While
from paddle.tensor.manipulation import tensor_array_to_tensor

_STEPS = 6


def _logical_not(x, out=None, name=None):
    """That of 3.x takes no variables of old programs, and `cond` calls it."""
    helper = LayerHelper("logical_not")
    made = helper.create_variable_for_type_inference("bool")
    helper.append_op(type="logical_not", inputs={"X": x}, outputs={"Out": made})
    return made


def _fc(x, size, name, value, activation=None):
    weight = paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Constant(value))
    return paddle.static.nn.fc(x, size, weight_attr=weight, bias_attr=False, activation=activation)


def chosen(x):
    h = _fc(x, 4, "w1", 0.3)
    relu = paddle.nn.functional.relu
    return paddle.static.nn.cond(paddle.mean(x) > 0, lambda: relu(h) * 2.0, lambda: _fc(h * h, 4, "w3", 0.1))


def repeated(x):
    i, n = paddle.full([1], 0, "int64"), paddle.full([1], 3, "int64")
    body = lambda i, h: [i + 1, _fc(h, 3, "w1", 0.3, "relu") * 0.5 + x]
    return paddle.static.nn.while_loop(lambda i, h: i < n, body, [i, _fc(x, 3, "w3", 0.1)])[1]


def from_an_array(x):
    """The steps of a recurrent network in an array, of which the last one is read."""
    i, n = paddle.full([1], 0, "int64"), paddle.full([1], 3, "int64")
    steps = paddle.tensor.array_write(_fc(x, 3, "w3", 0.1), i)
    goes_on = paddle.less_than(i, n)
    with While(goes_on).block():
        h = _fc(paddle.tensor.array_read(steps, i), 3, "w1", 0.3, "relu") * 0.5 + x
        paddle.increment(i, 1)
        paddle.tensor.array_write(h, i, steps)
        paddle.assign(paddle.less_than(i, n), goes_on)
    return paddle.tensor.array_read(steps, n)


def all_of_an_array(x):
    """All steps are read, side by side; and one of them again."""
    i, n = paddle.full([1], 0, "int64"), paddle.full([1], 3, "int64")
    steps, found = paddle.tensor.array_write(_fc(x, 3, "w3", 0.1), i), paddle.tensor.create_array("float32")
    goes_on = paddle.less_than(i, n)
    with While(goes_on).block():
        h = _fc(paddle.tensor.array_read(steps, i), 3, "w1", 0.3, "relu") * 0.5 + x
        paddle.tensor.array_write(h * h, i, found)
        paddle.increment(i, 1)
        paddle.tensor.array_write(h, i, steps)
        paddle.assign(paddle.less_than(i, n), goes_on)
    side_by_side, _ = tensor_array_to_tensor(found, axis=1)
    side_by_side = paddle.reshape(side_by_side, [-1, 9])  # whose width the program did not know
    return _fc(side_by_side, 3, "w4", 0.15) + paddle.tensor.array_read(steps, n) * paddle.tensor.array_read(steps, n)


def without_a_loop(x):
    i, j = paddle.full([1], 0, "int64"), paddle.full([1], 1, "int64")
    items = paddle.tensor.array_write(_fc(x, 3, "w3", 0.1), i)
    paddle.tensor.array_write(_fc(x, 3, "w1", 0.3), j, items)
    a, b = paddle.tensor.array_read(items, i), paddle.tensor.array_read(items, j)
    return a * b + paddle.tensor.array_read(items, i)


def main():
    paddle.enable_static()
    paddle.logical_not = _logical_not
    found = {}
    for build in (chosen, repeated, from_an_array, all_of_an_array, without_a_loop):
        name, rng = build.__name__, np.random.RandomState(0)
        program, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
            x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 1])
            loss = paddle.mean((_fc(build(x), 1, "w2", 0.2) - y) ** 2)
            paddle.optimizer.SGD(0.1).minimize(loss)
        executor = paddle.static.Executor(paddle.CPUPlace())
        kept = [*program.all_parameters(), *(v for v in program.list_vars() if "learning_rate" in v.name)]
        value = lambda p: paddle.static.global_scope().find_var(p.name).get_tensor()
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor.run(startup)
            state = {p.name: np.array(value(p)) for p in kept}
        for p in kept:
            found[f"{name}.values.{p.name}"] = state[p.name]
        xs = [(rng.randn(2 + k % 3, 3) + (0.5 if k % 2 else -0.5)).astype("float32") for k in range(_STEPS)]
        ys = [rng.randn(len(v), 1).astype("float32") for v in xs]
        losses = []
        for a, b in zip(xs, ys):
            # A scope of its own: arrays, and their gradients, go on from what the step before left in them.
            with paddle.static.scope_guard(paddle.static.Scope()):
                executor.run(startup)
                for p in kept:
                    value(p).set(state[p.name], paddle.CPUPlace())
                losses.append(executor.run(program, feed={"x": a, "y": b}, fetch_list=[loss])[0])
                state = {p.name: np.array(value(p)) for p in kept}
        found[f"{name}.program"] = np.frombuffer(program.desc.serialize_to_string(), "uint8")
        found[f"{name}.loss"] = np.array(loss.name)
        found[f"{name}.losses"] = np.array(losses).reshape(-1)
        for k in range(_STEPS):
            found[f"{name}.x{k}"], found[f"{name}.y{k}"] = xs[k], ys[k]
    np.savez_compressed(pathlib.Path(__file__).parent / "control_flow.npz", **found)


if __name__ == "__main__":
    main()
