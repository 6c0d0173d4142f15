"""onnx.export: models in ONNX Runtime beside ours."""

import functools
import importlib.util
import inspect
import subprocess
import sys

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa.static import InputSpec
from python.tests.layer_cases import LAYERS, layer_of
from python.tests.public_cases import Case

_PACKAGES = [p for p in ("onnx", "onnxruntime") if importlib.util.find_spec(p) is None]
_needed = pytest.mark.skipif(bool(_PACKAGES), reason=f"not installed: {_PACKAGES}; requirements-dev.txt has them")
if not _PACKAGES:
    import onnx

    from proa.onnx import convert
    from python.tests import onnx_run
_TOLERANCE = {"float16": (5e-3, 5e-3), "float32": (3e-5, 3e-5), "float64": (1e-6, 1e-6)}


def _array(rng, shape, dtype):
    return rng.integers(0, 5, shape) if dtype == "int64" else rng.standard_normal(shape).astype(dtype)


def _agrees(layer, specs, shapes, tmp_path, tolerance=1e-4, **configs):
    """That the exported model gives what the layer gives, for inputs of each of these lists of shapes."""
    proa.onnx.export(layer, str(tmp_path / "model"), specs, **configs)
    model = onnx.load(str(tmp_path / "model.onnx"))
    rng = np.random.default_rng(0)
    if hasattr(layer, "eval"):
        layer.eval()
    for case in shapes:
        arrays = [_array(rng, shape, spec.dtype.name) for shape, spec in zip(case, specs, strict=True)]
        with proa.no_grad():
            want = [t.numpy() for t in onnx_run.tensors(layer(*[proa.to_tensor(x) for x in arrays]))]
        got = onnx_run.run(model, dict(zip([i.name for i in model.graph.input], arrays, strict=True)))
        for a, b in zip(got, want, strict=True):  # beside the largest element: fresh networks give small numbers
            onnx_run.same([a], [b], tolerance, tolerance * float(np.abs(b).max()), str(case))
    return model


# Models ------------------------------------------------------------------------------------------------------------------


@_needed
@pytest.mark.parametrize("opset", [9, 13, 17, 21])
def test_lenet_in_versions(opset, tmp_path):
    proa.seed(1)
    model = _agrees(
        proa.vision.models.LeNet(),
        [InputSpec([None, 1, 28, 28])],
        [[(2, 1, 28, 28)], [(5, 1, 28, 28)]],
        tmp_path,
        opset_version=opset,
    )
    assert model.opset_import[0].version == opset
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "x0_dim_0"


@_needed
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_vision_models(name, tmp_path):
    proa.seed(2)
    net = getattr(proa.vision.models, name)(num_classes=10)
    _agrees(net, [InputSpec([None, 3, 32, 32])], [[(1, 3, 32, 32)], [(3, 3, 32, 32)]], tmp_path)


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


@_needed
def test_transformer(tmp_path):
    proa.seed(3)
    _agrees(_Tagger(), [InputSpec([None, None], "int64")], [[(2, 5)], [(3, 9)]], tmp_path)


@_needed
@pytest.mark.parametrize("cell", ["LSTM", "GRU", "SimpleRNN"])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_recurrent(cell, direction, tmp_path):
    proa.seed(4)
    net = getattr(proa.nn, cell)(4, 5, num_layers=2, direction=direction)
    _agrees(net, [InputSpec([None, None, 4])], [[(2, 5, 4)], [(3, 7, 4)]], tmp_path)


class _OneStage(proa.nn.Layer):
    """What PP-YOLO does: codes of boxes of a grid, decoded, and nms of each class."""

    def __init__(self):
        super().__init__()
        self.body = proa.nn.Sequential(proa.nn.Conv2D(3, 8, 3, 4, 1), proa.nn.BatchNorm2D(8), proa.nn.Mish())
        self.head = proa.nn.Conv2D(8, 3 * (5 + 4), 1)

    def forward(self, x, sizes):
        codes = self.head(self.body(x))
        anchors = [10, 13, 16, 30, 33, 23]
        boxes, scores = proa.vision.ops.yolo_box(codes, sizes.astype("int32") + 60, anchors, 4, 0.01, 4)
        scores = proa.transpose(scores, [0, 2, 1])
        return proa._C.ops.multiclass_nms(
            boxes, scores, score_threshold=0.2, nms_top_k=30, keep_top_k=9, nms_threshold=0.45, background_label=-1
        )


class _TwoStages(proa.nn.Layer):
    """What Faster R-CNN does: proposals, shared out among levels, cut out, classified, and nms."""

    def __init__(self):
        super().__init__()
        self.first, self.second = proa.nn.Conv2D(3, 8, 3, 4, 1), proa.nn.Conv2D(8, 8, 3, 2, 1)
        self.scores, self.codes = proa.nn.Conv2D(8, 2, 1), proa.nn.Conv2D(8, 8, 1)
        self.head = proa.nn.Linear(8 * 9, 3 + 4)
        rng = np.random.default_rng(5)
        corners = rng.uniform(0, 40, [8, 8, 2, 2])
        anchors = np.concatenate([corners, corners + rng.uniform(8, 24, [8, 8, 2, 2])], -1)
        self.register_buffer("anchors", proa.to_tensor(anchors.astype("float32")))

    def forward(self, x):
        ops, images = proa.vision.ops, x.shape[0]
        fine = proa.nn.functional.relu(self.first(x))
        coarse = proa.nn.functional.relu(self.second(fine))
        size = proa.full([images, 2], 64.0)
        rois, _, count = ops.generate_proposals(
            proa.nn.functional.sigmoid(self.scores(coarse)), self.codes(coarse), size, self.anchors,
            proa.ones_like(self.anchors), 60, 12, 0.7, 4.0, return_rois_num=True,
        )  # fmt: skip
        by_level, order, counts = ops.distribute_fpn_proposals(rois, 2, 3, 3, 24, rois_num=count)
        cut = [
            ops.roi_align(f, r, n, 3, scale, 2)
            for f, r, n, scale in zip((fine, coarse), by_level, counts, (0.25, 0.125), strict=True)
        ]
        features = proa.gather(proa.concat(cut), order.flatten())
        codes = self.head(proa.flatten(features, 1))
        scores = proa.nn.functional.softmax(codes[:, :3])
        boxes = (rois + codes[:, 3:]).unsqueeze(1).expand([-1, 3, 4])
        return proa._C.ops.multiclass_nms(boxes, scores, count, score_threshold=0.3, keep_top_k=6, nms_threshold=0.5)


@_needed
@pytest.mark.parametrize("stages", [1, 2])
def test_detectors(stages, tmp_path):
    proa.seed(4)
    specs = [InputSpec([None, 3, 64, 64]), InputSpec([None, 2], "int64")]
    shapes = [[(1, 3, 64, 64), (1, 2)], [(3, 3, 64, 64), (3, 2)]]
    if stages == 1:
        _agrees(_OneStage(), specs, shapes, tmp_path, 1e-3)
    else:
        _agrees(_TwoStages(), specs[:1], [s[:1] for s in shapes], tmp_path, 1e-3)


@_needed
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("settings", [
    {}, {"score_threshold": 0.3, "nms_top_k": 5, "keep_top_k": 4}, {"nms_top_k": 400, "keep_top_k": 100},
    {"score_threshold": 0.2, "keep_top_k": 3, "background_label": -1, "normalized": False},
    {"score_threshold": 0.9999, "mark_none": True}, {"score_threshold": 0.5, "mark_none": True, "nms_threshold": 0.6},
])  # fmt: skip
def test_multiclass_nms(listed, settings, tmp_path):
    """With and without boxes, some or all of which stay; images with the same number of boxes, or in one list."""
    several = not listed or "nms_top_k" not in settings
    function = functools.partial(proa._C.ops.multiclass_nms, **settings)
    if listed:
        specs = [InputSpec([None, 3, 4]), InputSpec([None, 3]), InputSpec([None if several else 1], "int32")]
    else:
        specs = [InputSpec([None, None, 4]), InputSpec([None, 3, None])]
    proa.onnx.export(lambda *given: function(*given), str(tmp_path / "m"), specs)
    model = onnx.load(str(tmp_path / "m.onnx"))
    names = [i.name for i in model.graph.input]
    for seed, counts in enumerate([[9], [4, 5], [0, 7, 3], [1], [20], [0]] if several else [[9], [4], [1], [20], [0]]):
        rng = np.random.default_rng(seed)
        lead = [sum(counts), 3] if listed else [len(counts), counts[0]]
        boxes = rng.uniform(0, 40, [*lead, 4]).astype("float32")
        boxes[..., 2:] = boxes[..., :2] + rng.uniform(1, 25, [*lead, 2]).astype("float32")
        scores = rng.random([lead[0], 3] if listed else [lead[0], 3, lead[1]]).astype("float32")
        given = [boxes, scores, np.array(counts, "int32")][: len(names)]
        want = [t.numpy() for t in function(*[proa.to_tensor(x) for x in given])]
        onnx_run.same(onnx_run.run(model, dict(zip(names, given, strict=True))), want, 0, 0, str(counts))


# Layers without a form in ONNX, and what they lack.
_NO_FORM = {"CTCLoss": "ctc_loss"}


@_needed
@pytest.mark.parametrize("open_batch", [False, True], ids=["sizes", "open batch"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, open_batch, tmp_path):
    """Every layer in evaluation mode gives in ONNX Runtime what it gives here."""
    layer, text = layer_of(name)
    layer.eval()
    case = Case(name, text, layer)
    given, function = case.bind(*case.arguments())
    shapes = [[-1 if open_batch and case.batched(t) and i == 0 else n for i, n in enumerate(t.shape)] for t in given]
    specs = [InputSpec(shape, t.dtype, f"x{k}") for k, (shape, t) in enumerate(zip(shapes, given, strict=True))]
    path = str(tmp_path / "m.onnx")
    if name in _NO_FORM:
        with pytest.raises(NotImplementedError, match=_NO_FORM[name]):
            proa.onnx.export(function, path, specs)
        return
    proa.onnx.export(function, path, specs)
    got = onnx_run.run(onnx.load(path), {f"x{k}": t.numpy() for k, t in enumerate(given)})
    onnx_run.same(got, [t.numpy() for t in onnx_run.tensors(function(*given))], 5e-5, 5e-5, name)


# Control flow, programs --------------------------------------------------------------------------------------------------


@_needed
def test_branches_and_loops(tmp_path):
    @proa.jit.to_static
    def f(x):
        if proa.mean(x) > 0:
            y = x * 2.0
        else:
            y = x - 1.0
        count = proa.zeros([1])
        while proa.sum(y) > 1.0:
            y = y * 0.5
            count += 1.0
        return y, count

    model = _agrees(f, [InputSpec([None, 3])], [[(2, 3)], [(4, 3)], [(1, 3)]], tmp_path)
    assert {n.op_type for n in model.graph.node} >= {"If", "Loop"}


@_needed
def test_a_static_program(tmp_path):
    main = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(main):
            x = proa.static.data("x", [None, 4])
            y = proa.nn.functional.dropout(proa.static.nn.fc(x, 3), 0.5)
            loss = proa.mean(y)
            proa.optimizer.SGD(0.1).minimize(loss)
        proa.onnx.export_program(str(tmp_path / "p.onnx"), x, [y], main)
        a = np.ones([2, 4], "float32")
        want = proa.static.Executor().run(main.clone(for_test=True), feed={"x": a}, fetch_list=[y])
    finally:
        proa.disable_static()
    got = onnx_run.run(onnx.load(str(tmp_path / "p.onnx")), {"x": a})
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)


@_needed
@pytest.mark.parametrize(
    "give",
    [lambda x, w: w.detach(), lambda x, w: (x + w, w.detach()), lambda x, w: w],
    ids=["alone", "beside", "parameter"],
)
def test_a_result_that_no_operation_made(give, tmp_path):
    class Gives(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight = self.create_parameter([3])

        def forward(self, x):
            return give(x, self.weight)

    net = Gives()
    proa.onnx.export(net, str(tmp_path / "m"), [InputSpec([2, 3], "float32", "x")])
    got = onnx_run.run(onnx.load(str(tmp_path / "m.onnx")), {"x": np.ones([2, 3], "float32")})
    np.testing.assert_array_equal(got[-1], net.weight.numpy())


@_needed
def test_a_loaded_model(tmp_path):
    net = proa.nn.Linear(3, 2)
    proa.jit.save(net, str(tmp_path / "saved"), [InputSpec([None, 3])])
    _agrees(proa.jit.load(str(tmp_path / "saved")), [InputSpec([None, 3])], [[(2, 3)], [(1, 3)]], tmp_path)


# Files, settings, errors -------------------------------------------------------------------------------------------------


@_needed
def test_parameters_in_a_file_of_their_own(tmp_path):
    net = proa.nn.Linear(40, 30)
    proa.onnx.export(net, str(tmp_path / "sub" / "m.onnx"), [InputSpec([None, 40])], external_data=True)
    assert (tmp_path / "sub" / "m.onnx.data").stat().st_size == 40 * 30 * 4
    model = onnx.load(str(tmp_path / "sub" / "m.onnx"))
    x = np.ones([2, 40], "float32")
    np.testing.assert_allclose(
        onnx_run.run(model, {model.graph.input[0].name: x})[0], net(proa.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-5
    )


@_needed
def test_outputs_are_chosen_and_named(tmp_path):
    def f(x):
        return x + 1.0, x

    proa.onnx.export(f, str(tmp_path / "m"), [InputSpec([2], name="a")], output_spec=[1], output_names=["same"])
    graph = onnx.load(str(tmp_path / "m.onnx")).graph
    assert [i.name for i in graph.input] == ["a"] and [o.name for o in graph.output] == ["same"]


@_needed
def test_what_onnx_cannot_say_is_listed_with_lines(tmp_path):
    def f(x):
        a = proa.linalg.svd(x)[1]
        return a + proa.digamma(x)[0]

    with pytest.raises(NotImplementedError) as error:
        proa.onnx.export(f, str(tmp_path / "m"), [InputSpec([3, 3])])
    text = str(error.value)
    assert "2 operations" in text and "svd(" in text and "digamma(x: [3, 3] float32)" in text
    assert text.count("onnx_test.py:") == 2 and "rules=" in text and not list(tmp_path.iterdir())


@_needed
def test_rules_of_ones_own(tmp_path):
    from proa.onnx.rule import onnx as nodes

    def digamma(x):
        return nodes.Digamma(x, domain="my.ops", outputs=[(x.dtype, x.shape)], scale=2)

    proa.onnx.export(
        proa.digamma, str(tmp_path / "m"), [InputSpec([3])], rules={"digamma": digamma}, enable_onnx_checker=False
    )
    model = onnx.load(str(tmp_path / "m.onnx"))
    assert model.graph.node[0].domain == "my.ops" and {s.domain for s in model.opset_import} == {"", "my.ops"}


@_needed
def test_a_later_version_is_taken_or_refused(tmp_path):
    spec = [InputSpec([3], "int32")]
    with pytest.warns(UserWarning, match="needs opset 14, later than 11"):
        proa.onnx.export(proa.nn.functional.relu, str(tmp_path / "m"), spec, opset_version=11)
    with pytest.raises(NotImplementedError, match="Relu takes no int32 before opset 14; give opset_version=14"):
        proa.onnx.export(proa.nn.functional.relu, str(tmp_path / "m"), spec, 11, auto_upgrade_opset=False)


@_needed
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"opset_version": 8}, ValueError, "opset_version must be 9 to"),
        ({"no_such": 1}, TypeError, "unknown configs"),
        ({"output_spec": [3]}, ValueError, "output_spec must hold"),
        ({"output_names": ["a", "b"]}, ValueError, "2 output_names for 1"),
        ({"input_spec": None}, ValueError, "input_spec is missing"),
    ],
)
def test_wrong_settings(arguments, error, text, tmp_path):
    with pytest.raises(error, match=text):
        proa.onnx.export(proa.nn.Linear(2, 2), str(tmp_path / "m"), **{"input_spec": [InputSpec([1, 2])], **arguments})


def test_without_the_package():
    code = (
        "import sys; sys.modules['onnx'] = None\nimport proa\n"
        "try: proa.onnx.export(proa.nn.Linear(2, 2), 'm', [proa.static.InputSpec([1, 2])])\n"
        "except ImportError as e: print(e)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install onnx" in out


# Ops ---------------------------------------------------------------------------------------------------------------------

# Why results differ, where ONNX Runtime is what differs.
_EXCEPT = {
    "nan": "infinities and NaN pass other ways through the operators of which ONNX has these made",
    "f32[0,3], axis=[0]": "a mean of nothing is 0 there",
}


# What the engine refuses when it runs: division of integers by zero, boxes that end before they begin.
_REFUSED = ("by zero", "safeint.h")


@functools.cache
def _ops():
    return {name: op for name, op in suite.all_ops().items() if name in convert.rules() and op.kernel}


def test_rules_have_the_parameters_of_their_ops():
    if _PACKAGES:
        pytest.skip("onnx is not installed")
    registered = {d["name"]: [p["name"] for p in d["params"]] for d in proa._C.op_registry()}
    names = set(convert.rules()) - {"cond", "while", "detach"}
    assert names <= set(registered), names - set(registered)
    for name in names:
        assert list(inspect.signature(convert.rules()[name]).parameters) == registered[name], name


@_needed
@pytest.mark.parametrize("unknown", [False, True], ids=["sizes", "open sizes"])
def test_samples_of_ops(unknown):
    """The samples of all ops that have a rule give in ONNX Runtime what they give here, or are refused in a sentence."""
    agreed, wrong = 0, []
    for op in _ops().values():
        for case in _cases(op):
            recorded = suite.record(case, unknown)
            if recorded is None or not all(proa._C.is_symbolic(t) for t in recorded._outputs):
                continue
            try:
                model = onnx_run.model_of(recorded._program, list(recorded._feeds), recorded._outputs)
                got = onnx_run.run(model, {n: t.numpy() for n, t in recorded._feeds.items()})
                if got is None:
                    continue
                for a, t in zip(got, case.call(), strict=True):
                    onnx_run.same([a], [t.numpy()], *_TOLERANCE.get(t.dtype.name, (0, 0)), case.where)
                agreed += 1
            except NotImplementedError:
                continue
            except Exception as error:  # all are reported
                if not any(text in str(error) for text in _REFUSED):
                    wrong.append(f"{case.where}: {error}"[:300])
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])
    assert agreed > (600 if unknown else 700), agreed


def _cases(op):
    """Some samples of an op: in float32, integers and truth values, what ONNX Runtime has kernels for."""
    found = []
    for sample in suite.samples_of(op):
        if any(s.dtype in ("bfloat16", "complex64", "complex128", "int8", "int16", "float16") for s in sample.specs()):
            continue
        if any(text in sample.text for text in _EXCEPT) or "bfloat16" in sample.text or op.random:
            continue
        found.append(sample)
    found.sort(key=lambda s: not any(spec.dtype == "float32" for spec in s.specs()))
    return [suite.Case(proa, op, sample) for sample in found[:4]]
