"""Programs of PaddlePaddle 1.x that train detectors, and those of several images: against loops of NumPy."""

import numpy as np
import pytest

import proa
from proa.vision import ops
from python.tests import detector_targets as wanted_by
from python.tests.detector_targets import ANCHORS, CLASSES, CROWD, INFO, LABEL, LENGTHS, ROIS, ROIS_OF, TRUTH, N
from python.tests.reference_program import run

_R = np.random.RandomState(7)
_TRUTHS = {"GtBoxes": 1, "IsCrowd": 1, "GtLabels": 1, "GtClasses": 1, "RpnRois": 1}
_ANCHOR_OUTPUTS = {"LocationIndex": "int32", "ScoreIndex": "int32", "TargetLabel": "int32", "TargetBBox": "float32",
                   "BBoxInsideWeight": "float32"}  # fmt: skip


def _same(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def _rpn(lengths=LENGTHS, truth=TRUTH, crowd=CROWD, **attributes):
    inputs = {"Anchor": ANCHORS, "GtBoxes": truth, "IsCrowd": crowd, "ImInfo": INFO}
    attributes = {"rpn_straddle_thresh": 0.0, "use_random": False, **attributes}
    return run("rpn_target_assign", inputs, _ANCHOR_OUTPUTS, attributes=attributes, lengths=(lengths,), levels=_TRUTHS)


@pytest.mark.parametrize("straddle", [0.0, 10.0, -1.0])
@pytest.mark.parametrize(("most", "fraction"), [(256, 0.5), (8, 0.5), (8, 0.25), (20, 0.0)])
@pytest.mark.parametrize("low", [0.3, 0.95])
def test_rpn_target_assign(straddle, most, fraction, low):
    """With 0.95, positive anchors are negative, too."""
    found, lengths = _rpn(rpn_straddle_thresh=straddle, rpn_batch_size_per_im=most, rpn_fg_fraction=fraction,
                          rpn_negative_overlap=low)  # fmt: skip
    limits = {"positives": int(most * fraction), "most": most} if fraction else {}
    wanted, counts = wanted_by.anchor_targets(0.7, low, straddle=straddle, label=np.ones_like(LABEL), **limits)
    _same(found, wanted)
    np.testing.assert_array_equal(lengths, counts[0])
    assert (low == 0.95) == (found[4] == 0).any()
    assert found[0].dtype == found[1].dtype == found[2].dtype == np.int32


@pytest.mark.parametrize("lengths", [[0, 1, 0], [0, 0, 0], [2, 0, 1]])
def test_rpn_of_images_without_truths(lengths):
    n = sum(lengths)
    given = {"truth": TRUTH[:n], "crowd": CROWD[:n]}
    found, counts = _rpn(
        np.int64(lengths), **given, rpn_straddle_thresh=-1.0, rpn_batch_size_per_im=10, rpn_fg_fraction=0.5
    )
    wanted, of = wanted_by.anchor_targets(0.7, 0.3, np.array(lengths), TRUTH[:n], CROWD[:n], np.ones_like(LABEL[:n]), positives=5, most=10)  # fmt: skip
    _same(found, wanted)
    np.testing.assert_array_equal(counts, of[0])


def test_rpn_whose_truths_do_not_count():
    found, _ = _rpn(crowd=np.ones_like(CROWD), rpn_straddle_thresh=-1.0)
    assert found[0].size == found[3].size == 0 and found[1].size == IMAGES_TIMES_ANCHORS and (found[2] == 0).all()


IMAGES_TIMES_ANCHORS = len(LENGTHS) * N


def test_rpn_takes_any():
    runs = []
    for seed in (1, 2, 3, 1):
        proa.seed(seed)
        runs.append(_rpn(rpn_straddle_thresh=-1.0, rpn_batch_size_per_im=6, rpn_fg_fraction=0.5, use_random=True)[0])
    every = set(wanted_by.anchor_targets(0.7, 0.3)[0][1])
    for found in runs:
        assert found[0].size == found[2].sum() <= 9 and found[1].size <= 18 and set(found[1].tolist()) <= every
        assert len(set(found[1].tolist())) == found[1].size
    assert any(not np.array_equal(r[1], runs[0][1]) for r in runs[1:3])
    np.testing.assert_array_equal(runs[0][1], runs[3][1])


@pytest.mark.parametrize(("high", "low"), [(0.5, 0.4), (0.9, 0.95)])
def test_retinanet_target_assign(high, low):
    inputs = {"Anchor": ANCHORS, "GtBoxes": TRUTH, "GtLabels": LABEL, "IsCrowd": CROWD, "ImInfo": INFO}
    outputs = {**_ANCHOR_OUTPUTS, "ForegroundNumber": "int32"}
    attributes = {"positive_overlap": high, "negative_overlap": low}
    found, lengths = run(
        "retinanet_target_assign", inputs, outputs, attributes=attributes, lengths=(LENGTHS,), levels=_TRUTHS
    )
    wanted, counts = wanted_by.anchor_targets(high, low)
    _same(found, [*wanted, np.reshape(counts[0], [-1, 1]) + 1])
    np.testing.assert_array_equal(lengths, counts[0])


_PROPOSAL_OUTPUTS = {"Rois": "float32", "LabelsInt32": "int32", "BboxTargets": "float32", "BboxInsideWeights": "float32",
                     "BboxOutsideWeights": "float32", "MaxOverlapWithGT": "float32"}  # fmt: skip


def _proposals(rois_of=ROIS_OF, **attributes):
    inputs = {"RpnRois": ROIS, "GtClasses": LABEL, "IsCrowd": CROWD, "GtBoxes": TRUTH, "ImInfo": INFO}
    levels = dict(_TRUTHS)
    if attributes.pop("before", None) is not None:
        inputs["MaxOverlap"] = _BEFORE
    defaults = {"batch_size_per_im": 256, "fg_fraction": 0.25, "fg_thresh": 0.25, "bg_thresh_hi": 0.5, "bg_thresh_lo": 0.0,
                "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2], "class_nums": CLASSES, "use_random": False}  # fmt: skip
    return run("generate_proposal_labels", inputs, _PROPOSAL_OUTPUTS, attributes={**defaults, **attributes},
               lengths=(rois_of, LENGTHS), levels=levels)  # fmt: skip


_BEFORE = np.where(np.arange(len(ROIS)) % 4 == 0, 1.0, 0.5).astype("float32")
_BEFORE[5:11] = 1.0  # of the second image nothing is left


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size_per_im": 4, "fg_fraction": 0.5},
        {"fg_thresh": 0.5, "bg_thresh_lo": 0.05, "bbox_reg_weights": [1.0, 1.0, 1.0, 1.0]},
        {"is_cls_agnostic": True},
        {"is_cascade_rcnn": True, "batch_size_per_im": 1, "before": _BEFORE},
    ],
)
def test_generate_proposal_labels(options):
    found, lengths = _proposals(**options)
    (rois, labels, codes, weights, overlaps), counts = wanted_by.proposal_targets(**options)
    assert 0 in labels and labels.max() > 0
    _same(found, [rois, labels, codes, weights, weights, overlaps])
    np.testing.assert_array_equal(lengths, counts)


def test_proposal_labels_of_an_image_without_proposals():
    rois_of = np.array([11, 0, 4])
    found, lengths = _proposals(rois_of)
    (rois, labels, codes, weights, overlaps), counts = wanted_by.proposal_targets(rois_of=rois_of)
    _same(found, [rois, labels, codes, weights, weights, overlaps])
    np.testing.assert_array_equal(lengths, counts)
    assert lengths[1] == 0


def test_a_cascade_needs_overlaps():
    with pytest.raises(ValueError, match=r"needs the overlaps of the stage before \(MaxOverlap\)"):
        _proposals(is_cascade_rcnn=True)


# Regions of several images, by their sequences ------------------------------------------------------------------------------

_FEATURES = _R.randn(3, 4, 9, 9).astype("float32")
_REGIONS, _REGIONS_OF = wanted_by.boxes(6, 30), np.array([3, 0, 3])


@pytest.mark.parametrize("kind", ["roi_align", "roi_pool", "psroi_pool"])
def test_regions(kind):
    attributes = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 0.25}
    attributes |= {"output_channels": 1} if kind == "psroi_pool" else {}
    inputs = {"X": _FEATURES, "ROIs": _REGIONS}
    (found,), _ = run(kind, inputs, level=0, attributes=attributes, lengths=(_REGIONS_OF,), levels={"ROIs": 1})
    given = [proa.to_tensor(v) for v in (_FEATURES, _REGIONS, _REGIONS_OF.astype("int32"))]
    more = {"aligned": False} if kind == "roi_align" else {}
    np.testing.assert_allclose(found, getattr(ops, kind)(*given, 2, 0.25, **more), rtol=1e-5)
    with pytest.raises(ValueError, match="neither RoisNum nor sequences in ROIs"):
        run(kind, {"X": _FEATURES, "ROIs": _REGIONS}, level=0, attributes=attributes, levels={}, weights=("X",))


def test_boxes_cut_to_their_images():
    sizes = np.float32([[20, 40, 2], [9, 9, 1], [30, 15, 0.5]])
    (found,), lengths = run("box_clip", {"Input": _REGIONS - 3, "ImInfo": sizes}, ["Output"], lengths=(_REGIONS_OF,))
    edges = np.repeat([[19, 9, 19, 9], [8, 8, 8, 8], [29, 59, 29, 59]], _REGIONS_OF, axis=0)
    np.testing.assert_array_equal(found, np.clip(_REGIONS - 3, 0, edges))
    np.testing.assert_array_equal(lengths, _REGIONS_OF)


def test_levels_of_a_pyramid():
    attributes = {"min_level": 2, "max_level": 4, "refer_level": 3, "refer_scale": 12}
    given = [proa.to_tensor(_REGIONS), 2, 4, 3, 12, False, proa.to_tensor(_REGIONS_OF.astype("int32"))]
    levels, restore, numbers = ops.distribute_fpn_proposals(*given)
    found, _ = run("distribute_fpn_proposals", {"FpnRois": _REGIONS}, {"RestoreIndex": "int32"}, 0,
                   {**attributes, "pixel_offset": False}, (_REGIONS_OF,), {"FpnRois": 1})  # fmt: skip
    np.testing.assert_array_equal(found[0], restore)
    rows = [level.numpy() for level in levels]
    worth = [_R.rand(len(r), 1).astype("float32") for r in rows]
    lengths = [n.numpy().astype("int64") for n in numbers]
    (found,), of = run("collect_fpn_proposals", {"MultiLevelRois": rows, "MultiLevelScores": worth}, ["FpnRois"],
                       attributes={"post_nms_topN": 4}, lengths=lengths, levels={"MultiLevelRois": 1})  # fmt: skip
    images = np.concatenate([np.repeat(np.arange(3), n) for n in lengths])
    best = np.argsort(-np.concatenate(worth)[:, 0], kind="stable")[:4]
    order = best[np.argsort(images[best], kind="stable")]
    np.testing.assert_array_equal(found, np.concatenate(rows)[order])
    np.testing.assert_array_equal(of, np.bincount(images[order], minlength=3))


def test_what_nms_keeps_is_sequences():
    boxes = np.stack([wanted_by.boxes(8, 20) for _ in range(2)])
    scores = _R.rand(2, 3, 8).astype("float32")
    attributes = {
        "background_label": -1,
        "score_threshold": 0.3,
        "nms_top_k": -1,
        "keep_top_k": 5,
        "nms_threshold": 0.3,
    }
    (found,), lengths = run("multiclass_nms", {"BBoxes": boxes, "Scores": scores}, attributes=attributes, levels={})
    given = [proa.to_tensor(v) for v in (boxes, scores)]
    rows, _, count = proa._C.ops.multiclass_nms(*given, None, 0.3, -1, 5, 0.3, True, 1.0, -1, False)
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(lengths, count)
