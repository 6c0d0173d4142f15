"""recompute: gradients, random numbers, structures, nesting, memory."""

import gc
import warnings

import numpy as np
import pytest

import proa
from proa import _C
from proa.autograd import recomputation, recompute, recompute_sequential
from proa.distributed.fleet.utils import recompute as fleet_recompute
from proa.nn import functional as F


def _net(width=16, depth=3):
    layers = []
    for _ in range(depth):
        layers += [proa.nn.Linear(width, width), proa.nn.Tanh()]
    return proa.nn.Sequential(*layers)


def _input(*shape):
    x = proa.to_tensor(np.random.default_rng(3).normal(size=shape).astype("float32"))
    x.stop_gradient = False
    return x


def _grads(net, x, run):
    for p in net.parameters():
        p.clear_gradient(False)
    x.clear_gradient(False)
    run(net, x).square().sum().backward()
    return [t.grad.numpy() for t in (x, *net.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
def test_same_gradients(reentrant):
    net, x = _net(), _input(4, 16)
    want = _grads(net, x, lambda f, x: f(x))
    got = _grads(net, x, lambda f, x: recompute(f, x, use_reentrant=reentrant))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert fleet_recompute is recompute


def test_input_without_gradient():
    net, x = _net(), _input(4, 16)
    x.stop_gradient = True
    recompute(net, x).sum().backward()
    assert net.parameters()[0].grad is not None and x.grad is None


def test_nothing_to_recompute_is_said_once(monkeypatch):
    monkeypatch.setattr(recomputation, "_hinted", False)
    net, x = _net(), proa.ones([4, 16])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recompute(net, x)  # parameters need gradients
        with proa.no_grad():
            recompute(net, x)  # evaluation of a model that is trained with it
    for p in net.parameters():
        p.stop_gradient = True
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            recompute(net, x)
            recompute(lambda t: t * 2, x)
    assert [str(w.message).partition(":")[0] for w in said] == ["recompute"]
    assert "requires a gradient" in str(said[0].message) and said[0].filename == __file__


def test_grad_of_chosen_tensors():
    net, x = _net(), _input(4, 16)
    p = net.parameters()[0]
    want = proa.grad(net(x).sum(), [p, x])
    got = proa.grad(recompute(net, x).sum(), [p, x])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert p.grad is None


def test_hooks_of_parameters_run_once():
    net, x = _net(depth=1), _input(2, 16)
    calls = []
    net.parameters()[0].register_hook(lambda g: calls.append(1))
    recompute(net, x).sum().backward()
    assert calls == [1]


def test_second_order():
    net, x = _net(), _input(4, 16)

    def penalty(run):
        (g,) = proa.grad(run(net, x).sum(), x, create_graph=True)
        net.clear_gradients()
        g.square().sum().backward()
        return [p.grad.numpy() for p in net.parameters() if p.grad is not None]

    want = penalty(lambda f, x: f(x))
    got = penalty(lambda f, x: recompute(f, x))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_dropout_has_the_same_mask():
    proa.seed(5)
    x = _input(1000)
    y = recompute(lambda x: F.dropout(x, 0.5), x)
    after = proa.rand([3]).numpy()
    kept = y.numpy() != 0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy() != 0, kept)
    # Random numbers elsewhere go on as if backward had drawn none.
    proa.seed(5)
    F.dropout(x, 0.5)
    np.testing.assert_array_equal(proa.rand([3]).numpy(), after)
    x.clear_gradient(False)
    y = recompute(lambda x: F.dropout(x, 0.5), x, preserve_rng_state=False)
    y.sum().backward()
    assert not np.array_equal(x.grad.numpy() != 0, y.numpy() != 0)


def test_structures():
    def f(pair, scale, *, table, nothing=None):
        assert nothing is None
        a, b = pair
        return {"sum": (a + b) * scale, "rest": (table["c"] * a, 7, None)}

    a, b, c = _input(3), _input(3), _input(3)
    out = recompute(f, [a, b], 2.0, table={"c": c, "text": "x"})
    assert out["rest"][1:] == (7, None)
    (out["sum"].sum() + out["rest"][0].sum()).backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 + c.numpy())
    np.testing.assert_allclose(b.grad.numpy(), np.full(3, 2.0))
    np.testing.assert_allclose(c.grad.numpy(), a.numpy())


def test_nested():
    net, x = _net(), _input(4, 16)
    want = _grads(net, x, lambda f, x: f(x))
    inner = lambda x: recompute(net[2:], recompute(net[:2], x))
    got = _grads(net, x, lambda f, x: recompute(inner, x))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sequential():
    net, x = _net(), _input(4, 16)
    want = _grads(net, x, lambda f, x: f(x))
    for segments in (1, 2, 6):
        got = _grads(net, x, lambda f, x: recompute_sequential({"segments": segments}, f, x))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="7 segments for 6 functions"):
        recompute_sequential(7, net, x)
    with pytest.raises(ValueError, match="no functions"):
        recompute_sequential(1, [], x)


@pytest.mark.filterwarnings("ignore:recompute")
def test_without_gradients():
    net, x = _net(), _input(4, 16)
    with proa.no_grad():
        assert recompute(net, x).stop_gradient
    calls = []
    y = recompute(lambda x: calls.append(1) or x * 2, proa.ones([2]))
    assert y.stop_gradient and calls == [1]


def test_runs_again_in_each_backward():
    calls = []
    x = _input(2)
    y = recompute(lambda x: calls.append(proa.is_grad_enabled()) or x * x, x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls == [True] * 3
    np.testing.assert_allclose(x.grad.numpy(), 4 * x.numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_errors():
    with pytest.raises(TypeError, match="callable, not int"):
        recompute(3, _input(2))
    x = _input(2) * 1
    y = recompute(lambda x: x * x, x)
    x.add_(proa.ones([2]))
    with pytest.raises(RuntimeError, match="add_"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="changed in place by add_"):
        recompute(lambda x: x.add_(proa.ones([2])), _input(2) * 1)
    results = iter([[2], [3]])
    y = recompute(lambda x: x.sum() * proa.ones(next(results)), _input(2))
    with pytest.raises(ValueError, match=r"result 0 of the function was \[2\] float32, and \[3\] float32 when"):
        y.sum().backward()

    class Oops(Exception):
        pass

    fail = []

    def f(x):
        if fail:
            raise Oops("again")
        return x * x

    y = recompute(f, _input(2))
    fail.append(1)
    with pytest.raises(Oops, match="again"):
        y.sum().backward()
    assert proa.is_grad_enabled()


def test_program():
    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [2], "float32")
        x.stop_gradient = False
        (g,) = proa.static.gradients(recompute(lambda x: x * x, x), x)
    (got,) = proa.static.Executor().run(program, feed={"x": np.float32([1, 2])}, fetch_list=[g])
    np.testing.assert_array_equal(got, [2, 4])


def test_memory():
    """Ten blocks of ten activations each: kept, or one for each block."""
    n, blocks, depth = 1 << 18, 10, 10
    size = 4 * n

    def block(x):
        for _ in range(depth):
            x = proa.tanh(x)
        return x

    def held(run):
        gc.collect()
        x = proa.zeros([n])
        x.stop_gradient = False
        before = _C.memory_figures()["allocated"]
        y = x
        for _ in range(blocks):
            y = run(block, y)
        kept = _C.memory_figures()["allocated"] - before
        _C.memory_reset_peak()
        y.backward()
        return kept / size, (_C.memory_figures()["peak_allocated"] - before) / size

    kept, _ = held(lambda f, x: f(x))
    assert kept > 99
    kept, peak = held(recompute)
    assert kept < blocks + 1
    assert peak < blocks + depth + 6


def test_nested_to_any_order():
    class Square(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return dy * 2 * ctx.saved_tensor()[0]

    rng = np.random.default_rng(0)
    x, w = (proa.to_tensor(rng.normal(size=s), stop_gradient=False) for s in ((2, 3), (3, 3)))
    inner = lambda x, w: Square.apply(proa.tanh(proa.matmul(x, w)))

    def plain(x, w):
        return inner(x, w * 2) * x + proa.matmul(x, w * 2)

    def recomputed(x, w):
        c = w * 2  # reaches the inner functions as an argument and as part of a closure
        middle = lambda y: recompute(inner, y, c) * y + proa.matmul(x, c)
        return recompute(lambda x: recompute(middle, x), x)

    assert proa.autograd.gradcheck(recomputed, [x, w])
    assert proa.autograd.gradgradcheck(recomputed, [x, w])

    def third(f):
        value = f(x, w).sum()
        for _ in range(3):
            grads = proa.grad(value, [x, w], create_graph=True)
            value = sum((g * g).sum() for g in grads)
        return value.item()

    assert third(recomputed) == pytest.approx(third(plain), rel=1e-10)
