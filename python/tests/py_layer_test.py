"""PyLayer: structures of arguments and results, in-place, higher order, errors, threads, leaks."""

import collections
import threading
import traceback

import numpy as np
import pytest

import proa
from proa.autograd import PyLayer, PyLayerContext
from proa.autograd.py_layer import once_differentiable


def _leaf(*values, dtype="float64"):
    return proa.to_tensor(list(values), dtype, stop_gradient=False)


def _plain(*values):
    return proa.to_tensor(list(values), "float64")


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 2 * x


def test_gradient():
    x = _leaf(3.0)
    y = Square.apply(x)
    assert not y.stop_gradient and not y.is_leaf
    (y * 5).backward()
    assert x.grad.tolist() == [30.0]


def test_nothing_is_recorded_without_need():
    assert Square.apply(_plain(2.0)).stop_gradient
    with proa.no_grad():
        y = Square.apply(_leaf(2.0))
    assert y.stop_gradient and y.tolist() == [4.0]


def test_any_order():
    x = _leaf(2.0)
    y = Square.apply(x) * x
    for want in (12.0, 12.0, 6.0):
        (y,) = proa.grad(y, x, create_graph=True)
        assert y.tolist() == [want]


def test_gradcheck():
    x = proa.to_tensor(np.random.default_rng(0).normal(size=(2, 3)), stop_gradient=False)
    assert proa.autograd.gradcheck(Square.apply, x)
    assert proa.autograd.gradgradcheck(Square.apply, x)


# Structures


class Nested(PyLayer):
    seen = None

    @staticmethod
    def forward(ctx, a, pair, scale, *, table, nothing=None):
        ctx.scale = scale
        assert ctx.needs_input_grad == (True, True, False, True)
        b, c = pair
        return a * scale, [b * 2, (c, None)], None, {"d": table["d"] * 3, "n": 7}, "text"

    @staticmethod
    def backward(ctx, da, dlist, ddict):
        Nested.seen = da, dlist, ddict
        return da * ctx.scale, [dlist[0] * 2, None], {"d": ddict["d"] * 3}


def test_nested_arguments_and_results():
    a, b, c, d = _leaf(1.0), _leaf(2.0), _plain(3.0), _leaf(4.0)
    out = Nested.apply(a, (b, c), 10.0, table={"d": d, "other": 1})
    assert out[2] is None and out[4] == "text" and out[3]["n"] == 7
    assert isinstance(out[1], list) and isinstance(out[1][1], tuple)
    proa.autograd.backward([out[0], out[1][0], out[3]["d"]])
    assert (a.grad.tolist(), b.grad.tolist(), d.grad.tolist()) == ([10.0], [2.0], [3.0])
    da, dlist, ddict = Nested.seen
    assert isinstance(dlist, tuple) and dlist[1][0].tolist() == [0.0] and dlist[1][1] is None
    assert ddict["n"] is None


def test_flat_gradients_of_a_list():
    class Sum(PyLayer):
        @staticmethod
        def forward(ctx, xs):
            return xs[0] + xs[1]

        @staticmethod
        def backward(ctx, dy):
            return dy, dy * 2

    x, y = _leaf(1.0), _leaf(1.0)
    Sum.apply([x, y]).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [2.0])


def test_named_tuple_keeps_its_type():
    Point = collections.namedtuple("Point", "x y")

    class Pass(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return Point(x, y * 2)  # x comes back as a new tensor

        @staticmethod
        def backward(ctx, dx, dy):
            return dx, dy * 2

    x, y = _leaf(1.0), _leaf(1.0)
    p = Pass.apply(x, y)
    assert isinstance(p, Point) and p.x is not x
    (p.x + p.y).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [2.0])


def test_a_list_that_contains_itself():
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        Square.apply(endless)


def test_differing_dtypes():
    class Mixed(PyLayer):
        @staticmethod
        def forward(ctx, x, i):
            return x.astype("float32") * 2, i + 1

        @staticmethod
        def backward(ctx, dx, di):
            assert dx.dtype == proa.float32
            assert di.dtype == proa.int64 and di.tolist() == [0]
            return dx.astype("float64") * 2, None

    x, i = _leaf(1.0), proa.to_tensor([5])
    y, j = Mixed.apply(x, i)
    assert y.dtype == proa.float32 and j.tolist() == [6] and j.stop_gradient
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_empty_and_scalar_tensors():
    for shape in ([0], [0, 3], []):
        x = proa.zeros(shape, "float64")
        x.stop_gradient = False
        Square.apply(x).sum().backward()
        assert x.grad.shape == shape


def test_a_view_as_argument():
    x = proa.to_tensor(np.arange(6.0).reshape(2, 3), stop_gradient=False)
    Square.apply(x.T[1:]).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(6.0).reshape(2, 3) * [[0, 1, 1]])


# The context


def test_materialize_grads():
    class Two(PyLayer):
        @staticmethod
        def forward(ctx, x, on):
            ctx.set_materialize_grads(on)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b)
            return a * 2

    for on in (True, False):
        seen = []
        x = _leaf(1.0)
        Two.apply(x, on)[0].backward()
        assert x.grad.tolist() == [2.0]
        assert (seen[0].tolist() == [0.0]) if on else seen[0] is None


def test_mark_non_differentiable():
    class Max(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y, z = x * 2, x * 3
            ctx.mark_non_differentiable(z)
            return y, z

        @staticmethod
        def backward(ctx, dy, dz):
            return dy * 2

    x = _leaf(1.0)
    y, z = Max.apply(x)
    assert z.stop_gradient and not y.stop_gradient
    (y * z).backward()
    assert x.grad.tolist() == [6.0]


def test_saved_tensors():
    class Keep(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            out = proa.exp(x)
            assert ctx.saved_tensor() is None and ctx.saved_tensors == ()
            ctx.save_for_backward(x, None, [out, (y,)])
            assert ctx.saved_tensor()[0].tolist() == [0.0]
            return out

        @staticmethod
        def backward(ctx, dy):
            x, none, (out, (y,)) = ctx.saved_tensors
            assert none is None and x.tolist() == [0.0]
            return dy * out, None

    x, y = _leaf(0.0), _plain(5.0)
    (g,) = proa.grad(Keep.apply(x, y), x, create_graph=True)
    (gg,) = proa.grad(g, x)
    assert gg.tolist() == [1.0]


def test_save_for_backward_takes_tensors_only():
    class Bad(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)

    with pytest.raises(TypeError, match="not int; keep other values as attributes"):
        Bad.apply(_leaf(1.0))
    for method in ("mark_not_inplace", "mark_non_differentiable"):
        with pytest.raises(TypeError, match="argument 0 must be a Tensor, not str"):
            getattr(PyLayerContext(), method)("x")


def test_change_of_a_saved_tensor():
    x = _leaf(3.0) * 1
    y = Square.apply(x)
    x.add_(_plain(1.0))
    with pytest.raises(RuntimeError, match="Square's backward was changed in place by add_"):
        y.backward()


def test_second_backward():
    x = _leaf(3.0)
    y = Square.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_context_outlives_the_graph():
    class Leak(Square):
        @staticmethod
        def forward(ctx, x):
            Leak.ctx = ctx
            ctx.x = 5
            return Square.forward(ctx, x)

    Leak.apply(_leaf(3.0))
    assert Leak.ctx.x == 5
    with pytest.raises(RuntimeError, match="the graph that this context belongs to is gone"):
        Leak.ctx.saved_tensor()


def test_context_by_itself():
    ctx = PyLayerContext()
    y = Square.forward(ctx, _plain(3.0))
    assert Square.backward(ctx, y).tolist() == [54.0]


# In place


class AddOne(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x.add_(_plain(1.0))

    @staticmethod
    def backward(ctx, dy):
        return dy * 10


def test_in_place():
    leaf = _leaf(2.0)
    x = leaf * 3
    y = AddOne.apply(x)
    assert y is x and x.tolist() == [7.0]
    (x * 1).backward()
    assert leaf.grad.tolist() == [30.0]


def test_in_place_of_a_leaf():
    with pytest.raises(RuntimeError, match="AddOne: cannot change x in place.*leaf"):
        AddOne.apply(_leaf(1.0))
    x = _leaf(1.0)
    with proa.no_grad():
        assert AddOne.apply(x) is x
    assert x.is_leaf and x.tolist() == [2.0]


def test_in_place_after_saving():
    class SaveThenChange(AddOne):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return AddOne.forward(ctx, x)

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.saved_tensor()[0]

    y = SaveThenChange.apply(_leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="changed in place by add_"):
        y.backward()


def test_saved_result_of_a_change():
    class Exp(PyLayer):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.saved_tensor()[0]

    leaf = _leaf(0.5)
    (g,) = proa.grad(Exp.apply(leaf * 2), leaf, create_graph=True)
    (gg,) = proa.grad(g, leaf)
    np.testing.assert_allclose([g.item(), gg.item()], [2 * np.exp(1), 4 * np.exp(1)])


def test_change_that_is_not_returned():
    class Hidden(PyLayer):
        @staticmethod
        def forward(ctx, x):
            x.add_(_plain(1.0))
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    with pytest.raises(RuntimeError, match="Hidden: forward changed input 0 in place"):
        Hidden.apply(_leaf(1.0) * 1)


def test_input_returned_as_it_was():
    class Reverse(PyLayer):
        @staticmethod
        def forward(ctx, x, mark):
            if mark:
                ctx.mark_not_inplace(x)
            return x

        @staticmethod
        def backward(ctx, dy):
            return -dy

    for mark in (True, False):
        x = _leaf(1.0)
        y = Reverse.apply(x, mark)
        assert y is not x and x.is_leaf
        (y * 3).backward()
        assert x.grad.tolist() == [-3.0]
        with pytest.raises(RuntimeError, match="in place"):
            y.add_(_plain(1.0))  # the elements of a leaf


def test_a_parameter_returned():
    w = _leaf(5.0)

    class Give(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return w

        @staticmethod
        def backward(ctx, dy):
            return dy * 7

    x = _leaf(1.0)
    y = Give.apply(x)
    assert y is not w and w.is_leaf
    y.backward()
    assert x.grad.tolist() == [7.0] and w.grad is None


# Errors


@pytest.mark.parametrize(
    ("result", "error", "says"),
    [
        (lambda: (), ValueError, r"Bad.backward returned 0 gradients; forward was given 2 tensors"),
        (lambda: _plain(1.0), ValueError, "returned 1 gradients; forward was given 2"),
        (lambda: (_plain(1.0), None, None), ValueError, "returned 3 gradients"),
        (lambda: (3, None), TypeError, "Bad: gradient 0 that backward returned must be a Tensor or None, not int"),
        (lambda: (_plain(1.0, 2.0), None), ValueError, r"gradient 0 .*\[2\] float64, the input was \[1\] float64"),
        (lambda: (proa.ones([1], "float32"), None), ValueError, r"\[1\] float32, the input was \[1\] float64"),
    ],
)
def test_wrong_gradients(result, error, says):
    class Bad(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, dy):
            return result()

    with pytest.raises(error, match=says):
        Bad.apply(_leaf(1.0), _leaf(2.0)).backward()


def test_gradient_of_what_needs_none_is_ignored():
    class Add(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, dy):
            return dy, proa.ones([77])

    x = _leaf(1.0)
    Add.apply(x, _plain(1.0)).backward()
    assert x.grad.tolist() == [1.0]


def test_exceptions_keep_their_traceback():
    class Oops(Exception):
        pass

    class Fails(PyLayer):
        @staticmethod
        def forward(ctx, x, where):
            ctx.where = where
            if where == "forward":
                raise Oops("in forward")
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            raise Oops("in backward")

    with pytest.raises(Oops, match="in forward") as caught:
        Fails.apply(_leaf(1.0), "forward")
    assert proa.is_grad_enabled()
    x = _leaf(1.0)
    y = Fails.apply(x, "backward")
    with pytest.raises(Oops, match="in backward") as caught:
        (y * 2).backward()
    lines = traceback.extract_tb(caught.value.__traceback__)
    assert any(line.name == "backward" and "in backward" in line.line for line in lines)
    assert proa.is_grad_enabled()
    (x * 2).backward()  # the engine works on
    assert x.grad.tolist() == [2.0]


def test_misuse():
    class Empty(PyLayer):
        pass

    with pytest.raises(NotImplementedError, match="static method forward"):
        Empty.apply(_leaf(1.0))

    class NoBackward(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="static method backward"):
        NoBackward.apply(_leaf(1.0)).backward()
    with pytest.raises(TypeError, match=r"use Square.apply"):
        Square()(_leaf(1.0))
    with pytest.raises(TypeError, match="forward"):
        Square.apply(_leaf(1.0), 2, 3)


def test_once_differentiable():
    class Once(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, dy):
            return dy * 2 * ctx.saved_tensor()[0]

    x = _leaf(3.0)
    Once.apply(x).backward()
    assert x.grad.tolist() == [6.0]
    (g,) = proa.grad(Once.apply(x), x, create_graph=True)
    assert g.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        proa.grad(g, x)


# Reentrance and threads


def test_backward_within_backward():
    class Inner(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, dy):
            x = ctx.saved_tensor()[0].detach()
            x.stop_gradient = False
            with proa.enable_grad():
                y = Square.apply(x) * x
            y.backward()
            return dy * x.grad

    x = _leaf(2.0)
    (Inner.apply(x) * 2).backward()
    assert x.grad.tolist() == [24.0]


def test_threads():
    results = {}

    def work(k):
        x = proa.to_tensor(np.full(50_000, float(k)), stop_gradient=False)
        for _ in range(5):
            y = Square.apply(Square.apply(x)).sum()
        y.backward()
        results[k] = float(x.grad[0])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 4.0 * k**3 for k in range(1, 5)}


def test_shared_graph_from_threads():
    x = _leaf(2.0)
    y = Square.apply(x)
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [16.0]
