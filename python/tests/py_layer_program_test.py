"""PyLayer in recorded programs: static mode records its backward, to_static runs it as written."""

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
    with pytest.warns(UserWarning, match="runs as it is written"):
        y = f(x)
    y.backward()
    assert y.tolist() == [2.0] and x.grad.tolist() == [2.0]
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


def test_to_static_layer_runs_it_as_written_each_time():
    class Net(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([1], default_initializer=proa.nn.initializer.Constant(3.0))

        def forward(self, x):
            return Straight.apply(x * self.w)

    net = proa.jit.to_static(Net())
    x = proa.to_tensor([0.5])
    with pytest.warns(UserWarning, match="uses Straight, whose backward a program does not hold") as warned:
        for _ in range(3):
            net(x).backward()
    assert len(warned) == 1  # once for each kind of arguments
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
    with pytest.warns(UserWarning, match="Square"):
        y = outer(x)
    y.backward()
    assert y.tolist() == [10.0] and x.grad.tolist() == [6.0]


def test_saved_program_has_its_forward(tmp_path):
    class Net(proa.nn.Layer):
        def forward(self, x):
            return Straight.apply(x) * 2

    path = str(tmp_path / "net")
    proa.jit.save(Net(), path, input_spec=[proa.static.InputSpec([None], "float32", "x")])
    assert proa.jit.load(path)(proa.to_tensor([1.4, 2.6])).tolist() == [2.0, 6.0]
