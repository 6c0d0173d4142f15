"""Engines that compute parts of a program: ONNX Runtime, and one that is made up here."""

import concurrent.futures
import os
import types
import warnings

import numpy as np
import pytest

import proa
from proa import inference, nn
from proa.inference.onnxruntime_engine import OnnxRuntimeEngine
from python.tests.saved_predictors import random, randomize

pytest.importorskip("onnxruntime")


class _Net(nn.Layer):
    """Of which ONNX cannot say two operations, digamma; between them, beside them and behind them it can."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        y = nn.functional.relu(self.a(x)) + 1.0
        beside = proa.tanh(self.b(y)) * 2.0
        y = proa.digamma(y)
        y = nn.functional.gelu(self.b(y)).abs() + 0.5
        y = proa.digamma(y) + beside
        return nn.functional.softmax(self.c(y)), beside, x


def _config(net, folder, specs, change=lambda config: None):
    net.eval()
    proa.jit.save(net, str(folder / "net"), specs)
    config = inference.Config(str(folder / "net"))
    config.enable_onnxruntime()
    change(config)
    return config


_SPECS = [proa.static.InputSpec([None, 6], "float32", "x")]


def _net():
    net = _Net()
    randomize(net)
    return net


def _check(net, predictor, batches=(1, 3, 1, 7, 0)):
    for n in batches:
        x = random([n, 6], n)
        for got, want in zip(predictor.run([x]), net(proa.to_tensor(x)), strict=True):
            np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=2e-5, atol=2e-5)


def test_what_onnx_cannot_say_runs_here(tmp_path):
    net = _net()
    config = _config(net, tmp_path, _SPECS)
    with pytest.warns(UserWarning, match="runs parts of the model(.|\n)*digamma"):
        predictor = inference.create_predictor(config)
    plan = predictor._engine.plan.splitlines()
    by = [line.partition(":")[0] for line in plan]
    # As few parts as the dependencies allow.
    assert by == ["ONNX Runtime", "proa", "ONNX Runtime", "proa", "ONNX Runtime"], plan
    assert [line.count("digamma") for line in plan] == [0, 1, 0, 1, 0]
    assert predictor.get_input_names() == ["x"] and len(predictor.get_output_names()) == 3
    _check(net, predictor)
    clone = predictor.clone()
    clone.get_input_handle("x").copy_from_cpu(random([2, 6]))
    assert clone.run()
    with pytest.raises(NotImplementedError, match="ONNX Runtime does not show"):
        predictor.register_output_hook(print)


def test_a_model_that_onnx_can_say_runs_there_as_a_whole(tmp_path):
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor = inference.create_predictor(_config(net, tmp_path, _SPECS))
    assert predictor._engine.plan == "ONNX Runtime"
    # Rows of any kind, one of each input, and no others.
    x = proa.to_tensor(random([6, 4]))
    np.testing.assert_allclose(
        predictor.run([x.transpose([1, 0])])[0].numpy(), net(x.transpose([1, 0])).numpy(), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(ValueError, match="ONNX Runtime"):
        predictor.run([random([4, 5])])


def test_parts_are_kept_on_disk(tmp_path, monkeypatch):
    net, kept = _net(), tmp_path / "kept"
    config = _config(net, tmp_path, _SPECS, lambda c: c.set_optim_cache_dir(str(kept)))
    exports = []
    export = proa.onnx.export
    monkeypatch.setattr(proa.onnx, "export", lambda *args, **named: exports.append(args[1]) or export(*args, **named))
    for times in range(2):
        del exports[:]
        with pytest.warns(UserWarning, match="runs parts"):
            predictor = inference.create_predictor(config)
        # The second time only what tells that the whole cannot be exported.
        assert len(exports) == (1 if times else 4), exports
        assert len(os.listdir(kept)) == 3
        _check(net, predictor)
    net.c.bias.set_value(np.ones([3], "float32"))
    config = _config(net, tmp_path, _SPECS, lambda c: c.set_optim_cache_dir(str(kept)))
    with pytest.warns(UserWarning, match="runs parts"):
        _check(net, inference.create_predictor(config))
    assert len(os.listdir(kept)) == 4  # other weights are another part


class _Tanh:
    """Claims tanh, and computes it by NumPy; or declines."""

    name, least_operations = "numpy", 1

    def __init__(self, declines=False):
        self.declines, self.parts = declines, 0

    def claims(self, whole):
        return [o["op"] == "tanh" for o in proa._C.program_block(whole.program)["operations"]]

    def compile(self, part, settings):
        if self.declines:
            raise ValueError("not today")
        self.parts += 1
        return types.SimpleNamespace(run=lambda values: [proa.to_tensor(np.tanh(v.numpy())) for v in values])


def _split(function, shapes, engine):
    main = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(main):
            inputs = [proa.static.data(n, s, "float32") for n, s in zip("xyz", shapes, strict=False)]
            outputs = list(function(*inputs))
    finally:
        proa.disable_static()
    module = main._program.module(list("xyz")[: len(shapes)], outputs)

    def warn(sentence):
        warnings.warn(sentence, UserWarning, stacklevel=1)

    return proa._C.split(module, engine, proa._C.SubgraphSettings(), [], warn)


@pytest.mark.parametrize("declines", [False, True])
def test_any_engine(declines):
    engine = _Tanh(declines)

    def function(x, y):
        return proa.tanh(x) + proa.tanh(y * 2), proa.tanh(x.sum() + y), y

    arrays = [proa.to_tensor(random([3, 2], i)) for i in range(2)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        split = _split(function, [[None, 2]] * 2, engine)
    assert any("numpy declines a part" in str(w.message) for w in told) == declines
    # What is before all three, those, and the sum behind.
    assert engine.parts == (0 if declines else 1) and len(split.plan.splitlines()) == 3, split.plan
    for got, want in zip(split.run(arrays), function(*arrays), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_an_engine_that_fails():
    """What it raises arrives; a part without its results is an error; many threads call it."""
    x = proa.to_tensor(random([3, 2]))

    class Fails(_Tanh):
        def __init__(self, run):
            super().__init__()
            self.run = run

        def compile(self, part, settings):
            if self.run is None:
                raise KeyError("lost")
            return types.SimpleNamespace(run=self.run)

    def split(run):
        return _split(lambda x: [proa.tanh(x) + 1], [[None, 2]], Fails(run))

    with pytest.raises(KeyError, match="lost"):
        split(None)
    with pytest.raises(ZeroDivisionError):
        split(lambda values: 1 // 0).run([x])
    with pytest.raises(ValueError, match="numpy: tanh. gave 0 results, not 1"):
        split(lambda values: []).run([x])
    with pytest.raises(TypeError, match="must give a list of tensors, not int"):
        split(lambda values: 3).run([x])
    with pytest.raises(ValueError, match="takes 1 inputs, 0 given"):
        split(lambda values: values).run([])
    with pytest.raises(NotImplementedError, match="numpy does not show"):
        split(lambda values: values).check_hooks()
    one = _split(lambda x: [proa.tanh(x) + 1], [[None, 2]], _Tanh())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        arrays = [proa.to_tensor(random([n % 5, 2], n)) for n in range(40)]
        for array, got in zip(arrays, pool.map(lambda a: one.run([a])[0].numpy(), arrays), strict=True):
            np.testing.assert_allclose(got, np.tanh(array.numpy()) + 1, rtol=1e-6)


def test_operations_with_regions_and_constants():
    """Parts hold loops and branches, and tensors that only those read."""
    weight = proa.to_tensor(random([2], 5))

    def function(x):
        y = proa.tanh(x)
        z = proa.static.nn.cond(y.sum() > 0, lambda: y * weight, lambda: y - weight)
        return proa.tanh(z), weight + y

    split = _split(function, [[None, 2]], _Tanh())
    for sign in (1, -1):
        x = proa.to_tensor(sign * np.abs(random([3, 2])))
        y = proa.tanh(x)
        want = proa.tanh(y * weight if sign > 0 else y - weight), weight + y
        for got, right in zip(split.run([x]), want, strict=True):
            np.testing.assert_allclose(got.numpy(), right.numpy(), rtol=1e-5, atol=1e-6)


def test_claims_of_onnx_runtime():
    main = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(main):
            x = proa.static.data("x", [None, 2], "float32")
            y = proa.digamma(proa.exp(x)) + 1
    finally:
        proa.disable_static()
    block = proa._C.program_block(main._program)["operations"]
    claimed = OnnxRuntimeEngine().claims(main._program.module(["x"], [y]))
    assert {o["op"] for o, c in zip(block, claimed, strict=True) if not c} == {"digamma"}
