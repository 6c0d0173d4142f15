"""What detectors are trained towards (anchors, proposals): against loops of NumPy, with gradients and a training step."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers
from python.tests.detector_targets import (
    ANCHORS,
    CLASSES,
    CROWD,
    IMAGES,
    INFO,
    LABEL,
    LENGTHS,
    ROIS,
    ROIS_OF,
    TRUTH,
    N,
    anchor_targets,
    proposal_targets,
)

_RNG = np.random.RandomState(5)
PRED, LOGITS = (_RNG.randn(IMAGES, N, k).astype("float32") for k in (4, CLASSES))


def _run(build, **feed):
    main, start = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, start):
        fetches = build()
        exe = fluid.Executor()
        exe.run(start)
        return exe.run(main, feed=feed, fetch_list=fetches)


def _sequences(rows, lengths=LENGTHS):
    return fluid.create_lod_tensor(rows, [lengths])


def _inputs(classes):
    return [
        fluid.data("pred", [None, N, 4]),
        fluid.data("logits", [None, N, classes]),
        fluid.data("anchors", [N, 4]),
        None,
        fluid.data("truth", [None, 4], lod_level=1),
    ]


def _feed(classes):
    return {
        "pred": PRED,
        "logits": LOGITS[..., :classes],
        "anchors": ANCHORS,
        "truth": _sequences(TRUTH),
        "crowd": _sequences(CROWD),
        "info": INFO,
    }


def _rpn(**options):
    def build():
        crowd, info = fluid.data("crowd", [None, 1], "int32", lod_level=1), fluid.data("info", [None, 3])
        return list(layers.rpn_target_assign(*_inputs(1), crowd, info, **options))

    return _run(build, **_feed(1))


@pytest.mark.parametrize("straddle", [0.0, 10.0, -1.0])
@pytest.mark.parametrize("most", [256, 8])
def test_rpn(straddle, most):
    found = _rpn(rpn_batch_size_per_im=most, rpn_straddle_thresh=straddle, use_random=False)
    wanted, _ = anchor_targets(0.7, 0.3, straddle=straddle, label=np.ones_like(LABEL), positives=most // 2, most=most)
    places, scores, labels, targets, weights = wanted
    assert 3 <= len(places) < len(scores)
    wanted = [LOGITS[..., :1].reshape(-1, 1)[scores], PRED.reshape(-1, 4)[places], labels, targets, weights]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert found[2].dtype == np.int32


def test_rpn_takes_any():
    runs = [_rpn(rpn_batch_size_per_im=6, rpn_straddle_thresh=-1.0) for _ in range(4)]
    for scores, places, labels, target, _ in runs:
        assert len(scores) <= 18 and len(places) == len(target) == labels.sum() <= 9
        assert np.isin(scores[:, 0], LOGITS[..., 0]).all()
    assert any(len(r[0]) != len(runs[0][0]) or (r[0] != runs[0][0]).any() for r in runs[1:])


def test_retinanet_and_its_loss():
    def build():
        crowd, info = fluid.data("crowd", [None, 1], "int32", lod_level=1), fluid.data("info", [None, 3])
        label = fluid.data("label", [None, 1], "int32", lod_level=1)
        inputs = _inputs(CLASSES)
        for x in inputs[:2]:
            x.stop_gradient = False
        scores, places, labels, target, weight, count = layers.retinanet_target_assign(
            *inputs, label, crowd, info, CLASSES, 0.5, 0.4
        )
        whole = layers.reduce_sum(count)
        loss = layers.reduce_sum(layers.sigmoid_focal_loss(scores, labels, whole)) + layers.reduce_sum(
            layers.square(weight * (places - target))
        )
        return [scores, places, labels, target, weight, count, loss, *fluid.gradients(loss, inputs[:2])]

    found = _run(build, label=_sequences(LABEL), **_feed(CLASSES))
    (places, scores, labels, targets, weights), (counts, _) = anchor_targets(0.5, 0.4)
    wanted = [LOGITS.reshape(-1, CLASSES)[scores], PRED.reshape(-1, 4)[places], labels, targets, weights, np.reshape(counts, [-1, 1]) + 1]  # fmt: skip
    for ours, theirs in zip(found, wanted, strict=False):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    slope = np.zeros([IMAGES * N, 4])
    np.add.at(slope, places, weights * 2 * (PRED.reshape(-1, 4)[places] - targets) * weights)
    np.testing.assert_allclose(found[7].reshape(-1, 4), slope, rtol=1e-4, atol=1e-4)
    taken = (found[8] != 0).any(-1)
    assert taken.sum() == len(scores) < taken.size


def _proposals(**options):
    def build():
        rois = fluid.data("rois", [None, 4], lod_level=1)
        truth, crowd, label = (
            fluid.data(name, [None, size], dtype, lod_level=1)
            for name, size, dtype in [("truth", 4, "float32"), ("crowd", 1, "int32"), ("label", 1, "int32")]
        )
        info = fluid.data("info", [None, 3])
        more = {k: proa.to_tensor(v) if k == "max_overlap" else v for k, v in options.items()}
        results = layers.generate_proposal_labels(rois, label, crowd, truth, info, class_nums=CLASSES, **more)
        return [*results, *[layers.sequence_pool(r.astype("float32"), "sum") for r in results[:2]]]

    feed = {"rois": _sequences(ROIS, ROIS_OF), "truth": _sequences(TRUTH), "crowd": _sequences(CROWD)}
    return _run(build, label=_sequences(LABEL), info=INFO, **feed)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size_per_im": 4, "fg_fraction": 0.5},
        {"fg_thresh": 0.5, "bg_thresh_lo": 0.05, "bbox_reg_weights": [1.0, 1.0, 1.0, 1.0]},
        {"is_cls_agnostic": True},
        {"is_cascade_rcnn": True, "batch_size_per_im": 1},
        {
            "is_cascade_rcnn": True,
            "max_overlap": np.array([1, 0.5, 0.5, 1, 0.5, *[1] * 6, 0.5, 0.5, 0.5, 1], "float32"),
        },
        {"return_max_overlap": True},
    ],
)
def test_proposal_labels(options):
    found = _proposals(use_random=False, **options)
    more = {"before": options["max_overlap"]} if "max_overlap" in options else {}
    plain = {k: v for k, v in options.items() if k not in ("max_overlap", "return_max_overlap")}
    (rois, labels, codes, slots, overlaps), counts = proposal_targets(**more, **plain)
    assert 0 in labels and labels.max() > 0
    np.testing.assert_allclose(found[0], rois, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found[1], labels)
    np.testing.assert_allclose(found[2], codes, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found[3], slots)
    np.testing.assert_array_equal(found[4], slots)
    if "return_max_overlap" in options:
        np.testing.assert_allclose(found[5], overlaps, rtol=1e-5)
    sums = [part.sum() for part in np.split(labels, np.cumsum(counts)[:-1])]
    np.testing.assert_allclose(found[-1].reshape(-1), sums)  # the sequences are those of the images


def test_images_without_truths():
    """Everything of them is background, and no number is NaN."""

    def build():
        crowd, info = fluid.data("crowd", [None, 1], "int32", lod_level=1), fluid.data("info", [None, 3])
        return list(layers.rpn_target_assign(*_inputs(1), crowd, info, use_random=False, rpn_straddle_thresh=-1.0))

    feed = {**_feed(1), "truth": _sequences(TRUTH[:1], [0, 1, 0]), "crowd": _sequences(CROWD[:1], [0, 1, 0])}
    scores, places, labels, target, weight = _run(build, **feed)
    few = np.array([0, 1, 0]), TRUTH[:1], CROWD[:1], np.ones_like(LABEL[:1])
    wanted, _ = anchor_targets(0.7, 0.3, *few, positives=128, most=256)
    assert len(scores) == len(wanted[1]) > 2 * N - 1
    for ours, theirs in zip(
        (places, labels, target, weight), (PRED.reshape(-1, 4)[wanted[0]], *wanted[2:]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_errors():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        inputs = [
            *_inputs(1),
            fluid.data("label", [None, 1]),
            fluid.data("crowd", [None, 1]),
            fluid.data("info", [None, 3]),
        ]
        with pytest.raises(ValueError, match="cls_logits is of 1 classes, not of 3"):
            layers.retinanet_target_assign(*inputs, num_classes=3)
        with pytest.raises(ValueError, match="class_nums must be a positive int, not None"):
            layers.generate_proposal_labels(inputs[4], inputs[5], inputs[6], inputs[4], inputs[7])
