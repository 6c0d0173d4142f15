"""What programs rely on in differentiation, one test after the other through the list of features."""

import gc
import weakref

import numpy as np
import pytest

import proa
from proa import _C
from proa.nn import functional as F

_RNG = np.random.default_rng(2)


def _leaf(*values, dtype="float64"):
    return proa.to_tensor(list(values), dtype, stop_gradient=False)


def _normal(*shape, stop_gradient=False):
    return proa.to_tensor(_RNG.normal(size=shape), stop_gradient=stop_gradient)


# Accumulation


def test_backward_accumulates():
    x = _leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_only_clear_grad_clears():
    net = proa.nn.Linear(3, 2)
    opt = proa.optimizer.SGD(0.1, parameters=net.parameters())
    x = proa.ones([4, 3])
    for part in (x[:2], x[2:]):
        net(part).sum().backward()
    opt.step()
    np.testing.assert_allclose(net.bias.grad.numpy(), [4, 4])
    opt.clear_grad()
    assert net.bias.grad is None or not net.bias.grad.numpy().any()


def test_a_large_batch_by_accumulation():
    net = proa.nn.Linear(3, 1)
    x = proa.to_tensor(_RNG.normal(size=(8, 3)).astype("float32"))
    net(x).square().mean().backward()
    want = net.weight.grad.numpy()
    net.clear_gradients()
    for i in range(0, 8, 2):
        (net(x[i : i + 2]).square().mean() / 4).backward()
    np.testing.assert_allclose(net.weight.grad.numpy(), want, rtol=1e-5)


# Modes


def test_eval_still_records():
    net = proa.nn.Sequential(proa.nn.Linear(3, 3), proa.nn.Dropout(0.5), proa.nn.BatchNorm1D(3))
    net.eval()
    y = net(proa.ones([2, 3]))
    assert not y.stop_gradient
    y.sum().backward()
    assert net[0].weight.grad is not None
    with proa.no_grad():
        assert net(proa.ones([2, 3])).stop_gradient


# Pruning


def test_branches_without_gradient_are_left_out():
    ran = []

    class Spy(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            ran.append(ctx.name)
            return dy

    x, y = _leaf(1.0), _leaf(2.0)
    frozen = _leaf(3.0)
    frozen.stop_gradient = True
    a, b = Spy.apply(x, "x"), Spy.apply(y, "y")
    unused = Spy.apply(x, "unused")
    c = a * b * Spy.apply(frozen, "frozen")
    proa.grad(c, x, retain_graph=True)
    assert ran == ["x"]
    c.backward()
    assert sorted(ran[1:]) == ["x", "y"]
    assert frozen.grad is None and unused.grad is None


def test_detached_outputs_need_no_care():
    x = _leaf(1.0)
    y = x * 2
    z = y.detach() * 3 + x
    z.backward()
    assert x.grad.tolist() == [1.0]


# What backward keeps


def test_shapes_are_kept_without_elements():
    """The gradient of a mean needs the shape of its input; the elements go."""
    n = 1 << 18
    x = proa.zeros([n])
    x.stop_gradient = False
    before = _C.memory_figures()["allocated"]
    y = (x + 1.0).mean()
    gc.collect()
    assert _C.memory_figures()["allocated"] - before < n
    y.backward()
    assert x.grad[0].item() == pytest.approx(1 / n)


def test_no_version_check_of_what_is_not_kept():
    x = _leaf(1.0, 2.0)
    y = x * 1
    z = y.sum() + y.reshape([2, 1]).sum()
    y.add_(_leaf(1.0, 1.0).detach())
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


# In place


def test_version_check():
    x, w = _leaf(1.0), _leaf(2.0)
    y = x * 1
    z = y * w
    assert y.inplace_version == 0
    y.exp_()
    assert y.inplace_version == 1
    with pytest.raises(RuntimeError, match="multiply's backward was changed in place by exp_"):
        z.backward()


def test_leaves_are_not_changed_in_place():
    x = _leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf that requires grad"):
        x.exp_()
    with proa.no_grad():
        x.exp_()
    assert x.item() == pytest.approx(np.e)


# Hooks


def test_hooks_see_and_change():
    x = _leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.item()))
    (y * 3).backward()
    assert seen == [3.0, 60.0] and x.grad.tolist() == [60.0]


def test_hooks_leak_nothing():
    gc.collect()
    before = _C.memory_figures()["allocated"]
    gone = []
    for _ in range(10):
        x = proa.zeros([1000])
        x.stop_gradient = False
        y = x * 2
        y.register_hook(lambda g, x=x: g * 2)
        handle = x.register_hook(lambda g, x=x: None)
        y.sum().backward()
        handle.remove()
        gone.append(weakref.ref(x))
    del x, y, handle
    gc.collect()
    assert not any(r() for r in gone)
    assert _C.memory_figures()["allocated"] <= before + 1000


# Functions of Python, derivatives of functions: py_layer_test.py, functional_autograd_test.py

# Backward of single functions


def test_diag():
    x = _normal(3)
    (proa.diag(x) * _normal(3, 3, stop_gradient=True)).sum().backward()
    assert x.grad.shape == [3]
    assert proa.autograd.gradcheck(proa.diag, _normal(3))
    assert proa.autograd.gradcheck(proa.diag, _normal(3, 4))


def test_det():
    x = _normal(2, 3, 3)
    (proa.linalg.det(x) * _leaf(2.0, -1.0)).sum().backward()
    a = x.numpy()
    want = np.array([2.0, -1.0])[:, None, None] * np.linalg.det(a)[:, None, None] * np.linalg.inv(a).transpose(0, 2, 1)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-9)
    for f in (proa.linalg.det, proa.linalg.slogdet, proa.linalg.inv):
        assert proa.autograd.gradcheck(f, _normal(2, 3, 3))
        assert proa.autograd.gradgradcheck(f, _normal(3, 3))


def test_det_of_singular_matrices():
    # Of rank n - 1 the gradient is the transposed adjugate, of less rank it is 0.
    x = _leaf([1.0, 2.0], [2.0, 4.0])
    (dx,) = proa.grad(proa.linalg.det(x), [x], create_graph=True)
    np.testing.assert_allclose(dx.numpy(), [[4, -2], [-2, 1]], atol=1e-14)
    with pytest.raises(ValueError, match="singular"):
        dx.sum().backward()
    zeros = proa.zeros([3, 3], "float64")
    zeros.stop_gradient = False
    proa.linalg.det(zeros).backward()
    assert not zeros.grad.numpy().any()


def test_logarithm_of_singular_matrices():
    x = _leaf([1.0, 2.0], [2.0, 4.0])
    out = proa.linalg.slogdet(x)
    assert out.tolist() == [0.0, float("-inf")]
    with pytest.raises(ValueError, match="singular"):
        out[1].backward()


def test_nan_in_a_matrix():
    x = _leaf([[0.0, float("nan")], [0.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(proa.linalg.det(x).numpy(), [np.nan, 8])
    np.testing.assert_array_equal(proa.inverse(x).numpy(), [np.full((2, 2), np.nan), [[0.5, 0], [0, 0.25]]])
    proa.linalg.det(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [np.full((2, 2), np.nan), [[4, 0], [0, 2]]])


def test_shape_and_ranges_are_constants():
    x = _normal(2, 3)
    shape = proa.shape(x)
    assert shape.stop_gradient and shape.tolist() == [2, 3]
    for constant in (proa.arange(3), proa.arange(0.0, 1.0, 0.5), proa.linspace(0, 1, 3), proa.full([2], 1.0)):
        assert constant.stop_gradient
    (x.sum() * shape.sum().astype("float64")).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 5.0))


def test_setitem():
    x, v = _normal(4), _normal(2)
    y = x * 1
    y[1:3] = v * 2
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy() * [1, 0, 0, 1])
    np.testing.assert_allclose(v.grad.numpy(), 8 * v.numpy())


# The function backward


def test_backward_of_several():
    x = _leaf(1.0)
    y, z = x * 2, x * 3
    proa.autograd.backward([y, z], [None, _leaf(10.0).detach()])
    assert x.grad.tolist() == [32.0]
    proa.autograd.backward(x * 2)
    assert x.grad.tolist() == [34.0]
    w = x * x
    proa.autograd.backward([w], retain_graph=True)
    proa.autograd.backward(w)
    with pytest.raises(RuntimeError, match="second time"):
        proa.autograd.backward(w)


def test_backward_from_a_tensor_and_its_cause():
    x = _leaf(2.0)
    y = x * x
    z = y * y
    proa.autograd.backward([z, y])
    assert x.grad.tolist() == [32.0 + 4.0]


def test_errors_of_backward():
    x = _leaf(1.0)
    y = x * 2
    for tensors, grads, error, says in (
        ([], None, ValueError, "at least one"),
        ([y, y], None, ValueError, "more than once"),
        (3, None, TypeError, "not int"),
        ([y, None], None, TypeError, "not NoneType"),
        ([y], [None, None], ValueError, "1 tensors but 2"),
        ([y], [3], TypeError, "not int"),
        ([y], [_leaf(1.0, 2.0)], ValueError, r"grads\[0\] does not fit"),
        ([y], [proa.ones([1], "float32")], ValueError, "float32"),
    ):
        with pytest.raises(error, match=says):
            proa.autograd.backward(tensors, grads)
    y.backward()
    assert x.grad.tolist() == [2.0]


# Higher order


def test_weights_of_the_outputs_at_higher_order():
    """`grad_outputs` counts, and is itself differentiated."""
    x, v = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    (g,) = proa.grad(x**3, x, v, create_graph=True)
    np.testing.assert_allclose(g.numpy(), 3 * x.numpy() ** 2 * v.numpy())
    w = proa.to_tensor([10.0, 100.0], "float64")
    gx, gv = proa.grad(g, [x, v], w, create_graph=True)
    np.testing.assert_allclose(gx.numpy(), 6 * x.numpy() * v.numpy() * w.numpy())
    np.testing.assert_allclose(gv.numpy(), 3 * x.numpy() ** 2 * w.numpy())
    ggx, ggv = proa.grad([gx, gv], [x, v], [w, None])
    np.testing.assert_allclose(ggx.numpy(), 6 * v.numpy() * w.numpy() ** 2 + 6 * x.numpy() * w.numpy())
    np.testing.assert_allclose(ggv.numpy(), 6 * x.numpy() * w.numpy() ** 2)


def test_target_gradients_in_a_program():
    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [2], "float64")
        v = proa.static.data("v", [2], "float64")
        x.stop_gradient = v.stop_gradient = False
        (g,) = proa.static.gradients(x**3, x, v)
        gx, gv = proa.static.gradients(g, [x, v], [x])
    at, by = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    got = proa.static.Executor().run(program, feed={"x": at, "v": by}, fetch_list=[g, gx, gv])
    for a, b in zip(got, (3 * at**2 * by, 6 * at * by * at, 3 * at**2 * at), strict=True):
        np.testing.assert_allclose(a, b)


def _third_order(f, inputs, rng):
    """The gradient of (gradient of (gradient of f, weighted), weighted) against differences."""
    weights = [[proa.to_tensor(rng.normal(size=x.shape)) for x in inputs] for _ in range(2)]

    def second(*xs):
        value = f(*xs)
        for w in weights:
            grads = proa.grad(value, list(xs), create_graph=True, allow_unused=True)
            value = sum((g * v).sum() for g, v in zip(grads, w, strict=True) if g is not None)
        return value

    return proa.autograd.gradcheck(second, inputs, atol=1e-4)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x, y: ((x + y) ** 3).sum(), [(2, 3), (3,)]),
        (lambda x, y: (x * y * x * y).sum(), [(2, 3), (2, 1)]),
        (lambda x, y: (proa.matmul(x, y) ** 3).sum(), [(2, 3), (3, 2)]),
        (lambda x, y: (proa.matmul(x, y, transpose_y=True) ** 3).sum(), [(2, 2, 3), (2, 3)]),
    ],
    ids=["add", "multiply", "matmul", "batched matmul"],
)
def test_third_order(f, shapes):
    rng = np.random.default_rng(8)
    inputs = [proa.to_tensor(rng.normal(size=s), stop_gradient=False) for s in shapes]
    assert _third_order(f, inputs, rng)


class _Penalized:
    """|d out / d x|^2 of a model in float64, as a function of its parameters."""

    def __init__(self, net, x):
        self.net, self.x = net, x

    def __call__(self, *parameters):
        self.x.stop_gradient = False
        out = self.net(self.x, *parameters)
        (g,) = proa.grad(out.sum(), self.x, create_graph=True)
        return ((g.square().sum(axis=list(range(1, g.ndim))).sqrt() - 1) ** 2).mean() + out.square().mean()


def _mlp(x, w1, b1, w2, b2):
    return F.linear(proa.tanh(F.linear(x, w1, b1)), w2, b2)


def _conv_net(x, k1, b1, k2, w, scale, shift):
    y = F.softplus(F.conv2d(x, k1, b1, padding=1))
    y = F.avg_pool2d(y, 2)
    y = F.layer_norm(
        F.conv2d(y, k2, stride=2, padding=1), [2, 1, 1], scale.reshape([2, 1, 1]), shift.reshape([2, 1, 1])
    )
    return F.linear(y.flatten(1), w)


@pytest.mark.parametrize(
    ("net", "x", "shapes"),
    [
        (_mlp, (4, 3), [(3, 5), (5,), (5, 1), (1,)]),
        (_conv_net, (2, 2, 4, 4), [(3, 2, 3, 3), (3,), (2, 3, 3, 3), (2, 1), (2,), (2,)]),
    ],
    ids=["mlp", "conv"],
)
def test_gradient_penalty_of_a_model(net, x, shapes):
    rng = np.random.default_rng(6)
    parameters = [proa.to_tensor(rng.normal(size=s), stop_gradient=False) for s in shapes]
    assert proa.autograd.gradcheck(_Penalized(net, proa.to_tensor(rng.normal(size=x))), parameters, atol=1e-5)


def test_training_with_a_gradient_penalty():
    proa.seed(0)
    net = proa.nn.Sequential(proa.nn.Linear(2, 16), proa.nn.Tanh(), proa.nn.Linear(16, 1))
    opt = proa.optimizer.Adam(0.02, parameters=net.parameters())
    x = proa.to_tensor(_RNG.normal(size=(32, 2)).astype("float32"), stop_gradient=False)
    losses = []
    for _ in range(60):
        (g,) = proa.grad(net(x).sum(), x, create_graph=True)
        loss = ((g.square().sum(axis=1) + 1e-12).sqrt() - 1).square().mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]
