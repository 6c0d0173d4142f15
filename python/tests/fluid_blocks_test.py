"""Blocks of 1.x programs - StaticRNN, DynamicRNN, Switch, IfElse, readers of programs - against NumPy and differences."""

import types

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.fluid import layers
from python.tests.fluid_sequences_test import LENGTHS, _check, _split

_RNG = np.random.RandomState(5)


def _tanh_rows(x, w, u, b):
    out = []
    for s in _split(x):
        h = np.zeros(w.shape[1])
        for row in s:
            h = np.tanh(row @ w + h @ u + b)
            out.append(h)
    return np.array(out)


def _dynamic(rows, w, u, b):
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(rows)
        before = rnn.memory(shape=[3], value=0.0)
        now = layers.fc([word, before], 3, act="tanh", param_attr=[w, u], bias_attr=b)
        rnn.update_memory(before, now)
        rnn.output(now)
    return rnn()


def test_a_dynamic_net_and_its_gradients():
    w, u = _RNG.randn(4, 3).astype("float32"), _RNG.randn(3, 3).astype("float32")
    _check(_dynamic, _tanh_rows, 4, [w, u, _RNG.randn(3).astype("float32")])


def test_a_dynamic_net_with_several_inputs_and_static_ones():
    x = _RNG.randn(sum(LENGTHS), 2).astype("float32")
    fixed, first = (_RNG.randn(len(LENGTHS), 2).astype("float32") for _ in range(2))
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        rows = fluid.data("x", [None, 2], lod_level=1)
        start, bias = fluid.data("first", [None, 2]), fluid.data("fixed", [None, 2])
        rnn = layers.DynamicRNN()
        with rnn.block():
            a, b = rnn.step_input(rows), rnn.step_input(rows * 2.0)
            held, state = rnn.static_input(bias), rnn.memory(init=start, need_reorder=True)
            now = state * 0.5 + a * b + held
            rnn.update_memory(state, now)
            rnn.output(now, now * held)
        values, weighted = rnn()
        last = layers.sequence_last_step(values)
        feed = {"x": fluid.create_lod_tensor(x, [LENGTHS]), "first": first, "fixed": fixed}
        got = fluid.Executor().run(fluid.default_main_program(), feed=feed, fetch_list=[values, weighted, last])
    want, ends = [], []
    for number, s in enumerate(_split(x)):
        h = first[number]
        for row in s:
            h = h * 0.5 + 2 * row * row + fixed[number]
            want.append((h, h * fixed[number]))
        ends.append(h)
    for found, wanted in zip(got, (*(np.array(v) for v in zip(*want)), np.array(ends))):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def _static_program(steps, batch, w, u):
    x = fluid.data("x", [steps, batch, 4])
    attrs = [
        fluid.ParamAttr(name=n, initializer=fluid.initializer.NumpyArrayInitializer(v)) for n, v in (("w", w), ("u", u))
    ]
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 3], batch_ref=word)
        now = layers.fc([word, before], 3, act="tanh", param_attr=attrs, bias_attr=False)
        rnn.update_memory(before, now)
        rnn.step_output(now)
    return rnn()


@pytest.mark.parametrize("batch", [2, None])
def test_a_static_net_and_its_gradients(batch):
    w, u = _RNG.randn(4, 3).astype("float32"), _RNG.randn(3, 3).astype("float32")
    x = _RNG.randn(5, 2, 4).astype("float32")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        out = _static_program(5, batch, w, u)
        grads = static.gradients([(out * out).sum()], [p for p in main.all_parameters()])
        executor = fluid.Executor()
        executor.run(startup)
        value, *slopes = executor.run(main, feed={"x": x}, fetch_list=[out, *grads])
    a, b = (proa.to_tensor(v, stop_gradient=False) for v in (w, u))
    h, rows = proa.zeros([2, 3]), []
    for row in proa.to_tensor(x):
        h = proa.tanh(row @ a + h @ b)
        rows.append(h)
    eager = proa.stack(rows)
    (eager * eager).sum().backward()
    np.testing.assert_allclose(value, eager.numpy(), rtol=1e-5, atol=1e-6)
    for slope, want in zip(slopes, (a, b), strict=True):
        np.testing.assert_allclose(slope, want.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_recurrent_blocks_say_what_is_wrong():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, rows = fluid.data("x", [2, 3]), fluid.data("rows", [None, 3], lod_level=1)
        rnn = layers.StaticRNN()
        with pytest.raises(RuntimeError, match="StaticRNN.step_input: belongs into the block"):
            rnn.step_input(x)
        with rnn.step():
            rnn.output(rnn.step_input(x))
            with pytest.raises(ValueError, match="give init, or shape and batch_ref"):
                rnn.memory()
            with pytest.raises(ValueError, match="the first dim is the number of steps"):
                rnn.step_input(rows)
        with pytest.raises(ValueError, match="DynamicRNN: the step gives nothing"), layers.DynamicRNN().block():
            pass
        other = layers.DynamicRNN()
        with other.block():
            with pytest.raises(RuntimeError, match="call step_input before it"):
                other.memory(shape=[3])
            with pytest.raises(ValueError, match="is no memory of this net"):
                other.update_memory(x, x)
            other.output(other.step_input(rows))
    with pytest.raises(RuntimeError, match="in eager mode write a loop"), layers.StaticRNN().step():
        pass


def test_steps_use_values_from_outside():
    """With their gradients, where callers have them by name, in a list, or as an attribute."""
    x, rows = np.float32([[1, 2], [3, 4]]), np.float32([[1, 1], [2, 0], [0, 3]])
    for kept in (lambda v: v, lambda v: [[v]], lambda v: types.SimpleNamespace(own=v)):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            a = fluid.layers.data("a", [2, 2], append_batch_size=False, stop_gradient=False)
            b = fluid.layers.data("b", [2], lod_level=1)
            held = kept(layers.reduce_sum(a * a, dim=0))
            get = lambda: held.own if hasattr(held, "own") else held[0][0] if isinstance(held, list) else held
            rnn = layers.StaticRNN()
            with rnn.step():
                rnn.output(rnn.step_input(a) * get())
            one = rnn()
            dynamic = layers.DynamicRNN()
            with dynamic.block():
                dynamic.output(dynamic.step_input(b) + get())
            two = dynamic()
            (slope,) = proa.static.gradients([layers.reduce_sum(one) + layers.reduce_sum(two)], [a])
            feed = {"a": x, "b": fluid.create_lod_tensor(rows, [[2, 1]])}
            found = fluid.Executor().run(fluid.default_main_program(), feed=feed, fetch_list=[one, two, slope])
        squares = (x * x).sum(0)
        np.testing.assert_allclose(found[0], x * squares)
        np.testing.assert_allclose(found[1], rows + squares)
        np.testing.assert_allclose(found[2], squares + 2 * x * (x.sum(0) + 3), rtol=1e-6)


def test_a_switch_writes_in_one_case():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        step = fluid.data("step", [1])
        rate = layers.create_global_var([1], 0.0, "float32", persistable=True, name="rate")
        count = layers.fill_constant([1], "float32", 0.0)
        with layers.Switch() as switch:
            with switch.case(step < 3.0):
                layers.assign(step * 0.1, rate)
                layers.increment(count)
            with switch.case(step < 6.0):
                layers.assign(layers.fill_constant([1], "float32", 5.0), rate)
            with switch.default():
                layers.fill_constant([1], "float32", 9.0, out=rate)
        executor = fluid.Executor()
        executor.run(startup)
        for value, want, counted in ((1.0, 0.1, 1), (3.0, 5.0, 0), (5.0, 5.0, 0), (7.0, 9.0, 0)):
            found = executor.run(main, feed={"step": np.float32([value])}, fetch_list=[rate, count])
            np.testing.assert_allclose(np.array(found).ravel(), [want, counted], rtol=1e-6)
        with pytest.raises(ValueError, match="no case before"), layers.Switch().default():
            pass
        with pytest.raises(TypeError, match="must be bool"), layers.Switch().case(step):
            pass


def test_parts_of_a_batch():
    x = np.float32([[1, 2], [-3, 4], [5, -6], [-7, 8]])
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        rows = fluid.data("x", [None, 2])
        rows.stop_gradient = False
        choice = layers.IfElse(layers.reduce_sum(rows, 1, keep_dim=True) > 0.0)
        with choice.true_block():
            choice.output(choice.input(rows) * 10.0)
        with choice.false_block():
            choice.output(choice.input(rows) ** 2)
        (out,) = choice()
        (slope,) = static.gradients([out.sum()], [rows])
        for part in (x, x[:1], x[3:], np.zeros([0, 2], "float32")):
            positive = part.sum(1, keepdims=True) > 0
            value, gradient = fluid.Executor().run(fluid.default_main_program(), {"x": part}, [out, slope])
            np.testing.assert_allclose(value, np.where(positive, part * 10, part**2))
            np.testing.assert_allclose(gradient, np.where(positive, 10, 2 * part))
        with pytest.raises(ValueError, match="give 0 and 0 outputs"):
            layers.IfElse(rows[:, :1] > 0.0)()


@pytest.mark.parametrize("kind", ["py_reader", "by_data", "from_generator"])
def test_readers_feed_the_program(kind):
    batches = [(np.full([2, 3], n, "float32"), np.full([2, 1], n)) for n in range(3)]
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        if kind == "py_reader":
            reader = layers.py_reader(8, [(-1, 3), (-1, 1)], ["float32", "int64"])
            x, label = layers.read_file(reader)
            reader.decorate_paddle_reader(lambda: ([(a[0], b[0]), (a[1], b[1])] for a, b in batches))
        else:
            x, label = fluid.data("x", [None, 3]), fluid.data("label", [None, 1], dtype="int64")
            if kind == "by_data":
                reader = layers.create_py_reader_by_data(8, [x, label])
            else:
                reader = fluid.io.DataLoader.from_generator([x, label], capacity=8, iterable=False)
            reader.decorate_batch_generator(lambda: iter(batches))
        total = layers.reduce_sum(x) + layers.reduce_sum(layers.cast(label, "float32"))
        executor = fluid.Executor()
        for _ in range(2):
            found = []
            reader.start()
            with pytest.raises(fluid.core.EOFException):
                while True:
                    found.append(executor.run(main, fetch_list=[total])[0].item())
            reader.reset()
            assert found == [0.0, 8.0, 16.0]
        by_hand = executor.run(main, feed={x.name: batches[1][0], label.name: batches[1][1]}, fetch_list=[total])
        assert by_hand[0].item() == 8.0


def test_what_assign_writes():
    """An empty tensor, one of no dims, one of other dims: each is what was assigned from then on, with its gradient and name."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
        empty = layers.create_tensor("float32", name="made")
        layers.assign(x * 2.0, empty)
        scalar = proa.zeros([])
        layers.assign(layers.reduce_sum(x), scalar)
        row = layers.fill_constant([4], "float32", 1.0)
        layers.assign(x + 1.0, row)
        loss = layers.reduce_sum(empty * empty) + layers.reduce_sum(row) + scalar
        (slope,) = static.gradients([loss], [x])
        value = np.arange(6, dtype="float32").reshape(2, 3)
        executor = fluid.Executor()
        found = executor.run(fluid.default_main_program(), feed={"x": value}, fetch_list=[empty, scalar, row, slope])
    for got, want in zip(found, (value * 2, 15.0, value + 1, 8 * value + 2), strict=True):
        np.testing.assert_array_equal(got, want)
    assert empty.name == "made"
    with fluid.dygraph.guard():
        made = layers.create_tensor("float32")
        layers.assign(proa.ones([2]), made)
        assert made.tolist() == [1.0, 1.0]
