"""recompute of layers that move vectors or running statistics on as they are called: as without it."""

import copy

import numpy as np
import pytest

import proa
from proa.autograd import recompute, recompute_sequential
from proa.framework.once import Run, once


def _spectral():
    return proa.nn.Sequential(
        proa.nn.utils.spectral_norm(proa.nn.Linear(4, 5), n_power_iterations=1),
        proa.nn.Tanh(),
        proa.nn.utils.spectral_norm(proa.nn.Linear(5, 3), n_power_iterations=2),
    )


def _batch():
    return proa.nn.Sequential(proa.nn.Linear(4, 5), proa.nn.BatchNorm1D(5), proa.nn.ReLU(), proa.nn.Linear(5, 3))


class _Divided(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = proa.nn.Linear(4, 3), proa.nn.SpectralNorm([4, 3], dim=1, power_iters=2)

    def forward(self, x):
        return x @ self.norm(self.linear.weight)


def _whole(net, x):
    return recompute(net, x)


def _nested(net, x):
    return recompute(lambda t: recompute(net, t), x)


def _segments(net, x):
    return recompute_sequential({"segments": 2}, net, x) if isinstance(net, proa.nn.Sequential) else recompute(net, x)


def _twice(net, x):
    return recompute(lambda t: net(t) + net(t * 2), x)


def _trained(net, run, steps=3):
    """Losses, gradients, parameters and buffers of some steps."""
    optimizer = proa.optimizer.SGD(0.1, parameters=net.parameters())
    random, found = np.random.default_rng(5), []
    for _ in range(steps):
        x = proa.to_tensor(random.normal(size=(6, 4)).astype("float32"), stop_gradient=False)
        loss = run(net, x).square().sum()
        loss.backward()
        found += [loss.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in net.parameters() if p.grad is not None)]
        optimizer.step()
        optimizer.clear_grad()
    return found + [value.numpy() for _, value in sorted(net.state_dict().items())]


@pytest.mark.parametrize("make", [_spectral, _batch, _Divided])
@pytest.mark.parametrize("run", [_whole, _nested, _segments, _twice])
def test_training_is_that_without_recompute(make, run):
    proa.seed(4)
    net = make()
    plain = (lambda n, x: n(x) + n(x * 2)) if run is _twice else (lambda n, x: n(x))
    expected = _trained(copy.deepcopy(net), plain)
    for got, want in zip(_trained(net, run), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_backward_several_times_moves_nothing():
    proa.seed(4)
    net = _spectral()
    loss = recompute(net, proa.ones([2, 4])).sum()
    u = net[0].weight_u.numpy()
    grads = []
    for _ in range(3):
        net[0].weight_orig.clear_gradient(False)
        loss.backward(retain_graph=True)
        grads.append(net[0].weight_orig.grad.numpy())
        np.testing.assert_array_equal(net[0].weight_u.numpy(), u)
    np.testing.assert_array_equal(grads[0], grads[1])
    np.testing.assert_array_equal(grads[0], grads[2])
    net(proa.ones([2, 4]))
    assert not np.array_equal(net[0].weight_u.numpy(), u)


def test_a_layer_that_is_converted_in_the_function():
    proa.seed(4)
    net = _batch()
    expected = _trained(copy.deepcopy(net), lambda n, x: n(x), steps=1)
    first, norm, converted = net[0], net[1], proa.jit.to_static(proa.nn.Sequential(net[2], net[3]))
    got = _trained(net, lambda _, x: recompute(lambda t: converted(norm(first(t))), x), steps=1)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [_spectral, _batch, _Divided])
@pytest.mark.parametrize("run", [_whole, _nested])
@pytest.mark.parametrize("level", ["O0", "O2"])
def test_converted_layers_move_on_once(make, run, level):
    """Vectors and statistics that a program moves on; under O2 the copies of them keep their digits."""
    proa.seed(4)
    net = make()

    def trained(net, call):
        def mixed(net, x):
            with proa.amp.auto_cast(level != "O0", level="O2", dtype="bfloat16"):
                return call(net, x).astype("float32")

        return _trained(net, mixed)

    expected = trained(proa.jit.to_static(copy.deepcopy(net)), lambda n, x: n(x))
    for got, want in zip(trained(proa.jit.to_static(net), run), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


class _Queue(proa.nn.Layer):
    """What it changes the gradient reads."""

    def __init__(self):
        super().__init__()
        self.linear = proa.nn.Linear(4, 3)
        self.register_buffer("rows", proa.zeros([2, 3]))
        self.register_buffer("calls", proa.zeros([1]))

    def forward(self, x):
        y = self.linear(x)
        with proa.no_grad():
            self.rows = proa.concat([self.rows[1:], y.mean(0, keepdim=True)])
            self.calls = self.calls + 1.0
        return proa.matmul(y, self.rows, transpose_y=True) * self.calls


@pytest.mark.parametrize("run", [_whole, _nested])
def test_what_the_gradient_reads_may_move_on(run):
    proa.seed(4)
    net = _Queue()
    expected = _trained(copy.deepcopy(net), lambda n, x: n(x))
    for got, want in zip(_trained(proa.jit.to_static(net), run), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_loaded_layers_move_on_once(tmp_path):
    proa.seed(4)
    proa.jit.save(_batch(), str(tmp_path / "net"), [proa.static.InputSpec([None, 4], "float32")])
    found = []
    for run in (lambda n, x: n(x), _whole):
        net = proa.jit.load(str(tmp_path / "net"))
        net.train()
        found.append(_trained(net, run))
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_is_recorded_does_not_ask_what_is_around_it():
    """A program that is recorded in a recomputed function moves its statistics in each of its runs."""
    net = _batch()
    converted = proa.jit.to_static(net)
    x = proa.to_tensor(np.random.default_rng(5).normal(size=(6, 4)).astype("float32"))
    recompute(converted, x).sum().backward()
    before = net[1]._mean.numpy()
    converted(x)
    assert not np.array_equal(net[1]._mean.numpy(), before)


def test_more_in_the_second_call_is_an_error():
    net = _spectral()
    net.eval()
    loss = recompute(net, proa.ones([2, 4])).sum()
    net.train()
    with pytest.raises(RuntimeError, match="recompute: the function did other things when it ran again"):
        loss.backward()


def test_once():
    steps = iter(range(9))

    def ask():
        return once(lambda: next(steps))

    assert ask() == 0
    with Run() as outer:
        a = ask()
        with Run() as inner:
            b = ask()
    assert (a, b, outer.values, inner.values) == (1, 2, [1, 2], [2])
    with Run(outer.values):
        assert ask() == 1
        with Run() as again:
            assert ask() == 2
    assert again.values == [2]
    with Run(inner.values):
        assert ask() == 2
    assert ask() == 3
