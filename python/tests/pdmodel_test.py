"""Models saved in PaddlePaddle's format: read again, they give the same numbers.

python python/tests/pdmodel_test.py FOLDER     # writes them for reference_models/run.py, which runs them in PaddlePaddle
"""

import functools
import inspect
import os
import pathlib
import sys

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa import _C
from proa.jit import reference
from proa.jit.reference import convert, inverse
from proa.static import InputSpec
from python.tests.layer_cases import LAYERS, layer_of
from python.tests.public_cases import Case

_TOLERANCE = {"float16": (5e-3, 5e-3), "bfloat16": (3e-2, 3e-2), "float32": (3e-5, 3e-5), "float64": (1e-6, 1e-6)}


def _flat(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return [value] if items is None else [t for item in items for t in _flat(item)]


def _array(rng, shape, dtype):
    return rng.integers(0, 5, shape) if dtype == "int64" else rng.standard_normal(shape).astype(dtype)


def _same(got, want, rtol, atol, where=""):
    assert len(got) == len(want), where
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True, err_msg=where)


def _agrees(layer, specs, cases, path, tolerance=2e-6):
    """That what is saved, loaded again, gives what the layer gives, for inputs of each of these lists of shapes."""
    proa.jit.save(layer, path, specs, format="paddle")
    again, rng = proa.jit.load(path), np.random.default_rng(0)
    if hasattr(layer, "eval"):
        layer.eval()
    for shapes in cases:
        arrays = [_array(rng, shape, spec.dtype.name) for shape, spec in zip(shapes, specs, strict=True)]
        given = [proa.to_tensor(x) for x in arrays]
        with proa.no_grad():
            want = [t.numpy() for t in _flat(layer(*given))]
            got = [t.numpy() for t in _flat(again(*given))]
        for a, b in zip(got, want, strict=True):
            _same([a], [b], tolerance, tolerance * max(float(np.abs(b).max(initial=0)), 1e-6), str(shapes))
    return arrays, want


@pytest.mark.parametrize(
    "dims, settings", [(1, {"dilation": 2}), (2, {"dilation": [2, 3], "stride": 2}), (3, {"dilation": 2})]
)
def test_padding_same_with_dilations(dims, settings, tmp_path):
    """The format takes every dilation as 1 there, so the padding is written in numbers."""
    shape = [1, 2, 7, 6, 5][: dims + 2]
    net = getattr(proa.nn, f"Conv{dims}D")(2, 3, 3, padding="SAME", **settings)
    _agrees(net, [InputSpec(shape)], [[shape]], str(tmp_path / "net"))


def test_padding_same_that_cannot_be_said(tmp_path):
    for net in (
        proa.nn.Conv2D(2, 3, 3, padding="SAME", dilation=2, stride=2),
        proa.nn.Conv2DTranspose(2, 3, 3, padding="SAME", dilation=2),
    ):
        with pytest.raises(NotImplementedError, match="give the padding in numbers"):
            proa.jit.save(net, str(tmp_path / "net"), [InputSpec([1, 2, None, None])], format="paddle")


class _First(proa.nn.Layer):
    def forward(self, x):
        return x[:, 0], x[:, -1]


def test_the_first_of_an_open_dim(tmp_path):
    _agrees(_First(), [InputSpec([None, None, 3])], [[[2, 4, 3]], [[3, 1, 3]]], str(tmp_path / "net"))


# Models ------------------------------------------------------------------------------------------------------------------


class _Tagger(proa.nn.Layer):
    """Words to marks: what a small BERT does, with a mask made of the ids."""

    def __init__(self):
        super().__init__()
        self.words, self.places = proa.nn.Embedding(20, 16, padding_idx=0), proa.nn.Embedding(32, 16)
        layer = proa.nn.TransformerEncoderLayer(16, 2, 32, activation="gelu")
        self.encoder, self.norm = proa.nn.TransformerEncoder(layer, 2), proa.nn.LayerNorm(16)
        self.pooler, self.heads = proa.nn.Linear(16, 16), proa.nn.Linear(16, 3)

    def forward(self, ids):
        mask = proa.unsqueeze((ids == 0).astype("float32") * -1e4, [1, 2])
        ones = proa.ones_like(ids)
        x = self.norm(self.words(ids) + self.places(proa.cumsum(ones, axis=1) - ones))
        x = self.encoder(x, mask)
        return self.heads(x), proa.tanh(self.pooler(x[:, 0]))


@proa.jit.to_static
def _flow(x):
    if proa.mean(x) > 0:
        y = x * 2.0
    else:
        y = x - 1.0
    count = proa.zeros([1])
    while proa.sum(y) > 1.0:
        y, count = y * 0.5, count + 1.0
        if count > 3.0:
            y = y - 0.25
    return y, count


@proa.jit.to_static
def _swapped(x):
    """Two values that take each other's place in every turn."""
    a, b = x, x + 1.0
    i = proa.zeros([1])
    while i < 3.0:
        a, b, i = b, a, i + 1.0
    return a, b


def _vision(name, size):
    return lambda: (getattr(proa.vision.models, name)(num_classes=10), [InputSpec([None, 3, size, size])], [(3, size)])


def _recurrent(cell, direction):
    def made():
        net = getattr(proa.nn, cell)(4, 5, num_layers=2, direction=direction)
        return net, [InputSpec([None, None, 4])], [[(2, 5, 4)], [(3, 7, 4)]]

    return made


MODELS = {
    "lenet": lambda: (proa.vision.models.LeNet(), [InputSpec([None, 1, 28, 28])], [[(2, 1, 28, 28)], [(3, 1, 28, 28)]]),
    "bert": lambda: (_Tagger(), [InputSpec([None, None], "int64")], [[(2, 5)], [(3, 9)]]),
    "flow": lambda: (_flow, [InputSpec([None, 3])], [[(4, 3)], [(2, 3)], [(1, 3)]]),
    "swapped": lambda: (_swapped, [InputSpec([None, 3])], [[(2, 3)]]),
}
for _cell in ("LSTM", "GRU", "SimpleRNN"):
    for _direction in ("forward", "bidirect"):
        MODELS[f"{_cell.lower()}_{_direction}"] = _recurrent(_cell, _direction)
for _name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_0", "shufflenet_v2_x0_25"):
    MODELS[_name] = _vision(_name, 64 if _name == "squeezenet1_0" else 32)


def _cases_of(specs, cases):
    """The lists of shapes; for images two batches."""
    if isinstance(cases[0], tuple):
        channels, size = cases[0]
        return [[(1, channels, size, size)], [(2, channels, size, size)]]
    return cases


@pytest.mark.parametrize("name", MODELS)
def test_models(name, tmp_path):
    proa.seed(1)
    layer, specs, cases = MODELS[name]()
    _agrees(layer, specs, _cases_of(specs, cases), str(tmp_path / "sub" / "model"))
    assert sorted(p.name for p in (tmp_path / "sub").iterdir()) == ["model.pdiparams", "model.pdmodel"]


def test_parameters_and_buffers_stay_what_they_are(tmp_path):
    net, specs = proa.vision.models.resnet18(num_classes=10), [InputSpec([None, 3, 32, 32])]
    proa.jit.save(net, str(tmp_path / "m"), specs, format="paddle")
    again = proa.jit.load(str(tmp_path / "m"))
    assert len(again.parameters()) == sum(not p.stop_gradient for p in net.parameters())
    found = {n: t.numpy() for n, t in again._module.captured if n}
    for name, tensor in net.state_dict().items():
        assert np.array_equal(found[name], tensor.numpy()), name
    assert proa.inference.create_predictor(proa.inference.Config(str(tmp_path / "m"))).get_input_names() == ["x0"]


@pytest.mark.parametrize("open_batch", [False, True], ids=["sizes", "open batch"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, open_batch, tmp_path):
    """Every layer in evaluation mode gives the same when it is saved and loaded, or is refused in a sentence."""
    layer, text = layer_of(name)
    layer.eval()
    case = Case(name, text, layer)
    given, function = case.bind(*case.arguments())
    shapes = [[-1 if open_batch and case.batched(t) and i == 0 else n for i, n in enumerate(t.shape)] for t in given]
    specs = [InputSpec(shape, t.dtype, f"x{k}") for k, (shape, t) in enumerate(zip(shapes, given, strict=True))]
    path = str(tmp_path / "m")
    if name in _NO_FORM:
        with pytest.raises(NotImplementedError, match=_NO_FORM[name]):
            proa.jit.save(function, path, specs, format="paddle")
        assert not list(tmp_path.iterdir())
        return
    proa.jit.save(function, path, specs, format="paddle")
    got = _flat(proa.jit.load(path)(*given))
    _same([t.numpy() for t in got], [t.numpy() for t in _flat(function(*given))], 5e-5, 5e-5, name)


# Layers without a form in the format, and what they lack.
_NO_FORM = {"CTCLoss": "ctc_loss", "MaxUnPool1D": "max_unpool1d"}


# Programs, files, errors -------------------------------------------------------------------------------------------------


def test_a_static_program(tmp_path):
    main = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(main):
            x = proa.static.data("x", [None, 4])
            y = proa.nn.functional.dropout(proa.static.nn.fc(x, 3), 0.5)
            loss = proa.mean(y)
            proa.optimizer.SGD(0.1).minimize(loss)
        exe, path, a = proa.static.Executor(), str(tmp_path / "p"), np.ones([2, 4], "float32")
        proa.static.save_inference_model(path, [x], [y], exe, program=main, format="paddle")
        want = exe.run(main.clone(for_test=True), feed={"x": a}, fetch_list=[y])
        program, names, targets = proa.static.load_inference_model(path, exe)
        got = exe.run(program, feed={names[0]: a}, fetch_list=targets)
    finally:
        proa.disable_static()
    assert names == ["x"]
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)


class _Spread(proa.nn.Layer):
    def forward(self, x):
        return proa.std(x, 0), proa.var(x, [0, 1], keepdim=True), proa.var(x, 1), proa.var(x)


def test_unbiased_variance_over_a_size_that_is_open(tmp_path):
    shapes = [[(5, 3)], [(2, 3)], [(1, 3)]]  # over one element it is not a number
    _agrees(_Spread(), [InputSpec([None, 3], "float32", "x")], shapes, str(tmp_path / "m"), 1e-6)


def test_what_was_loaded_is_saved_again(tmp_path):
    """There and back: PaddlePaddle's file, ours, PaddlePaddle's."""
    folder = pathlib.Path(__file__).parent / "reference_models"
    data, net = np.load(folder / "lenet.npz"), proa.jit.load(str(folder / "lenet"))
    image = proa.to_tensor(data["in/n_image"])
    proa.jit.save(
        net, str(tmp_path / "m"), [InputSpec([None, *image.shape[1:]], "float32", "n_image")], format="paddle"
    )
    _same([proa.jit.load(str(tmp_path / "m"))(image).numpy()], [data["out/0"]], 2e-4, 2e-5)


def test_inputs_and_parameters_may_be_results(tmp_path):
    weight = proa.to_tensor([1.0, 2.0])
    proa.jit.save(lambda x: (x, weight, x), str(tmp_path / "m"), [InputSpec([2], name="x")], format="paddle")
    got = proa.jit.load(str(tmp_path / "m"))(proa.to_tensor([3.0, 4.0]))
    assert [t.tolist() for t in got] == [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool"])
def test_parameters_of_every_dtype(dtype, tmp_path):
    held = proa.to_tensor([[0, 1], [1, 0]]).astype(dtype)
    proa.jit.save(lambda x: proa.concat([x, held]), str(tmp_path / "m"), [InputSpec([None, 2], dtype)], format="paddle")
    got = proa.jit.load(str(tmp_path / "m"))(held)
    assert got.dtype == held.dtype and got.astype("float32").tolist() == [[0, 1], [1, 0]] * 2


def test_what_the_format_cannot_say_is_listed_with_lines_and_nothing_is_written(tmp_path):
    def f(x):
        a = proa.linalg.lstsq(x, x)[0]
        return a + proa.frac(x)

    with pytest.raises(NotImplementedError) as error:
        proa.jit.save(f, str(tmp_path / "m"), [InputSpec([3, 3])], format="paddle")
    text = str(error.value)
    assert "2 operations" in text and "lstsq(x: [3, 3] float32" in text and "frac(x: [3, 3] float32)" in text
    assert text.count("pdmodel_test.py:") == 2 and not list(tmp_path.iterdir())


def test_an_unknown_format(tmp_path):
    with pytest.raises(ValueError, match="format must be 'proa' or 'paddle', not 'torch'"):
        proa.jit.save(proa.nn.Linear(2, 2), str(tmp_path / "m"), [InputSpec([1, 2])], format="torch")
    with pytest.raises(ValueError, match="format must be 'proa' or 'paddle', not 3"):
        proa.static.save_inference_model(str(tmp_path / "m"), [], [], format=3)


# Ops ---------------------------------------------------------------------------------------------------------------------


def test_rules_have_the_parameters_of_their_ops():
    registered = {d["name"]: [p["name"] for p in d["params"]] for d in _C.op_registry()}
    names = set(convert.rules()) - {"cond", "while", "detach"}
    assert names <= set(registered), names - set(registered)
    for name in names:
        assert list(inspect.signature(convert.rules()[name]).parameters) == registered[name], name


def test_rules_give_types_that_are_read_again():
    known = set(_C.reference_op_types())
    assert {i.type for found in inverse.inverses().values() for i in found} <= known
    assert len(inverse.inverses()) > 80


@functools.cache
def _ops():
    with_rule = {*convert.rules(), *inverse.inverses()}
    return {name: op for name, op in suite.all_ops().items() if name in with_rule and op.kernel}


@pytest.mark.parametrize("unknown", [False, True], ids=["sizes", "open sizes"])
def test_samples_of_ops(unknown, tmp_path):
    """The samples of all ops that have a rule give the same when they are written and read, or are refused."""
    agreed, wrong = 0, []
    for op in _ops().values():
        for case in _cases(op):
            recorded = suite.record(case, unknown)
            if recorded is None or not all(_C.is_symbolic(t) for t in recorded._outputs):
                continue
            path = str(tmp_path / "m")
            try:
                reference.save("test", path, recorded._program, list(recorded._feeds), recorded._outputs)
                got = _C.load_program(os.fsencode(path)).run(list(recorded._feeds.values()))
                for a, t in zip(got, case.call(), strict=True):
                    _same([a.numpy()], [t.numpy()], *_TOLERANCE.get(t.dtype.name, (0, 0)), case.where)
                agreed += 1
            except NotImplementedError:
                continue
            except Exception as error:  # all are reported
                wrong.append(f"{case.where}: {error}"[:400])
    assert not wrong, f"{len(wrong)} differ, {agreed} agree\n" + "\n".join(wrong)
    assert agreed > 0, agreed


def _cases(op):
    found = [s for s in suite.samples_of(op) if not op.random]
    found = [s for s in found if not any(spec.dtype in ("complex64", "complex128", "bfloat16") for spec in s.specs())]
    found.sort(key=lambda s: not any(spec.dtype == "float32" for spec in s.specs()))
    return [suite.Case(proa, op, sample) for sample in found[:4]]


def _write(folder):
    """Models and layers, and what they give."""
    for name, made in MODELS.items():
        proa.seed(1)
        layer, specs, cases = made()
        path = os.path.join(folder, name)
        _write_results(path, *_agrees(layer, specs, _cases_of(specs, cases)[:1], path))
    for name in LAYERS:
        layer, text = layer_of(name)
        layer.eval()
        case = Case(name, text, layer)
        given, function = case.bind(*case.arguments())
        if name not in _NO_FORM:
            path, specs = os.path.join(folder, name), [InputSpec(t.shape, t.dtype) for t in given]
            proa.jit.save(function, path, specs, format="paddle")
            _write_results(path, [t.numpy() for t in given], [t.numpy() for t in _flat(function(*given))])


def _write_results(path, arrays, results):
    results = {f"out/{i}": t for i, t in enumerate(results)}
    np.savez(f"{path}.npz", **{f"in/{i}": a for i, a in enumerate(arrays)}, **results)


if __name__ == "__main__":
    _write(sys.argv[1])
