"""While, and arrays of tensors in programs of 1.x: against loops of Python."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.fluid import layers


@pytest.fixture(autouse=True)
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        yield main


def run(fetches, **feed):
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    return executor.run(fluid.default_main_program(), feed=feed, fetch_list=fetches)


def counted(n):
    """(i, n, condition) of a loop of n turns."""
    i = layers.fill_constant([1], "int64", 0)
    return i, layers.less_than(i, n)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_sum(turns):
    n = fluid.data("n", [1], "int64")
    i, cond = counted(n)
    total = layers.fill_constant([1], "int64", 100)
    loop = layers.While(cond=cond)
    with loop.block():
        layers.increment(i, value=1, in_place=True)
        layers.assign(total + i, total)
        layers.less_than(i, n, cond=cond)
    found = run([total, i, cond], n=np.int64([turns]))
    assert [v.tolist() for v in found] == [[100 + sum(range(1, turns + 1))], [turns], [False]]


def test_values_from_outside_keep_their_gradients():
    """x ** n * w by n products; slopes of x, which is used in the block as it is, and of the parameter."""
    x = fluid.layers.data("x", [2], append_batch_size=False, stop_gradient=False)
    n = fluid.data("n", [1], "int64")
    w = layers.create_parameter([2], "float32", default_initializer=fluid.initializer.ConstantInitializer(2.0))
    square = layers.square(x)
    product = layers.elementwise_mul(w, layers.fill_constant([2], "float32", 1.0))
    i, cond = counted(n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(product * square, output=product)
        i = layers.increment(i)
        layers.less_than(x=i, y=n, cond=cond)
    loss = layers.reduce_sum(product)
    grads = static.gradients([loss], [x, w])
    value = np.float32([1.5, -0.5])
    found = run([product, *grads], x=value, n=np.int64([3]))
    np.testing.assert_allclose(found[0], 2 * value**6, rtol=1e-5)
    np.testing.assert_allclose(found[1], 12 * value**5, rtol=1e-5)
    np.testing.assert_allclose(found[2], value**6, rtol=1e-5)


def test_a_loop_trains():
    """Parameters of layers that are made in the block; the loss goes down as a loop of eager code says."""
    x = fluid.data("x", [None, 3])
    state = layers.fc(x, 4, act="tanh", param_attr="first", bias_attr=False)
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(layers.fc(state, 4, act="tanh", param_attr="turn", bias_attr=False), state)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    loss = layers.reduce_mean(layers.square(state))
    fluid.optimizer.SGD(0.5).minimize(loss)
    executor, main = fluid.Executor(), fluid.default_main_program()
    executor.run(fluid.default_startup_program())
    scope = fluid.global_scope()
    first, turn = (np.array(scope.find_var(name).get_tensor()) for name in ("first", "turn"))
    data = np.random.RandomState(0).randn(5, 3).astype("float32")
    losses = [executor.run(main, feed={"x": data}, fetch_list=[loss])[0].item() for _ in range(4)]

    proa.disable_static()
    with proa._C.eager_mode():
        a, b = (proa.to_tensor(v, stop_gradient=False) for v in (first, turn))
        for wanted in losses:
            h = proa.tanh(proa.to_tensor(data) @ a)
            for _ in range(3):
                h = proa.tanh(h @ b)
            cost = (h * h).mean()
            assert abs(cost.item() - wanted) < 1e-5
            cost.backward()
            for p in (a, b):
                p.set_value(p.detach() - 0.5 * p.grad)
                p.clear_gradient()


def test_arrays():
    """The states of a recurrence, written in a loop, read in it and after it."""
    x, n = fluid.data("x", [None, 2]), fluid.data("n", [1], "int64")
    i = layers.fill_constant([1], "int64", 0)
    states = layers.array_write(x, i)
    doubled = layers.create_array("float32")
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        before = layers.array_read(states, i)
        layers.array_write(before * 2.0, i, doubled)
        layers.increment(i)
        layers.array_write(before + 1.0, i, array=states)
        layers.less_than(i, n, cond=cond)
    last = layers.array_read(states, i)
    count = layers.array_length(states)
    joined, sizes = layers.tensor_array_to_tensor(states, axis=0, use_stack=True)
    rows, _ = layers.tensor_array_to_tensor(doubled, axis=1)
    data = np.float32([[1, 2], [3, 4], [5, 6]])
    found = run([last, count, joined, sizes, rows], x=data, n=np.int64([4]))
    assert found[0].tolist() == (data + 4).tolist() and found[1].tolist() == [5]
    assert found[2].tolist() == [(data + k).tolist() for k in range(5)] and found[3].tolist() == [1] * 5
    assert found[4].tolist() == np.concatenate([2 * (data + k) for k in range(4)], 1).tolist()


def test_items_that_are_written_again():
    x = fluid.data("x", [2])
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    items = layers.create_array("float32")
    for k in range(3):
        layers.array_write(x * float(k), layers.fill_constant([1], "int64", k), items)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.array_write(layers.array_read(items, i) + 10.0, i, items)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    found = run(
        [layers.array_read(items, 0), layers.array_read(items, 2), layers.array_length(items)], x=np.float32([1, 2])
    )
    assert [v.tolist() for v in found] == [[10.0, 10.0], [12.0, 14.0], [3]]


def test_loops_in_loops_and_cases():
    """The number of pairs (i, j) with j < i < n, of which a Switch leaves out even i."""
    n = fluid.data("n", [1], "int64")
    i, cond = counted(n)
    pairs, two = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 2)
    with layers.While(cond).block():
        j = layers.fill_constant([1], "int64", 0)
        inner = layers.less_than(j, i)
        here = layers.fill_constant([1], "int64", 0)
        with layers.While(inner).block():
            layers.assign(here + 1, here)
            layers.increment(j)
            layers.less_than(j, i, cond=inner)
        with layers.Switch() as switch:
            with switch.case(layers.equal(layers.elementwise_mod(i, two), layers.fill_constant([1], "int64", 1))):
                layers.assign(pairs + here, pairs)
            with switch.default():
                layers.assign(pairs + 1000, pairs)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    assert run([pairs], n=np.int64([6]))[0].tolist() == [1 + 3 + 5 + 3000]


def test_a_loop_in_a_case():
    """A case that does not hold: the loop ends, and what it writes stays as it was."""
    x, n = fluid.data("x", [1]), fluid.data("n", [1], "int64")
    i, cond = counted(n)
    total = layers.fill_constant([1], "float32", 1.0)
    with layers.Switch() as switch:
        with switch.case(x > 0.0):
            with layers.While(cond).block():
                layers.assign(total * 2.0, total)
                layers.increment(i)
                layers.less_than(i, n, cond=cond)
        with switch.default():
            layers.assign(total - 1.0, total)
    for value, wanted in ((1.0, [8.0, 3]), (-1.0, [0.0, 0])):
        found = run([total, i], x=np.float32([value]), n=np.int64([3]))
        assert [v.item() for v in found] == wanted


def test_a_print_in_the_block(capfd):
    n = fluid.data("n", [1], "int64")
    i, cond = counted(n)
    with layers.While(cond).block():
        layers.Print(i, message="turn", print_tensor_name=False, print_tensor_type=False, print_tensor_shape=False)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    run([i], n=np.int64([3]))
    lines = [line.strip() for line in capfd.readouterr().out.splitlines() if "data" in line]
    assert lines == ["- data: [0]", "- data: [1]", "- data: [2]"]


def test_it_is_saved(tmp_path):
    x, n = fluid.data("x", [None, 2]), fluid.data("n", [1], "int64")
    i, cond = counted(n)
    value = layers.assign(x)
    with layers.While(cond).block():
        layers.assign(layers.fc(value, 2, param_attr="w", bias_attr=False), value)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    feed = {"x": np.float32([[1, 2]]), "n": np.int64([3])}
    wanted = executor.run(fluid.default_main_program(), feed=feed, fetch_list=[value])[0]
    fluid.io.save_inference_model(str(tmp_path), ["x", "n"], [value], executor)
    loaded, names, targets = fluid.io.load_inference_model(str(tmp_path), executor)
    assert (executor.run(loaded, feed=feed, fetch_list=targets)[0] == wanted).all() and names == ["x", "n"]


def test_what_cannot_be():
    n = fluid.data("n", [1], "int64")
    i, cond = counted(n)
    with pytest.raises(TypeError, match=r"While: cond must be bool, of one element; it is \[1\] int64"):
        layers.While(i)
    with pytest.raises(TypeError, match=r"of one element; it is \[2\] bool"):
        layers.While(layers.fill_constant([2], "bool", True))
    with pytest.raises(ValueError, match="the block does not write its condition"), layers.While(cond).block():
        layers.increment(i)
    kept = layers.create_global_var([1], 0.0, "float32", persistable=True, name="kept")
    with pytest.raises(NotImplementedError, match="writes kept, which keeps its value"), layers.While(cond).block():
        layers.increment(kept)
    loop = layers.While(cond)
    with loop.block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    with pytest.raises(RuntimeError, match="has its block already"), loop.block():
        pass
    with pytest.raises(IndexError, match="the array is empty"):
        layers.array_read(layers.create_array("float32"), n)
