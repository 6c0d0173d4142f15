"""Detection as ops: programs of open sizes, saved ones without the process that made them, files of other formats, and how much memory they take."""

import resource
import subprocess
import sys

import numpy as np
import pytest

import proa
from proa.vision import ops
from python.tests import reference_vision_ops

_RNG = np.random.RandomState(11)


def _floats(*shape):
    return _RNG.rand(*shape).astype("float32")


def _boxes(*shape, side=20.0):
    count = int(np.prod(shape))
    return reference_vision_ops._boxes(_RNG, count, side).reshape(*shape, 4)


_A, _H, _W = 2, 3, 4
GIVEN = {
    "boxes": _boxes(30), "scores": _floats(30), "kinds": _RNG.randint(0, 3, 30).astype("int64"), "many": _boxes(2, 25), "points": _floats(2, 3, 25),
    "probs": _floats(2, _A, _H, _W), "codes": (_RNG.randn(2, 4 * _A, _H, _W) / 2).astype("float32"), "size": np.array([[40, 50], [30, 60]], "float32"),
    "anchors": _boxes(_H, _W, _A), "spread": _floats(_H, _W, _A, 4), "count": np.array([13, 17], "int32"), "x": _RNG.randn(2, 14, _H, _W).astype("float32"),
    "images": np.array([[96, 64], [80, 120]], "int32"), "truth": _RNG.uniform(0.1, 0.6, (2, 4, 4)).astype("float32"),
    "label": _RNG.randint(0, 2, (2, 4)).astype("int32"),
}  # fmt: skip
# What stays open beside these; the rest of each shape is known.
_KNOWN = {"boxes": {1: 4}, "many": {2: 4}, "codes": {1: 4 * _A}, "size": {1: 2}, "anchors": {2: _A, 3: 4}, "spread": {2: _A, 3: 4}, "x": {1: 14}, "images": {1: 2}, "truth": {2: 4}, "probs": {1: _A}}  # fmt: skip


def _results(boxes, scores, kinds, many, points, probs, codes, size, anchors, spread, count, x, images, truth, label):
    levels, restore, numbers = ops.distribute_fpn_proposals(boxes, 2, 4, 3, 16, rois_num=count)
    return [
        ops.nms(boxes, 0.3, scores),
        ops.nms(boxes, 0.3, scores, kinds, [0, 2], 5),
        *proa._C.ops.multiclass_nms(many, points, None, 0.2, 10, 7),
        *ops.matrix_nms(many, points, 0.2, 0.1, 10, 7, return_index=True),
        *ops.generate_proposals(probs, codes, size, anchors, spread, 20, 5, pixel_offset=True, return_rois_num=True),
        *levels, restore, *numbers,
        *proa._C.ops.bipartite_match(points, "per_prediction", 0.7),
        *proa._C.ops.anchor_generator(x, [32.0, 64.0], [0.5, 1.0], [16.0, 16.0]),
        *ops.prior_box(x, x, [2.0], [3.0], clip=True),
        ops.box_coder(boxes, [0.1, 0.1, 0.2, 0.2], boxes),
        *ops.yolo_box(x, images, [10, 13, 16, 30], 2, 0.1, 32),
        ops.yolo_loss(x, truth, label, [10, 13, 16, 30], [0, 1], 2, 0.5, 32),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def eager():
    return [t.numpy() for t in _results(**{name: proa.to_tensor(value) for name, value in GIVEN.items()})]


def _recorded():
    program = proa.static.Program()
    with proa.static.program_guard(program):
        inputs = {}
        for name, value in GIVEN.items():
            shape = [_KNOWN.get(name, {}).get(i) for i in range(value.ndim)]
            inputs[name] = proa.static.data(name, shape, str(value.dtype))
        fetch = _results(**inputs)
    return program, inputs, fetch


@pytest.fixture
def static():
    proa.enable_static()
    yield
    proa.disable_static()


def _same(found, eager):
    assert len(found) == len(eager)
    for ours, other in zip(found, eager):
        np.testing.assert_allclose(ours, other, rtol=1e-6, atol=1e-6)


def test_programs_of_open_sizes(static, eager):
    program, _, fetch = _recorded()
    _same(proa.static.Executor().run(program, feed=GIVEN, fetch_list=fetch), eager)


def test_a_saved_program_in_another_process(static, eager, tmp_path):
    """Nothing of it is a function of the process that saved it."""
    program, inputs, fetch = _recorded()
    prefix = str(tmp_path / "detector")
    proa.static.save_inference_model(prefix, list(inputs.values()), fetch, proa.static.Executor(), program=program)
    np.savez(tmp_path / "given.npz", **GIVEN)
    code = f"""
import numpy as np, proa
from proa import inference
given = dict(np.load({str(tmp_path / "given.npz")!r}))
predictor = inference.create_predictor(inference.Config({prefix + ".pdmodel"!r}, {prefix + ".pdiparams"!r}))
for name in predictor.get_input_names():
    predictor.get_input_handle(name).copy_from_cpu(given[name])
predictor.run()
found = [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]
np.savez({str(tmp_path / "found.npz")!r}, *found)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    found = np.load(tmp_path / "found.npz")
    _same([found[name] for name in found.files], eager)


def test_what_fluid_gives_is_saved_too(static, tmp_path):
    from proa import fluid

    prefix = str(tmp_path / "picker")
    program = proa.static.Program()
    with proa.static.program_guard(program):
        many, points = proa.static.data("many", [None, 25, 4]), proa.static.data("points", [None, 3, 25])
        fetch = [
            fluid.layers.multiclass_nms(many, points, 0.2, -1, -1),
            fluid.layers.matrix_nms(many, points, 0.2, 0.1, -1, -1),
        ]
    executor = proa.static.Executor()
    proa.static.save_inference_model(prefix, [many, points], fetch, executor, program=program)
    loaded, names, outputs = proa.static.load_inference_model(prefix, executor)
    feed = {"many": GIVEN["many"], "points": GIVEN["points"]}
    assert set(names) == set(feed)
    found = executor.run(loaded, feed=feed, fetch_list=outputs)
    assert "py_func" not in str(loaded)
    _same(found, executor.run(program, feed=feed, fetch_list=fetch))


@pytest.mark.parametrize("eta,gaussian", [(1.0, False), (0.9, True)])
def test_memory_is_linear(eta, gaussian):
    """30,000 boxes, of which the pairs alone would take 3.6 GB."""
    n = 30000
    corner = np.random.RandomState(0).rand(n, 2) * 4000
    boxes = proa.to_tensor(np.concatenate([corner, corner + 20], 1).astype("float32"))
    scores = proa.to_tensor(np.random.RandomState(1).rand(n).astype("float32"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = ops.nms(boxes, 0.5, scores)
    assert n // 2 < len(kept) < n
    many = boxes.unsqueeze(0), scores.reshape([1, 1, n])
    assert len(proa._C.ops.multiclass_nms(*many, None, 0.0, -1, -1, 0.5, True, eta, -1)[0]) <= len(kept)
    assert len(
        ops.matrix_nms(many[0][:, :2000], many[1][:, :, :2000], 0.0, 0.0, -1, -1, gaussian, background_label=-1)[0]
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def test_gradients_of_decoded_boxes_and_of_the_loss():
    """Those of codes; measures have none. The second derivative of the loss is its curvature."""
    prior, code = proa.to_tensor(_boxes(3)), proa.to_tensor(_floats(2, 3, 4), stop_gradient=False)
    prior.stop_gradient = False
    ops.box_coder(prior, None, code, "decode_center_size").square().sum().backward()
    assert code.grad is not None and prior.grad is None
    x = proa.to_tensor(GIVEN["x"].astype("float64"), stop_gradient=False)
    truth, label = proa.to_tensor(GIVEN["truth"].astype("float64")), proa.to_tensor(GIVEN["label"])
    loss = ops.yolo_loss(x, truth, label, [10, 13, 16, 30], [0, 1], 2, 0.5, 32).sum()
    (slope,) = proa.grad(loss, [x], create_graph=True)
    direction = proa.to_tensor(np.random.RandomState(2).randn(*x.shape))
    (bend,) = proa.grad((slope * direction).sum(), [x])
    step = 1e-5
    ahead, behind = (
        proa.grad(ops.yolo_loss(moved, truth, label, [10, 13, 16, 30], [0, 1], 2, 0.5, 32).sum(), [moved])[0]
        for moved in ((x + s * direction).detach() for s in (step, -step))
        if not setattr(moved, "stop_gradient", False)
    )
    np.testing.assert_allclose(bend.numpy(), (ahead - behind).numpy() / (2 * step), rtol=1e-4, atol=1e-5)


def test_a_class_that_there_is_not():
    x, truth = proa.ones([1, 7, 2, 2]), proa.full([1, 1, 4], 0.5)
    with pytest.raises(IndexError, match="class 2 of box 0 of image 0 is out of range for 2 classes"):
        ops.yolo_loss(x, truth, proa.to_tensor([[2]], dtype="int32"), [32, 32], [0], 2, 0.7, 32)
    empty = proa.zeros([1, 1, 4])  # no box: its class is not looked at
    assert ops.yolo_loss(x, empty, proa.to_tensor([[-1]], dtype="int32"), [32, 32], [0], 2, 0.7, 32).shape == [1]


def test_the_names_of_the_reference():
    """`_C_ops`, attributes by name and value."""
    many, points = proa.to_tensor(GIVEN["many"]), proa.to_tensor(GIVEN["points"])
    rows, index, count = proa._C_ops.multiclass_nms3(
        many, points, None, "background_label", -1, "score_threshold", 0.2, "nms_top_k", 10, "nms_threshold", 0.4, "keep_top_k", 7,
        "nms_eta", 1.0, "normalized", False,
    )  # fmt: skip
    want = proa._C.ops.multiclass_nms(many, points, None, 0.2, 10, 7, 0.4, False, 1.0, -1)
    for a, b in zip((rows, index, count), want):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
