"""What walks along sequences in 1.x programs: against loops in NumPy, forward and by differences."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.fluid import layers

_RNG = np.random.RandomState(2)
LENGTHS = [3, 1, 4]


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _split(x):
    ends = np.cumsum(LENGTHS)
    return [x[e - n : e] for e, n in zip(ends, LENGTHS, strict=True)]


def _lstm(x, w, b, reverse, peepholes):
    size = w.shape[0]
    out = []
    for s in _split(x):
        h = c = np.zeros(size)
        rows = []
        for row in s[::-1] if reverse else s:
            g = row + h @ w + b[0, : 4 * size]
            a, i, f, o = (g[k * size : (k + 1) * size] for k in range(4))
            p = [b[0, (4 + k) * size : (5 + k) * size] if peepholes else 0.0 for k in range(3)]
            i, f = _sigmoid(i + p[0] * c), _sigmoid(f + p[1] * c)
            c = np.tanh(a) * i + c * f
            h = _sigmoid(o + p[2] * c) * np.tanh(c)
            rows.append(np.concatenate([h, c]))
        out += rows[::-1] if reverse else rows
    return np.array(out)


def _gru(x, w, b, reverse, origin):
    size = w.shape[0]
    out = []
    for s in _split(x):
        h = np.zeros(size)
        rows = []
        for row in s[::-1] if reverse else s:
            g = row + b[0]
            u = _sigmoid(g[:size] + h @ w[:, :size])
            r = _sigmoid(g[size : 2 * size] + h @ w[:, size : 2 * size])
            c = np.tanh(g[2 * size :] + (r * h) @ w[:, 2 * size :])
            h = u * h + (1 - u) * c if origin else (1 - u) * h + u * c
            rows.append(h)
        out += rows[::-1] if reverse else rows
    return np.array(out)


def _run(build, columns, parameters):
    """(value, gradients of its weighted sum by the parameters): of the function and by differences of the loop."""
    x = _RNG.randn(sum(LENGTHS), columns).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        rows = fluid.layers.data("x", [columns], dtype="float32", lod_level=1)
        attrs = [
            fluid.ParamAttr(name=f"p{i}", initializer=fluid.initializer.NumpyArrayInitializer(p))
            for i, p in enumerate(parameters)
        ]
        out = build(rows, *attrs)
        assert out.lod_level == 1
        weights = np.linspace(-1, 1, out.shape[1]).astype("float32")
        loss = (out * proa.to_tensor(weights)).sum()
        named = {p.name: p for p in main.all_parameters()}
        grads = static.gradients([loss], [named[f"p{i}"] for i in range(len(parameters))])
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        feed = {"x": fluid.create_lod_tensor(x, [LENGTHS], fluid.CPUPlace())}
        value, *slopes = executor.run(main, feed=feed, fetch_list=[out, *grads])
        return x, weights, value, slopes


def _check(build, loop, columns, parameters):
    x, weights, value, slopes = _run(build, columns, parameters)
    exact = [p.astype("float64") for p in parameters]
    np.testing.assert_allclose(value, loop(x.astype("float64"), *exact), rtol=1e-4, atol=1e-5)
    for number, slope in enumerate(slopes):
        for place in list(np.ndindex(slope.shape))[:: max(1, slope.size // 7)]:
            moved = []
            for step in (1e-5, -1e-5):
                values = [p.copy() for p in exact]
                values[number][place] += step
                moved.append((loop(x.astype("float64"), *values) * weights).sum())
            assert abs(slope[place] - (moved[0] - moved[1]) / 2e-5) < 1e-3


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("peepholes", [False, True])
def test_dynamic_lstm(reverse, peepholes):
    w = _RNG.randn(3, 12).astype("float32") * 0.5
    b = _RNG.randn(1, 21 if peepholes else 12).astype("float32")
    build = lambda x, w, b: layers.concat(
        list(layers.dynamic_lstm(x, 12, param_attr=w, bias_attr=b, is_reverse=reverse, use_peepholes=peepholes)), axis=1
    )
    _check(build, lambda x, w, b: _lstm(x, w, b, reverse, peepholes), 12, [w, b])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("origin", [False, True])
def test_dynamic_gru(reverse, origin):
    w, b = _RNG.randn(3, 9).astype("float32") * 0.5, _RNG.randn(1, 9).astype("float32")
    build = lambda x, w, b: layers.dynamic_gru(x, 3, w, b, reverse, origin_mode=origin)
    _check(build, lambda x, w, b: _gru(x, w, b, reverse, origin), 9, [w, b])


def _lstmp(x, w, b, p, clip):
    size, out = p.shape[0], []
    for s in _split(x):
        r, c = np.zeros(p.shape[1]), np.zeros(size)
        for row in s:
            g = row + r @ w + b[0, : 4 * size]
            a, i, f, o = (g[k * size : (k + 1) * size] for k in range(4))
            peep = [b[0, (4 + k) * size : (5 + k) * size] for k in range(3)]
            c = np.tanh(a) * _sigmoid(i + peep[0] * c) + c * _sigmoid(f + peep[1] * c)
            c = np.clip(c, -clip, clip)
            h = _sigmoid(o + peep[2] * c) * np.tanh(c)
            r = np.tanh(h @ p)
            out.append(np.concatenate([r, c]))
    return np.array(out)


@pytest.mark.parametrize("clip", [None, 0.3])
def test_dynamic_lstmp(clip):
    """A projection of its own name beside the weight's; clipped cells."""
    w, b, p = (_RNG.randn(*shape).astype("float32") * 0.5 for shape in ([2, 12], [1, 21], [3, 2]))

    x = _RNG.randn(sum(LENGTHS), 12).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        rows = fluid.layers.data("x", [12], lod_level=1)
        found = layers.dynamic_lstmp(rows, 12, 2, param_attr=fluid.ParamAttr(name="w"), bias_attr="b", cell_clip=clip)
        executor = fluid.Executor()
        executor.run(startup)
        for name, value in (("w", w), ("b", b), ("w_proj", p)):
            fluid.global_scope().find_var(name).get_tensor().set(value)
        values = executor.run(main, feed={"x": fluid.create_lod_tensor(x, [LENGTHS])}, fetch_list=list(found))
    wanted = _lstmp(*(v.astype("float64") for v in (x, w, b, p)), clip or 1e9)
    np.testing.assert_allclose(np.concatenate(values, 1), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("origin", [False, True])
def test_gru_unit(origin):
    """Steps one by one are the rows of dynamic_gru, with the same parameters."""
    x = _RNG.randn(sum(LENGTHS), 9).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        rows = fluid.layers.data("x", [9], lod_level=1)
        state = fluid.data("h", [None, 3])
        whole = layers.dynamic_gru(rows, 3, param_attr="w", bias_attr="b", origin_mode=origin)
        row = fluid.data("row", [None, 9])
        new, kept, gate = layers.gru_unit(row, state, 9, param_attr="w", bias_attr="b", origin_mode=origin)
        with pytest.raises(ValueError, match=r"gru_unit: hidden must be \[batch, 3\]; it is \[-1, 9\]"):
            layers.gru_unit(row, row, 9)
        executor = fluid.Executor()
        executor.run(startup)
        fluid.global_scope().find_var("b").get_tensor().set(_RNG.randn(1, 9).astype("float32"))
        feed = {"x": fluid.create_lod_tensor(x, [LENGTHS]), "h": np.zeros([1, 3], "float32"), "row": x[:1]}
        (wanted,) = executor.run(main, feed=feed, fetch_list=[whole])
        h = feed["h"]
        for i in range(LENGTHS[0]):
            before = h
            h, reset, gates = executor.run(
                main, feed={**feed, "h": h, "row": x[i : i + 1]}, fetch_list=[new, kept, gate]
            )
            np.testing.assert_allclose(h[0], wanted[i], rtol=1e-5)
            np.testing.assert_allclose(reset, gates[:, 3:6] * before, rtol=1e-5)
            take = gates[:, :3]
            take = 1 - take if origin else take
            np.testing.assert_allclose(h, (1 - take) * before + take * gates[:, 6:], rtol=1e-5, atol=1e-7)


def test_other_sequences_in_the_same_rows():
    x = np.arange(6, dtype="float32").reshape(6, 1)
    main = fluid.Program()
    with fluid.program_guard(main):
        rows = fluid.layers.data("x", [1], lod_level=1)
        other = fluid.layers.data("y", [1], lod_level=1)
        results = [
            layers.sequence_pool(layers.lod_reset(rows, target_lod=[0, 1, 6]), "sum"),
            layers.sequence_pool(layers.lod_reset(rows, other), "sum"),
            layers.sequence_pool(rows, "sum"),
        ]
        feed = {"x": fluid.create_lod_tensor(x, [[4, 2]]), "y": fluid.create_lod_tensor(x, [[3, 3]])}
        found = fluid.Executor().run(main, feed=feed, fetch_list=results)
        with pytest.raises(ValueError, match="give y or target_lod"):
            layers.lod_reset(rows)
        with pytest.raises(ValueError, match=r"dynamic_lstm: input must be \[rows, 8\]; it is \[-1, 1\]"):
            layers.dynamic_lstm(rows, 8)
    assert [value[:, 0].tolist() for value in found] == [[0.0, 15.0], [3.0, 12.0], [6.0, 9.0]]
