"""PyLayer in recorded programs, static, converted and saved: they hold its backward."""

import warnings

import numpy as np
import pytest

import proa
from proa.autograd import PyLayer


def _leaf(*values, dtype="float64"):
    return proa.to_tensor(list(values), dtype, stop_gradient=False)


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 2 * x


class Straight(PyLayer):
    """Rounds; the gradient passes as it is, which no rule of an op would give."""

    @staticmethod
    def forward(ctx, x):
        return proa.round(x)

    @staticmethod
    def backward(ctx, dy):
        return dy


def test_symbolic():
    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [2], "float64")
        x.stop_gradient = False
        y = Square.apply(x) * 3
        (g,) = proa.static.gradients(y, x)
    y, g = proa.static.Executor().run(program, feed={"x": np.array([1.0, 2.0])}, fetch_list=[y, g])
    np.testing.assert_array_equal(y, [3.0, 12.0])
    np.testing.assert_array_equal(g, [6.0, 12.0])


def test_to_static_keeps_the_backward():
    @proa.jit.to_static
    def f(x):
        return Straight.apply(x) * 2

    x = _leaf(1.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            y = f(x)
            y.backward()
    assert y.tolist() == [2.0] and x.grad.tolist() == [4.0]
    with proa.no_grad():
        assert f(x).tolist() == [2.0]


def test_symbolic_with_several_outputs():
    class Parts(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = proa.exp(x)
            ctx.save_for_backward(y)
            return y, -x

        @staticmethod
        def backward(ctx, da, db):
            (y,) = ctx.saved_tensor()
            return 10 * da * y + 100 * db  # neither is the true derivative

    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [2], "float64")
        x.stop_gradient = False
        a, b = Parts.apply(x)
        (g,) = proa.static.gradients([a.sum(), (b * 3).sum()], x)
        (only_b,) = proa.static.gradients(b, x)  # da is zeros
    given = np.array([0.0, 1.0])
    g, only_b = proa.static.Executor().run(program, feed={"x": given}, fetch_list=[g, only_b])
    np.testing.assert_allclose(g, 10 * np.exp(given) + 300, rtol=1e-12)
    np.testing.assert_array_equal(only_b, [100.0, 100.0])


def test_to_static_layer_trains():
    class Net(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([1], default_initializer=proa.nn.initializer.Constant(3.0))

        def forward(self, x):
            return Straight.apply(x * self.w)

    net = proa.jit.to_static(Net())
    x = proa.to_tensor([0.5])
    for _ in range(3):
        net(x).backward()
    assert net.w.grad.tolist() == [1.5]  # of round, it would be 0


def test_to_static_where_forward_cannot_be_recorded():
    class Through(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return proa.to_tensor(np.sort(x.numpy()))

        @staticmethod
        def backward(ctx, dy):
            return dy * 5

    @proa.jit.to_static
    def f(x):
        return Through.apply(x)

    x = _leaf(2.0, 1.0)
    with pytest.warns(UserWarning, match="runs as it is written"):
        y = f(x)
    y.sum().backward()
    assert y.tolist() == [1.0, 2.0] and x.grad.tolist() == [5.0, 5.0]
    with proa.no_grad(), pytest.raises(RuntimeError, match="symbolic|record|static|program"):
        f(x)


def test_to_static_of_a_function_that_calls_another():
    inner = proa.jit.to_static(lambda x: Square.apply(x))

    @proa.jit.to_static
    def outer(x):
        return inner(x) + 1

    x = _leaf(3.0)
    y = outer(x)
    y.backward()
    assert y.tolist() == [10.0] and x.grad.tolist() == [6.0]


def test_saved_program_has_its_backward(tmp_path):
    class Net(proa.nn.Layer):
        def forward(self, x):
            return Straight.apply(x) * 2

    path = str(tmp_path / "net")
    proa.jit.save(Net(), path, input_spec=[proa.static.InputSpec([None], "float32", "x")])
    loaded = proa.jit.load(path)
    for values in ([1.4, 2.6], [0.6]):
        x = _leaf(*values, dtype="float32")
        y = loaded(x)
        y.sum().backward()
        np.testing.assert_array_equal(y.numpy(), np.round(np.float32(values)) * 2)
        assert x.grad.tolist() == [2.0] * len(values)


def test_the_graph_outlives_what_was_loaded(tmp_path):
    path = str(tmp_path / "square")
    proa.jit.save(
        proa.jit.to_static(lambda x: Square.apply(x)), path, input_spec=[proa.static.InputSpec([None], "float64", "x")]
    )
    x = _leaf(3.0, 4.0)
    y = proa.jit.load(path)(x)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]


def test_second_derivatives(tmp_path):
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = x * x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, y = ctx.saved_tensor()
            return dy * 5 * y / x + 0 * dy  # 5/3 of the true one; y leads back to this very function

    def second(f):
        x = _leaf(2.0, 3.0)
        (g,) = proa.grad(f(x).sum(), x, create_graph=True)
        (gg,) = proa.grad(g.sum(), x)
        return g.numpy(), gg.numpy()

    want = second(Cube.apply)
    path = str(tmp_path / "cube")
    converted = proa.jit.to_static(lambda x: Cube.apply(x))
    proa.jit.save(converted, path, input_spec=[proa.static.InputSpec([2], "float64", "x")])
    for f in (converted, proa.jit.load(path)):
        for a, b in zip(second(f), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [2], "float64")
        x.stop_gradient = False
        (g,) = proa.static.gradients(Cube.apply(x), x)
        (gg,) = proa.static.gradients(g, x)
    got = proa.static.Executor().run(program, feed={"x": np.array([2.0, 3.0])}, fetch_list=[g, gg])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_inside_of_a_branch_and_a_loop():
    @proa.jit.to_static
    def f(x):
        y = proa.static.nn.cond(x.sum() > 0, lambda: Straight.apply(x) * 3, lambda: x * 7)
        (i, z) = proa.static.nn.while_loop(
            lambda i, z: i < 2, lambda i, z: (i + 1, Straight.apply(z * 2)), [proa.zeros([], "int64"), y]
        )
        return z

    for value, slope in ((1.4, 12.0), (-1.0, 28.0)):
        x = _leaf(value)
        z = f(x)
        z.backward()
        assert x.grad.tolist() == [slope]


def test_what_was_kept_goes_with_the_backward():
    f = proa.jit.to_static(lambda x: Square.apply(x * 1))
    x = _leaf(3.0)
    y = f(x)
    y.backward()
    with pytest.raises(RuntimeError, match="backward a second time|freed|released"):
        y.backward()


def test_unused_outputs_and_other_arguments():
    class Pair(PyLayer):
        @staticmethod
        def forward(ctx, tensors, scale=2.0, index=None):
            a, b = tensors
            return a * scale, index + 1, [b * 3]

        @staticmethod
        def backward(ctx, da, dindex, db):
            return [da * 10, db[0] * 100], None

    @proa.jit.to_static
    def f(a, b, index):
        first, second, (third,) = Pair.apply([a, b], scale=4.0, index=index)
        return first, second

    a, b = _leaf(1.0), _leaf(2.0)
    first, second = f(a, b, proa.to_tensor([5]))
    first.backward()
    assert (first.tolist(), second.tolist()) == ([4.0], [6])
    assert a.grad.tolist() == [10.0] and b.grad.tolist() == [0.0]
