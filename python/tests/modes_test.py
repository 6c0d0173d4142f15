"""Modes: predicates, the switch between engines, recording of gradients, threads."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import proa
from proa import framework


@pytest.fixture(autouse=True)
def _as_before():
    yield
    proa.disable_static()
    framework._disable_legacy_dygraph()
    assert proa.is_grad_enabled()


def _predicates():
    return (
        framework._non_static_mode(),
        framework.in_dygraph_mode(),
        framework._in_dygrah_mode(),
        framework._in_legacy_dygraph(),
        framework._in_eager_without_dygraph_check(),
        proa.in_dynamic_mode(),
    )


def test_predicates():
    assert _predicates() == (True, True, True, False, True, True)
    framework._enable_legacy_dygraph()
    assert _predicates() == (True, False, False, True, False, True)
    with framework._test_eager_guard():
        assert _predicates() == (True, True, True, False, True, True)
    assert framework._in_legacy_dygraph()
    framework._disable_legacy_dygraph()
    proa.enable_static()
    assert _predicates() == (False, False, False, False, True, False)
    framework._enable_legacy_dygraph()
    assert _predicates() == (False, False, False, False, False, False)


def test_guard_puts_things_back():
    with pytest.raises(KeyError), framework._test_eager_guard(proa.CPUPlace()):
        raise KeyError
    assert framework.in_dygraph_mode()
    assert proa.get_device() == "cpu"


def test_flag():
    assert proa.get_flags("FLAGS_enable_eager_mode") == {"FLAGS_enable_eager_mode": True}
    proa.set_flags({"FLAGS_enable_eager_mode": 0})
    assert framework._in_legacy_dygraph()
    proa.set_flags({"FLAGS_enable_eager_mode": 1})
    assert framework.in_dygraph_mode()


@pytest.mark.parametrize(("value", "legacy"), [("0", True), ("false", True), ("1", False), ("True", False)])
def test_flag_of_the_environment(value, legacy):
    code = "import proa.framework as f, sys; sys.exit(10 + f._in_legacy_dygraph())"
    environment = {**os.environ, "FLAGS_enable_eager_mode": value, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 10 + legacy


def _everything():
    """Hooks, PyLayer, second order, in-place, training."""

    class Cube(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, dy):
            return dy * 3 * ctx.saved_tensor()[0] ** 2

    proa.seed(3)
    net = proa.nn.Linear(3, 2)
    x = proa.to_tensor(np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3), stop_gradient=False)
    y = Cube.apply(net(x))
    y.register_hook(lambda g: g * 2)
    y.add_(proa.ones([2, 2]))
    (g,) = proa.grad(y.sum(), x, create_graph=True)
    g.square().sum().backward()
    opt = proa.optimizer.Adam(0.1, parameters=net.parameters())
    opt.step()
    return [t.numpy() for t in (y, g, x.grad, net.weight, net.bias)]


def test_same_results_of_both():
    want = _everything()
    framework._enable_legacy_dygraph()
    for a, b in zip(_everything(), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_names():
    import proa.fluid as fluid

    assert fluid.core.eager.Tensor is proa.Tensor
    assert framework.core.VarBase is proa.Tensor
    assert fluid.framework._non_static_mode is framework._non_static_mode
    assert isinstance(proa.ones([1]), fluid.core.eager.Tensor)


# Recording


def _records():
    x = proa.ones([1])
    x.stop_gradient = False
    return not (x * 2).stop_gradient


def test_context_managers():
    with proa.no_grad():
        assert not _records() and not proa.is_grad_enabled()
        with proa.enable_grad() if hasattr(proa, "enable_grad") else proa.set_grad_enabled(True):
            assert _records()
        assert not _records()
    for mode in (True, False):
        with proa.set_grad_enabled(mode):
            assert _records() is mode
    again = proa.no_grad()
    with again, again:
        assert not _records()
    assert _records()
    with pytest.raises(KeyError), proa.no_grad():
        raise KeyError
    assert _records()


def test_set_grad_enabled_holds_from_the_call_on():
    try:
        outer = proa.set_grad_enabled(False)
        assert not _records()
        inner = proa.set_grad_enabled(True)
        assert _records()
        with inner:
            assert _records()
        assert not _records()  # as before the call
        with outer:
            assert not _records()
        assert _records()
        with outer:  # once more: as before the block
            assert not _records()
        assert _records()
        decorated = proa.set_grad_enabled(False)(_records)
        assert _records() and not decorated() and _records()
    finally:
        proa.set_grad_enabled(True)


def test_decorated_functions():
    @proa.no_grad()
    def f(x, *, y=1):
        """Doc."""
        return _records(), x + y

    @proa.no_grad
    def g():
        return _records()

    assert f(1, y=2) == (False, 3) and f.__name__ == "f" and f.__doc__ == "Doc."
    assert not g()
    assert proa.set_grad_enabled(False)(_records)() is False
    with proa.no_grad():
        assert proa.enable_grad()(_records)()
    with pytest.raises(TypeError, match="can decorate what is callable, not int"):
        proa.no_grad()(3)


def test_decorated_generators():
    closed = []

    @proa.no_grad()
    def steps():
        try:
            got = yield _records()
            try:
                yield got, _records()
            except KeyError:
                yield "caught", _records()
            return "end"
        finally:
            closed.append(_records())

    generator = steps()
    assert next(generator) is False
    assert _records()  # between the steps
    assert generator.send(5) == (5, False)
    assert generator.throw(KeyError()) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end" and closed == [False]
    unfinished = steps()
    next(unfinished)
    unfinished.close()
    assert closed == [False, False] and _records()


def test_decorated_classes():
    @proa.no_grad()
    class Model:
        def __init__(self):
            self.made = _records()

        def run(self):
            return _records()

        @staticmethod
        def static():
            return _records()

        @classmethod
        def of_class(cls):
            return cls.__name__, _records()

        @property
        def prop(self):
            return 3

    model = Model()
    assert isinstance(Model, type) and isinstance(model, Model)
    assert not model.made and not model.run() and not Model.static() and model.prop == 3
    assert Model.of_class() == ("Model", False)
    assert _records()


# Threads


def _in_thread(f):
    out = []
    thread = threading.Thread(target=lambda: out.append(f()))
    thread.start()
    thread.join()
    return out[0]


def test_recording_is_of_the_thread():
    with proa.no_grad():
        assert _in_thread(_records)
    assert _in_thread(lambda: proa.set_grad_enabled(False).__enter__() and _records()) is False
    assert _records()


def test_static_mode_is_of_the_thread():
    with proa.static.program_guard(proa.static.Program()):
        assert not proa.in_dynamic_mode()
        assert _in_thread(proa.in_dynamic_mode)
        assert _in_thread(_records)
    assert proa.in_dynamic_mode()


def test_many_threads_switch():
    def work():
        for _ in range(200):
            with proa.no_grad():
                if _records():
                    return False
            if not _records():
                return False
        return True

    results = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 4


def test_models_do_not_share_their_mode():
    a, b = (proa.nn.Sequential(proa.nn.Linear(2, 2), proa.nn.Dropout()) for _ in range(2))
    a.eval()
    assert not a.training and not a[1].training and b.training and b[1].training
    a.train()
    b.eval()
    assert a[1].training and not b[1].training


def test_models_train_and_evaluate_on_threads_of_their_own():
    """A mode is of the model, recording is of the thread: neither disturbs the neighbour."""

    def work(k, results):
        net = proa.nn.Sequential(proa.nn.Linear(2, 2), proa.nn.Dropout(0.5), proa.nn.BatchNorm1D(2))
        x = proa.ones([4, 2])
        for i in range(20):
            if (i + k) % 2:
                net.eval()
                with proa.no_grad():
                    a, b = net(x), net(x)
                if not a.stop_gradient or a.tolist() != b.tolist():
                    return
            else:
                net.train()
                if net(x).stop_gradient or not net[1].training:
                    return
        results.append(k)

    results = []
    threads = [threading.Thread(target=work, args=(k, results)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results) == [0, 1, 2, 3]


def _trained(flag):
    """The parameters of a convolution net after three steps."""
    proa.set_flags({"FLAGS_use_mkldnn": flag})
    proa.seed(5)
    nn = proa.nn
    net = nn.Sequential(nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    optimizer = proa.optimizer.Momentum(0.1, parameters=net.parameters())
    x = proa.to_tensor(np.random.default_rng(0).normal(size=(2, 1, 8, 8)).astype("float32"))
    for _ in range(3):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in net.parameters()]


def test_training_with_the_flag_of_onednn():
    """Convolutions run in oneDNN with or without the flag that old programs set."""
    for a, b in zip(_trained(True), _trained(False), strict=True):
        np.testing.assert_array_equal(a, b)
