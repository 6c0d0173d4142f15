"""Cells of 1.8's programs and the loop over them, and its names of boxes, against loops of NumPy and the functions they name."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.fluid import layers

_RNG = np.random.RandomState(11)
_BATCH, _STEPS, _WIDTH, _SIZE = 3, 4, 2, 5


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gru(x, wg, bg, wc, bc, lengths=None):
    h, rows = np.zeros([len(x), _SIZE]), []
    for t in range(x.shape[1]):
        g = _sigmoid(np.concatenate([x[:, t], h], 1) @ wg + bg)
        r, u = g[:, :_SIZE], g[:, _SIZE:]
        c = np.tanh(np.concatenate([x[:, t], r * h], 1) @ wc + bc)
        new = u * h + (1 - u) * c
        h = new if lengths is None else np.where((t < lengths)[:, None], new, h)
        rows.append(new if lengths is None else np.where((t < lengths)[:, None], new, 0))
    return np.stack(rows, 1), h


def _lstm(x, w, b):
    h = c = np.zeros([len(x), _SIZE])
    rows = []
    for t in range(x.shape[1]):
        i, j, f, o = np.split(np.concatenate([x[:, t], h], 1) @ w + b, 4, 1)
        c = c * _sigmoid(f + 1.0) + _sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * _sigmoid(o)
        rows.append(h)
    return np.stack(rows, 1), h, c


def _attr(name, value):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(value))


def _run(build, feed):
    """What a program of `build` gives, and the gradients of the first output's sum by all parameters, by name."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        outputs = list(build({name: fluid.data(name, [None, *v.shape[1:]], str(v.dtype)) for name, v in feed.items()}))
        parameters = {p.name: p for p in main.all_parameters()}
        grads = static.gradients([outputs[0].sum()], list(parameters.values()))
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        scope = fluid.global_scope()
        values = {name: np.array(scope.find_var(name).get_tensor()).astype("float64") for name in parameters}
        found = executor.run(main, feed=feed, fetch_list=[*outputs, *grads])
    return found[: len(outputs)], values, dict(zip(parameters, found[len(outputs) :], strict=True))


def _check_gradients(sum_of, values, grads):
    for name, grad in grads.items():
        for place in list(np.ndindex(grad.shape))[:: max(1, grad.size // 5)]:
            moved = []
            for step in (1e-5, -1e-5):
                other = {key: v.copy() for key, v in values.items()}
                other[name][place] += step
                moved.append(sum_of(other))
            assert abs(grad[place] - (moved[0] - moved[1]) / 2e-5) < 2e-3, (name, place)


_X = _RNG.randn(_BATCH, _STEPS, _WIDTH).astype("float32")


def test_gru_cells_and_their_gradients():
    (outputs, last), values, grads = _run(lambda d: layers.rnn(layers.GRUCell(_SIZE, "w", "b"), d["x"]), {"x": _X})
    assert sorted(values) == ["b_candidate", "b_gate", "w_candidate", "w_gate"]
    loop = lambda v: _gru(_X.astype("float64"), v["w_gate"], v["b_gate"], v["w_candidate"], v["b_candidate"])
    want, end = loop(values)
    np.testing.assert_allclose(outputs, want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, end, rtol=1e-4, atol=1e-6)
    _check_gradients(lambda v: loop(v)[0].sum(), values, grads)


def test_lengths_keep_the_states():
    lengths = np.int64([4, 1, 2])
    build = lambda d: layers.rnn(layers.GRUCell(_SIZE, "w", "b"), d["x"], sequence_length=d["n"])
    (outputs, last), v, _ = _run(build, {"x": _X, "n": lengths})
    want, end = _gru(_X, v["w_gate"], v["b_gate"], v["w_candidate"], v["b_candidate"], lengths)
    np.testing.assert_allclose(outputs, want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, end, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("is_reverse", [False, True])
def test_lstm_cells_and_their_gradients(time_major, is_reverse):
    b = _RNG.randn(4 * _SIZE).astype("float32")

    def build(d):
        x = layers.transpose(d["x"], [1, 0, 2]) if time_major else d["x"]
        cell = layers.LSTMCell(_SIZE, "w", _attr("b", b))
        rows, (h, c) = layers.rnn(cell, x, time_major=time_major, is_reverse=is_reverse)
        return [layers.transpose(rows, [1, 0, 2]) if time_major else rows, h, c]

    (outputs, h, c), values, grads = _run(build, {"x": _X})

    def loop(v):
        x = _X.astype("float64")
        rows, *states = _lstm(x[:, ::-1] if is_reverse else x, v["w"], v["b"])
        return rows[:, ::-1] if is_reverse else rows, *states

    for found, want in zip((outputs, h, c), loop(values), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)
    _check_gradients(lambda v: loop(v)[0].sum(), values, grads)


def test_a_cell_of_the_program():
    class Cell(layers.RNNCell):
        @property
        def state_shape(self):
            return [_WIDTH]

        def call(self, inputs, states, scale=1.0):
            return states * scale, states + inputs

    with fluid.program_guard(fluid.Program()):
        x = fluid.data("x", [None, _STEPS, _WIDTH])
        outputs, last = layers.rnn(Cell(), x, scale=2.0)
        found = fluid.Executor().run(fluid.default_main_program(), feed={"x": _X}, fetch_list=[outputs, last])
    sums = np.cumsum(_X, 1)
    np.testing.assert_allclose(found[0], 2 * (sums - _X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], sums[:, -1], rtol=1e-5, atol=1e-5)


def test_one_step_of_an_lstm():
    x, h, c = (_RNG.randn(_BATCH, n).astype("float32") for n in (_WIDTH, _SIZE, _SIZE))
    build = lambda d: layers.lstm_unit(d["x"], d["h"], d["c"], 0.5, param_attr="w", bias_attr="b")
    (state, cell), values, grads = _run(build, {"x": x, "h": h, "c": c})

    def step(v):
        i, f, o, g = np.split(np.concatenate([x, h], 1) @ v["w"] + v["b"], 4, 1)
        new = _sigmoid(f + 0.5) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(new), new

    for found, want in zip((state, cell), step(values), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)
    _check_gradients(lambda v: step(v)[0].sum(), values, grads)


def test_wrong_cells():
    with pytest.raises(RuntimeError, match=r"GRUCell: is for programs.*paddle\.nn\.GRUCell"):
        layers.rnn(layers.GRUCell(3), proa.ones([1, 2, 3]))
    with pytest.raises(RuntimeError, match="lstm_unit: works on programs"):
        layers.lstm_unit(proa.ones([1, 2]), proa.ones([1, 2]), proa.ones([1, 2]))
    with pytest.raises(NotImplementedError, match="RNNCell does not define call"):
        layers.RNNCell()(proa.ones([1]), proa.ones([1]))
    with fluid.program_guard(fluid.Program()):
        x, h = fluid.data("x", [None, 2]), fluid.data("h", [None, 3])
        with pytest.raises(ValueError, match="lstm_unit: hidden_t_prev has 3 columns and cell_t_prev 2"):
            layers.lstm_unit(x, h, x)
        with pytest.raises(ValueError, match=r"lstm_unit: x_t must be \[batch, size\]"):
            layers.lstm_unit(fluid.data("y", [None, 2, 2]), h, h)


def test_names_of_boxes_with_the_old_order_of_arguments():
    ops = proa.vision.ops
    x = proa.to_tensor(_RNG.randn(1, 14, 2, 2).astype("float32"))
    sizes = proa.to_tensor(np.int32([[64, 48]]))
    rest = ([10, 13, 16, 30], 2, 0.01, 32)
    for got, want in zip(layers.yolo_box(x, sizes, *rest), ops.yolo_box(x, sizes, *rest), strict=True):
        assert (got.numpy() == want.numpy()).all()
    box, label = proa.to_tensor(np.float32([[[0.3, 0.4, 0.2, 0.5]]])), proa.to_tensor(np.int32([[1]]))
    rest = ([10, 13, 16, 30], [0, 1], 2, 0.7, 32)
    assert (layers.yolov3_loss(x, box, label, *rest).numpy() == ops.yolo_loss(x, box, label, *rest).numpy()).all()
    prior = proa.to_tensor(np.float32([[0.1, 0.1, 0.5, 0.6], [0.2, 0.3, 0.9, 0.8]]))
    target = proa.to_tensor(_RNG.rand(2, 2, 4).astype("float32"))
    variance = [0.1, 0.1, 0.2, 0.2]
    # `name` stands before `axis` here.
    got = layers.box_coder(prior, variance, target, "decode_center_size", True, None, 1)
    assert (got.numpy() == ops.box_coder(prior, variance, target, "decode_center_size", True, axis=1).numpy()).all()


def test_lstm_of_whole_sequences():
    x = np.random.RandomState(0).randn(5, 3, 6).astype("float32")
    for both in (False, True):
        directions = 2 if both else 1
        zeros = np.zeros([2 * directions, 3, 4], "float32")
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), static.program_guard(main, startup):
            given = [static.data(n, list(v.shape)) for n, v in (("x", x), ("h", zeros), ("c", zeros))]
            out, h, c = layers.lstm(*given, 5, 4, 2, 0.5, both, is_test=True,
                                    default_initializer=proa.nn.initializer.Constant(0.1))  # fmt: skip
            loss = out.mean()
            proa.optimizer.SGD(1.0).minimize(loss)
            executor = static.Executor()
            executor.run(startup)
            feed = {"x": x, "h": zeros, "c": zeros}
            got = [executor.run(main, feed=feed, fetch_list=[out, h, c, loss]) for _ in range(2)]
        assert got[0][0].shape == (5, 3, 4 * directions) and got[0][1].shape == got[0][2].shape == zeros.shape
        np.testing.assert_allclose(got[0][0][-1, :, :4], got[0][1][2 * directions - directions], rtol=1e-5)
        assert got[1][3] < got[0][3]  # it is trained
    with pytest.raises(ValueError, match="the last dim of input must be known"):
        with static.program_guard(static.Program()):
            layers.lstm(static.data("x", [5, 3, None]), None, None, 5, 4, 2)


def test_continuous_value_model():
    x = np.float32([[3.0, 1.0, 0.5, -2.0], [0.0, 0.0, 1.0, 2.0]])
    counts = np.float32([[7, 2], [5, 1]])
    shows, clicks = np.log(x[:, :1] + 1), np.log(x[:, 1:2] + 1)
    want = {True: np.concatenate([shows, clicks - shows, x[:, 2:]], 1), False: x[:, 2:]}
    for use in (True, False):
        t = proa.to_tensor(x, stop_gradient=False)
        y = layers.continuous_value_model(t, proa.to_tensor(counts), use)
        np.testing.assert_allclose(y.numpy(), want[use], rtol=1e-6)
        (y * 3.0).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), np.concatenate([counts, np.full([2, 2], 3.0)], 1))
        main = static.Program()
        with static.program_guard(main):
            v = static.data("v", [None, 4])
            v.stop_gradient = False
            y = layers.continuous_value_model(v, static.data("counts", [None, 2]), use)
            (grad,) = static.gradients(y * 3.0, v)
        got = static.Executor().run(main, feed={"v": x, "counts": counts}, fetch_list=[y, grad])
        np.testing.assert_allclose(got[0], want[use], rtol=1e-6)
        np.testing.assert_allclose(got[1], t.grad.numpy())
    with pytest.raises(ValueError, match=r"input must be \[N, 2 or more\]"):
        layers.continuous_value_model(proa.ones([2, 1]), proa.ones([2, 2]))
