"""Writes control_flow.npz with PaddlePaddle 3.x: programs with conditions and loops that train, and the losses of their steps.

python python/tests/reference_models/control_flow.py
"""

import os
import pathlib

os.environ["FLAGS_enable_pir_api"] = "0"
import numpy as np
import paddle
from paddle.base.layer_helper import LayerHelper

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


def main():
    paddle.enable_static()
    paddle.logical_not = _logical_not
    found = {}
    for build in (chosen, repeated):
        name, rng = build.__name__, np.random.RandomState(0)
        program, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
            x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 1])
            loss = paddle.mean((_fc(build(x), 1, "w2", 0.2) - y) ** 2)
            paddle.optimizer.SGD(0.1).minimize(loss)
        executor = paddle.static.Executor(paddle.CPUPlace())
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor.run(startup)
            for p in [*program.all_parameters(), *(v for v in program.list_vars() if "learning_rate" in v.name)]:
                found[f"{name}.values.{p.name}"] = np.array(paddle.static.global_scope().find_var(p.name).get_tensor())
            xs = [(rng.randn(2 + k % 3, 3) + (0.5 if k % 2 else -0.5)).astype("float32") for k in range(_STEPS)]
            ys = [rng.randn(len(v), 1).astype("float32") for v in xs]
            losses = [executor.run(program, feed={"x": a, "y": b}, fetch_list=[loss])[0] for a, b in zip(xs, ys)]
        found[f"{name}.program"] = np.frombuffer(program.desc.serialize_to_string(), "uint8")
        found[f"{name}.loss"] = np.array(loss.name)
        found[f"{name}.losses"] = np.array(losses).reshape(-1)
        for k in range(_STEPS):
            found[f"{name}.x{k}"], found[f"{name}.y{k}"] = xs[k], ys[k]
    np.savez_compressed(pathlib.Path(__file__).parent / "control_flow.npz", **found)


if __name__ == "__main__":
    main()
