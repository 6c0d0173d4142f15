"""Layers that 1.8 kept in fluid.contrib, against loops of NumPy."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import contrib
from proa.fluid.contrib import layers

_RNG = np.random.RandomState(3)
_BATCH, _STEPS, _WIDTH, _SIZE = 3, 4, 2, 5


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _run(build, feed):
    """(results, parameters by name) of a program of `build`."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
        outputs = list(build({name: fluid.data(name, [None, *v.shape[1:]], str(v.dtype)) for name, v in feed.items()}))
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        scope = fluid.global_scope()
        values = {
            p.name: np.array(scope.find_var(p.name).get_tensor()).astype("float64") for p in main.all_parameters()
        }
        return executor.run(main, feed=feed, fetch_list=outputs), values


def _loop(step, x, states, lengths, reverse):
    """Outputs and last states: later steps than `lengths` keep the states, and give them."""
    rows = [None] * x.shape[1]
    for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
        new = step(x[:, t], states)
        keep = np.ones(len(x), bool) if lengths is None else t < lengths
        states = [np.where(keep[:, None], n, s) for n, s in zip(new, states, strict=True)]
        rows[t] = states[0]
    return np.stack(rows, 1), states


def _lstm_step(w, b, forget_bias=1.0):
    def step(x, states):
        h, c = states
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
        c = c * _sigmoid(f + forget_bias) + _sigmoid(i) * np.tanh(j)
        return np.tanh(c) * _sigmoid(o), c

    return step


def _gru_step(wg, bg, wc, bc):
    def step(x, states):
        (h,) = states
        r, u = np.split(_sigmoid(np.concatenate([x, h], 1) @ wg + bg), 2, 1)
        return (u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1) @ wc + bc),)

    return step


@pytest.mark.parametrize("lengths", [None, np.array([4, 1, 2])], ids=["whole", "lengths"])
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_two_layers_in_both_directions(kind, given, lengths):
    x = _RNG.randn(_BATCH, _STEPS, _WIDTH).astype("float32")
    count = 1 if kind == "gru" else 2
    first = [_RNG.randn(_BATCH, 4, _SIZE).astype("float32") for _ in range(count)]
    feed = {"x": x, **({f"s{i}": s for i, s in enumerate(first)} if given else {})}
    if lengths is not None:
        feed["lengths"] = lengths

    def build(v):
        states = [v[f"s{i}"].transpose([1, 0, 2]) for i in range(count)] if given else [None] * count
        function = layers.basic_gru if kind == "gru" else layers.basic_lstm
        return function(
            v["x"], *states, _SIZE, num_layers=2, sequence_length=v.get("lengths"), bidirectional=True,
            param_attr=fluid.ParamAttr(name="w"), bias_attr=fluid.ParamAttr(name="b"),
        )  # fmt: skip

    got, values = _run(build, feed)
    rows, last = x.astype("float64"), []
    for k in range(2):
        outputs = []
        for reverse, way in ((False, ""), (True, "_reverse")):
            own = f"{way}_layers_{k}"
            if kind == "gru":
                step = _gru_step(*(values[f"{p}{own}_{part}"] for part in ("gate", "candidate") for p in "wb"))
            else:
                step = _lstm_step(values[f"w{own}"], values[f"b{own}"])
            states = [s[:, len(last)] if given else np.zeros([_BATCH, _SIZE]) for s in first]
            output, final = _loop(step, rows, states, lengths, reverse)
            outputs.append(output)
            last.append(final)
        rows = np.concatenate(outputs, 2)
    np.testing.assert_allclose(got[0], rows, 1e-5, 1e-5)
    for i in range(count):
        np.testing.assert_allclose(got[1 + i], np.stack([f[i] for f in last]), 1e-5, 1e-5)


def test_steps_first():
    x = _RNG.randn(_STEPS, _BATCH, _WIDTH).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        out, last = layers.basic_gru(fluid.data("x", [_STEPS, None, _WIDTH]), None, _SIZE, batch_first=False)
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        out, last = executor.run(main, feed={"x": x}, fetch_list=[out, last])
    assert out.shape == (_STEPS, _BATCH, _SIZE)
    np.testing.assert_allclose(out[-1], last[0], 1e-6)


def test_units():
    feed = {name: _RNG.randn(_BATCH, n).astype("float32") for name, n in (("x", _WIDTH), ("h", _SIZE), ("c", _SIZE))}

    def build(v):
        gru = layers.BasicGRUUnit("gru", _SIZE, fluid.ParamAttr(name="g"), fluid.ParamAttr(name="gb"))
        lstm = layers.BasicLSTMUnit(
            "lstm", _SIZE, fluid.ParamAttr(name="l"), fluid.ParamAttr(name="lb"), forget_bias=0.5
        )
        return [gru(v["x"], v["h"]), *lstm(v["x"], v["h"], v["c"])]

    got, values = _run(build, feed)
    step = _gru_step(values["g_gate"], values["gb_gate"], values["g_candidate"], values["gb_candidate"])
    np.testing.assert_allclose(got[0], step(feed["x"], [feed["h"]])[0], 1e-5, 1e-5)
    want = _lstm_step(values["l"], values["lb"], 0.5)(feed["x"], [feed["h"], feed["c"]])
    for a, b in zip(got[1:], want, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-5)


def test_slots():
    x = _RNG.randn(2, 3, 4).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        w, b = (fluid.ParamAttr(name=n) for n in ("slots_w", "slots_b"))
        y = layers.batch_fc(fluid.data("x", [2, None, 4]), [2, 4, 5], w, [2, 5], b, act="relu")
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        fluid.global_scope().find_var("slots_b").get_tensor().set(np.ones((2, 5), "float32"), fluid.CPUPlace())
        weight = np.array(fluid.global_scope().find_var("slots_w").get_tensor())
        np.testing.assert_allclose(
            executor.run(main, feed={"x": x}, fetch_list=[y])[0], np.maximum(x @ weight + 1, 0), 1e-5
        )
        with pytest.raises(ValueError, match="batch_fc: input must be"):
            layers.batch_fc(fluid.data("z", [3, None, 4]), [2, 4, 5], None, [2, 5], None)


@pytest.mark.parametrize(
    ("functors", "want"),
    [
        (["elementwise_add", "relu"], lambda x, y: x + np.maximum(y, 0)),
        (["relu", "elementwise_add"], lambda x, y: np.maximum(x + y, 0)),
        ("elementwise_mul,scale", lambda x, y: x * (y * 0.5)),
        ("scale,elementwise_mul", lambda x, y: x * y * 0.5),
        (["tanh", "elementwise_add"], lambda x, y: np.tanh(x + y)),
    ],
)
def test_two_functions(functors, want):
    x, y = _RNG.randn(2, 3, 4).astype("float32"), _RNG.randn(3).astype("float32")
    got = layers.fused_elemwise_activation(proa.to_tensor(x), proa.to_tensor(y), functors, axis=1, scale=0.5)
    np.testing.assert_allclose(got.numpy(), want(x, y[:, None]), 1e-6)


@pytest.mark.parametrize(
    "functors", [["relu"], ["relu", "tanh"], ["elementwise_sub", "relu"], "elementwise_add,elementwise_add"]
)
def test_other_functions(functors):
    with pytest.raises(ValueError, match="functor_list must be"):
        layers.fused_elemwise_activation(proa.ones([2]), proa.ones([2]), functors)


def test_columns():
    x = [_RNG.randn(2, 5).astype("float32") for _ in range(3)]
    tensors = [proa.to_tensor(v) for v in x]
    for start, length in ((0, -1), (1, 2), (-2, 2), (-2, -1), (2, 1)):
        end = None if length < 0 or start + length == 0 else start + length
        parts = [v[:, start:end] for v in x]
        np.testing.assert_array_equal(layers.partial_concat(tensors, start, length).numpy(), np.concatenate(parts, 1))
        np.testing.assert_allclose(layers.partial_sum(tensors, start, length).numpy(), sum(parts), 1e-6)
    with pytest.raises(ValueError, match="partial_sum: input must be"):
        layers.partial_sum([proa.ones([2])])


def test_rows_in_a_random_order():
    x = np.arange(24, dtype="float32").reshape(3, 4, 2)
    proa.seed(1)
    got = layers.shuffle_batch(proa.to_tensor(x)).numpy()
    assert got.shape == x.shape and not (got == x).all()
    rows = got.reshape(-1, 2)
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], x.reshape(-1, 2))


def test_boxes_that_stay_and_their_numbers():
    boxes = proa.to_tensor([[[0.0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]])
    rows, index = layers.multiclass_nms2(
        boxes, proa.to_tensor([[[0.5, 0.75, 0.25]]]), 0.1, -1, -1, background_label=-1, return_index=True
    )
    assert rows[:, 1].tolist() == [0.75, 0.25] and index.flatten().tolist() == [1, 2]


def test_parts_of_batches(monkeypatch):
    reader = lambda: iter(range(7))
    for own in range(3):
        monkeypatch.setenv("PADDLE_TRAINERS_NUM", "3")
        monkeypatch.setenv("PADDLE_TRAINER_ID", str(own))
        assert list(contrib.reader.distributed_batch_reader(reader)()) == [own, own + 3]
    monkeypatch.setenv("PADDLE_TRAINER_ID", "3")
    with pytest.raises(ValueError, match="PADDLE_TRAINER_ID is 3, of 3"):
        contrib.reader.distributed_batch_reader(reader)


def test_eager_mode():
    for call in (
        lambda: layers.basic_gru(proa.ones([2, 3, 4]), None, 5),
        lambda: layers.basic_lstm(proa.ones([2, 3, 4]), None, None, 5),
        lambda: layers.batch_fc(proa.ones([2, 3, 4]), [2, 4, 5], None, [2, 5], None),
    ):
        with pytest.raises(RuntimeError, match="is for programs"):
            call()
