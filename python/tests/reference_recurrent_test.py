"""Recurrent networks of PaddlePaddle 1.x as its files say them: StaticRNN (`recurrent`), and DynamicRNN (`while` over arrays of steps,
with a table of sequences). They run and train as the same networks written with tensors."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.jit.reference import wire
from python.tests.reference_program import Program

_R = np.random.RandomState(4)
_RATE = 0.1


def _static_rnn(reverse, trained=True):
    p = Program()
    x, h0 = p.fed("x", [5, -1, 3]), p.fed("h0", [-1, 4])
    w, u = p.parameter("w", [3, 4]), p.parameter("u", [4, 4])
    p.at = inside = p.block()
    for name, dims in (
        ("before", [-1, 4]),
        ("a", [-1, 4]),
        ("b", [-1, 4]),
        ("c", [-1, 4]),
        ("h", [-1, 4]),
        ("step", [-1, 4]),
    ):
        p.var(name, dims)
    p.op("mul", {"X": "x", "Y": "w"}, {"Out": "a"}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("mul", {"X": "before", "Y": "u"}, {"Out": "b"}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("elementwise_add", {"X": "a", "Y": "b"}, {"Out": "c"}, axis=-1)
    p.op("tanh", {"X": "c"}, {"Out": "h"})
    p.op("rnn_memory_helper", {"X": "h"}, {"Out": "step"}, dtype=5)
    p.at = 0
    taken = {"inputs": [x], "initial_states": [h0], "parameters": [w, u]}
    outs = {"outputs": [p.var("step", [5, -1, 4])]}
    attributes = {"ex_states": ["before"], "states": ["h"], "has_states": True, "reverse": reverse, "sub_block": wire.Block(inside)}  # fmt: skip
    p.op("recurrent", taken, {**outs, "step_scopes": [p.var("scopes", kind=wire.STEP_SCOPES)]}, **attributes)
    p.op("square", {"X": "step"}, {"Out": p.var("squared", [5, -1, 4])})
    p.op("mean", {"X": "squared"}, {"Out": p.var("loss", [1])})
    if trained:
        p.start("loss")
        p.grads("mean", {"X": "squared"}, {"Out": "loss"}, {"squared"})
        p.grads("square", {"X": "step"}, {"Out": "squared"}, {"step"})
        # What its own block says is nothing that we need.
        p.grads("recurrent", taken, outs, {"w", "u", "h0"}, **{**attributes, "sub_block": wire.Block(p.block())})
        p.sgd("w", "u")
    return p


def _steps(x, h, w, u, reverse):
    found = []
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        h = proa.tanh(proa.matmul(x[t], w) + proa.matmul(h, u))
        found.append(h)
    return proa.stack(found[::-1] if reverse else found)


@pytest.mark.parametrize("reverse", [False, True])
def test_static_rnn_trains(reverse):
    state = {"w": _R.randn(3, 4).astype("float32"), "u": _R.randn(4, 4).astype("float32")}
    w, u = (proa.create_parameter(v.shape, "float32") for v in state.values())
    w.set_value(state["w"]), u.set_value(state["u"])
    with static.scope_guard(static.Scope()):
        program, executor = _static_rnn(reverse).read(state), static.Executor()
        for n in (2, 1, 3):
            x, h0 = _R.randn(5, n, 3).astype("float32"), _R.randn(n, 4).astype("float32")
            start = proa.to_tensor(h0, stop_gradient=False)
            out = _steps(proa.to_tensor(x), start, w, u, reverse)
            loss = (out * out).mean()
            loss.backward()
            fetched = executor.run(program, feed={"x": x, "h0": h0}, fetch_list=["loss", "step", "h0@GRAD"])
            np.testing.assert_allclose(fetched[0].reshape(()), loss.numpy(), rtol=1e-5)
            np.testing.assert_allclose(fetched[1], out.numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(fetched[2], start.grad.numpy(), rtol=1e-4, atol=1e-6)
            for p in (w, u):
                p.set_value(p - _RATE * p.grad)
                p.clear_gradient()
        found = {p.name: p.numpy() for p in program.all_parameters()}
        np.testing.assert_allclose(found["w"], w.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found["u"], u.numpy(), rtol=1e-4, atol=1e-6)


def test_static_rnn_without_gradients_is_trained_further():
    state = {"w": _R.randn(3, 4).astype("float32"), "u": _R.randn(4, 4).astype("float32")}
    with static.scope_guard(static.Scope()):
        program, executor = _static_rnn(False, trained=False).read(state), static.Executor()
        feed = {"x": _R.randn(5, 2, 3).astype("float32"), "h0": _R.randn(2, 4).astype("float32")}
        with static.program_guard(program, static.Program()):
            proa.optimizer.SGD(0.5).minimize(program.global_block().var("loss"))
        losses = [executor.run(program, feed=feed, fetch_list=["loss"])[0].item() for _ in range(20)]
        assert losses[-1] < 0.8 * losses[0]


def test_static_rnn_that_is_none():
    """What a file may say wrongly of it is an error that says what."""
    for change, says in [
        (lambda op: op["attributes"].update(states=["h", "c"]), "2 states, 1 of the step before"),
        (lambda op: op["inputs"].update(inputs=[]), "no inputs"),
        (lambda op: op["attributes"].update(states=["nowhere"]), "'nowhere' has no value"),
        (lambda op: op["attributes"].pop("sub_block"), "no block"),
        (lambda op: op["attributes"].update(sub_block=wire.Block(7)), "no block 7"),
        (lambda op: op["inputs"].update(inputs=["loss"]), "'loss' has no value"),
    ]:
        p = _static_rnn(False, trained=False)
        change(next(op for op in p.blocks[0]["ops"] if op["type"] == "recurrent"))
        with pytest.raises((RuntimeError, ValueError), match=says):
            static.deserialize_program(wire.program(p.blocks, 1_008_000, {}))


def _dynamic_rnn():
    """The shapes of a DynamicRNN: h = tanh(x w + h u) for each sequence, from its own h0; the last h of each, and a loss of all."""
    p = Program()
    p.fed("x", [-1, 3], lod_level=1), p.fed("h0", [-1, 4])
    p.parameter("w", [3, 4]), p.parameter("u", [4, 4])
    p.op("lod_rank_table", {"X": "x"}, {"Out": p.var("table", kind=wire.RANK_TABLE)}, level=0)
    p.op("max_sequence_len", {"RankTable": "table"}, {"Out": p.var("n", [1], "int64")})
    p.op("lod_tensor_to_array", {"X": "x", "RankTable": "table"}, {"Out": p.var("xs", [-1, 3], kind=wire.TENSOR_ARRAY)})
    p.op("reorder_lod_tensor_by_rank", {"X": "h0", "RankTable": "table"}, {"Out": p.var("h0r", [-1, 4])})
    p.op("fill_constant", {}, {"Out": p.var("i", [1], "int64")}, shape=[1], value=0.0, dtype=3)
    p.op("write_to_array", {"X": "h0r", "I": "i"}, {"Out": p.var("memory", [-1, 4], kind=wire.TENSOR_ARRAY)})
    p.var("outs", [-1, 4], kind=wire.TENSOR_ARRAY)
    p.op("less_than", {"X": "i", "Y": "n"}, {"Out": p.var("goes_on", [1], "bool")}, axis=-1)
    p.at = inside = p.block()
    for name in ("before", "shorter", "a", "b", "c", "h"):
        p.var(name, [-1, 4])
    p.op("read_from_array", {"X": "xs", "I": "i"}, {"Out": p.var("step", [-1, 3])})
    p.op("read_from_array", {"X": "memory", "I": "i"}, {"Out": "before"})
    p.op("shrink_rnn_memory", {"X": "before", "RankTable": "table", "I": "i"}, {"Out": "shorter"})
    p.op("mul", {"X": "step", "Y": "w"}, {"Out": "a"}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("mul", {"X": "shorter", "Y": "u"}, {"Out": "b"}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("elementwise_add", {"X": "a", "Y": "b"}, {"Out": "c"}, axis=-1)
    p.op("tanh", {"X": "c"}, {"Out": "h"})
    p.op("write_to_array", {"X": "h", "I": "i"}, {"Out": "outs"})
    p.op("increment", {"X": "i"}, {"Out": "i"}, step=1.0)
    p.op("write_to_array", {"X": "h", "I": "i"}, {"Out": "memory"})
    p.op("less_than", {"X": "i", "Y": "n"}, {"Out": "goes_on"}, axis=-1)
    p.at = 0
    taken = {"X": ["xs", "memory", "w", "u", "table", "n", "i"]}
    made = {"Out": ["outs", "memory", "i", "goes_on"]}
    p.op("while", {**taken, "Condition": "goes_on"}, {**made, "StepScopes": [p.var("scopes", kind=wire.STEP_SCOPES)]},
         sub_block=wire.Block(inside), is_test=False)  # fmt: skip
    p.op("array_to_lod_tensor", {"X": "outs", "RankTable": "table"}, {"Out": p.var("out", [-1, 4], lod_level=1)})
    p.op("sequence_pool", {"X": "out"}, {"Out": p.var("last", [-1, 4])}, pooltype="LAST", is_test=False, pad_value=0.0)
    p.op("square", {"X": "out"}, {"Out": p.var("squared", [-1, 4], lod_level=1)})
    p.op("mean", {"X": "squared"}, {"Out": p.var("loss", [1])})
    p.start("loss")
    p.grads("mean", {"X": "squared"}, {"Out": "loss"}, {"squared"})
    p.grads("square", {"X": "out"}, {"Out": "squared"}, {"out"})
    p.var("outs@GRAD", [-1, 4], kind=wire.TENSOR_ARRAY), p.var("memory@GRAD", [-1, 4], kind=wire.TENSOR_ARRAY)
    p.var("xs@GRAD", [-1, 3], kind=wire.TENSOR_ARRAY), p.var("h0r@GRAD", [-1, 4]), p.var("x@GRAD", [-1, 3], lod_level=1)
    p.op("lod_tensor_to_array", {"X": "out@GRAD", "RankTable": "table"}, {"Out": "outs@GRAD"})
    wanted = {"xs", "memory", "w", "u"}
    p.var("w@GRAD", [3, 4]), p.var("u@GRAD", [4, 4])
    p.op("while_grad", {**taken, **made, "Out@GRAD": ["outs@GRAD"]},
         {"X@GRAD": [f"{n}@GRAD" if n in wanted else "@EMPTY@" for n in taken["X"]]}, sub_block=wire.Block(p.block()))  # fmt: skip
    p.op("fill_constant", {}, {"Out": p.var("zero", [1], "int64")}, shape=[1], value=0.0, dtype=3)
    p.op("read_from_array", {"X": "memory@GRAD", "I": "zero"}, {"Out": "h0r@GRAD"})
    p.grads("reorder_lod_tensor_by_rank", {"X": "h0", "RankTable": []}, {"Out": "h0r"}, {"h0"})
    p.op("array_to_lod_tensor", {"X": "xs@GRAD", "RankTable": "table"}, {"Out": "x@GRAD"})
    p.sgd("w", "u")
    return p


def test_dynamic_rnn_trains():
    state = {"w": _R.randn(3, 4).astype("float32"), "u": _R.randn(4, 4).astype("float32")}
    w, u = (proa.create_parameter(v.shape, "float32") for v in state.values())
    w.set_value(state["w"]), u.set_value(state["u"])
    with static.scope_guard(static.Scope()):
        program, executor = _dynamic_rnn().read(state), static.Executor()
        for lengths in ([2, 4, 1], [3, 3], [1], [1, 1, 5, 2]):
            x, h0 = _R.randn(sum(lengths), 3).astype("float32"), _R.randn(len(lengths), 4).astype("float32")
            rows, start = (proa.to_tensor(v, stop_gradient=False) for v in (x, h0))
            ends = np.cumsum(lengths)
            parts = [
                _steps(rows[end - n : end].unsqueeze(1), start[k : k + 1], w, u, False).squeeze(1)
                for k, (n, end) in enumerate(zip(lengths, ends, strict=True))
            ]
            out = proa.concat(parts)
            loss = (out * out).mean()
            loss.backward()
            feed = {"x": fluid.create_lod_tensor(x, [lengths]), "h0": h0}
            names = ["loss", "out", "last", "h0@GRAD", "x@GRAD"]
            got = [np.asarray(v) for v in executor.run(program, feed=feed, fetch_list=names, return_numpy=False)]
            np.testing.assert_allclose(got[0].reshape(()), loss.numpy(), rtol=1e-5)
            np.testing.assert_allclose(got[1], out.numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(got[2], np.stack([p.numpy()[-1] for p in parts]), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(got[3], start.grad.numpy(), rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(got[4], rows.grad.numpy(), rtol=1e-4, atol=1e-6)
            for p in (w, u):
                p.set_value(p - _RATE * p.grad)
                p.clear_gradient()
        found = {p.name: p.numpy() for p in program.all_parameters()}
        np.testing.assert_allclose(found["w"], w.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found["u"], u.numpy(), rtol=1e-4, atol=1e-6)


def _if_else():
    """What IfElse of 1.x writes: rows of a mask in one block, the others in another one, which run where there are rows of the mask."""
    p = Program()
    p.fed("x", [-1, 3])
    p.parameter("w", [3, 2]), p.parameter("u", [3, 2])
    p.op("fill_constant", {}, {"Out": p.var("limit", [1])}, shape=[1], value=0.0, dtype=5)
    p.op("reduce_sum", {"X": "x"}, {"Out": p.var("total", [-1, 1])}, dim=[1], keep_dim=True, reduce_all=False)
    p.op("greater_than", {"X": "total", "Y": "limit"}, {"Out": p.var("mask", [-1, 1], "bool")}, axis=-1)
    p.op("split_lod_tensor", {"X": "x", "Mask": "mask"},
         {"OutTrue": p.var("yes", [-1, 3]), "OutFalse": p.var("no", [-1, 3])}, level=0)  # fmt: skip
    for rows, weight, out in (("yes", "w", "doubled"), ("no", "u", "turned")):
        p.var(out, [-1, 2])
        inside = p.block()
        scope = p.var(f"{out}.scope", kind=wire.STEP_SCOPES)
        p.op("conditional_block", {"Cond": "mask", "Input": [rows, weight]}, {"Out": out, "Scope": scope},
             sub_block=wire.Block(inside), is_scalar_condition=False)  # fmt: skip
        p.at = inside
        p.op(
            "mul", {"X": rows, "Y": weight}, {"Out": p.var(f"{out}.rows", [-1, 2])}, x_num_col_dims=1, y_num_col_dims=1
        )
        p.op("scale", {"X": f"{out}.rows"}, {"Out": out}, scale=2.0 if out == "doubled" else -1.0, bias=0.0)
        p.at = 0
    p.op("merge_lod_tensor", {"X": "x", "Mask": "mask", "InTrue": "doubled", "InFalse": "turned"},
         {"Out": p.var("out", [-1, 2])}, level=0)  # fmt: skip
    return p


def test_if_else():
    state = {"w": _R.randn(3, 2).astype("float32"), "u": _R.randn(3, 2).astype("float32")}
    with static.scope_guard(static.Scope()):
        program, executor = _if_else().read(state), static.Executor()
        x = _R.randn(6, 3).astype("float32")
        for rows in (x, np.abs(x), -np.abs(x), x[:1]):
            (found,) = executor.run(program, feed={"x": rows}, fetch_list=["out"])
            wanted = np.where(rows.sum(1, keepdims=True) > 0, rows @ state["w"] * 2, -(rows @ state["u"]))
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
