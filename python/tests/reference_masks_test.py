"""Programs of PaddlePaddle 1.x that train networks of masks and that say how well boxes were found: against loops."""

import numpy as np
import pytest

import proa
from python.tests import detection_scores as wanted_by
from python.tests.detector_targets import INFO, overlap, parts
from python.tests.reference_program import run

_R = np.random.RandomState(11)

# Masks -----------------------------------------------------------------------------------------------------------------------

_OBJECTS = np.array([2, 0, 2])  # of three images
_POLYGONS = np.array([1, 2, 1, 3])
_POINTS = np.array([5, 3, 4, 6, 3, 3, 4])
_CLASS = np.array([[1], [2], [2], [1]], "int32")
_IS_CROWD = np.array([[0], [0], [1], [0]], "int32")
_SEGMENTS = (_R.rand(_POINTS.sum(), 2) * 30).astype("float32")
_OF_IMAGES = np.array([3, 2, 3])
_ROIS = np.array([[2, 4, 40, 44], [10, 8, 50, 60], [0, 0, 9, 9], [1, 1, 5, 5], [2, 2, 9, 9], [3, 3, 12, 14], [0, 0, 15, 15], [5, 6, 9, 9]], "float32")  # fmt: skip
_LABELS = np.array([[1], [2], [0], [0], [0], [2], [1], [0]], "int32")
_OUTPUTS = {"MaskRois": "float32", "RoiHasMaskInt32": "int32", "MaskInt32": "int32"}


def _masks(labels=_LABELS, crowd=_IS_CROWD, objects=_OBJECTS, of_images=_OF_IMAGES, classes=3, size=7):
    n, p = objects.sum(), _POLYGONS[: objects.sum()]
    points = _POINTS[: p.sum()]
    inputs = {"ImInfo": INFO, "GtClasses": _CLASS[:n], "IsCrowd": crowd[:n], "GtSegms": _SEGMENTS[: points.sum()],
              "Rois": _ROIS, "LabelsInt32": labels}  # fmt: skip
    levels = {"GtClasses": 1, "IsCrowd": 1, "GtSegms": 3, "Rois": 1, "LabelsInt32": 1}
    found, lengths = run("generate_mask_labels", inputs, _OUTPUTS, attributes={"num_classes": classes, "resolution": size},
                         lengths=(objects, p, points, of_images), levels=levels)  # fmt: skip
    return found, lengths, _wanted(labels, crowd[:n], objects, of_images, classes, size)


def _wanted(labels, crowd, objects, of_images, classes, size):
    """(rois, numbers, masks, how many of each image) by loops."""
    polygons = np.split(_SEGMENTS, np.cumsum(_POINTS)[:-1])
    whole = np.split(np.arange(len(_POINTS)), np.cumsum(_POLYGONS)[:-1])
    out, counts = [[], [], []], []
    images = zip(
        parts(_ROIS, of_images), parts(labels, of_images), parts(np.arange(objects.sum()), objects), strict=True
    )
    for i, (rois, label, mine) in enumerate(images):
        chosen = [k for k in range(len(rois)) if label[k, 0] > 0] or [k for k in range(len(rois)) if label[k, 0] == 0][
            :1
        ]
        counts.append(len(chosen))
        mine = [o for o in mine if _CLASS[o, 0] > 0 and not crowd[o, 0]]
        for k in chosen:
            box, target = rois[k] / INFO[i, 2], np.full([classes, size, size], -1)
            if label[k, 0] > 0:
                ends = [np.concatenate([np.min([polygons[p].min(0) for p in whole[o]], 0), np.max([polygons[p].max(0) for p in whole[o]], 0)]) for o in mine]  # fmt: skip
                best = mine[int(np.argmax([overlap(box, e) for e in ends]))] if mine else None
                masks = [_drawn(box, polygons[p], size) for p in whole[best]] if mine else [0]
                target[label[k, 0]] = np.max(masks, 0)
            for values, value in zip(out, (rois[k], [k], target.ravel()), strict=True):
                values.append(value)
    return [np.array(v) for v in out], counts


def _drawn(box, polygon, size):
    """The op of one polygon; the conformance tests compare it with run lengths."""
    one = proa.to_tensor([1])
    given = [proa.to_tensor(np.float32(v)) for v in (box[None], polygon)]
    return proa._C.ops.polygon_masks(*given, proa.to_tensor([len(polygon)]), one, one - 1, size).numpy()[0]


def test_generate_mask_labels():
    found, lengths, (wanted, counts) = _masks()
    assert (found[2] == 1).any() and (found[2] == 0).any() and counts == [2, 1, 2]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_array_equal(lengths, counts)
    assert found[1].dtype == found[2].dtype == np.int32 and found[2].shape[1] == 3 * 7 * 7


def test_masks_of_images_without_objects_or_proposals():
    found, lengths, (wanted, counts) = _masks(np.zeros_like(_LABELS), objects=np.array([0, 0, 0]))
    np.testing.assert_allclose(found[0], wanted[0])
    assert (found[2] == -1).all() and counts == [1, 1, 1]
    found, lengths, (wanted, counts) = _masks(of_images=np.array([3, 0, 5]))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_array_equal(lengths, [2, 0, 2])


def test_a_class_without_an_object_has_an_empty_mask():
    found, _, _ = _masks(np.where(np.arange(8)[:, None] == 3, 1, 0).astype("int32"), objects=np.array([0, 0, 0]))
    assert (found[2][1].reshape(3, -1)[1] == 0).all() and (found[2][1].reshape(3, -1)[[0, 2]] == -1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -3e38])
def test_polygons_far_away(value):
    points = proa.to_tensor(np.float32([[0, 0], [value, 3], [4, value], [5, 5]]))
    boxes, one = proa.to_tensor([[0.0, 0.0, 9.0, 9.0]]), proa.to_tensor([1])
    found = proa._C.ops.polygon_masks(boxes, points, one * 4, one, one - 1, 14).numpy()
    assert ((found == 0) | (found == 1)).all()


# How well boxes were found ---------------------------------------------------------------------------------------------------

_SCORES = {"AccumTruePos": "float32", "AccumPosCount": "int32", "AccumFalsePos": "float32", "MAP": "float32"}


def _score(found, truths, lengths=(wanted_by.FOUND_OF, wanted_by.TRUE_OF), state=None, **attributes):
    inputs, levels = {"DetectRes": found, "Label": truths}, {"DetectRes": 1, "Label": 1}
    if state is not None:
        inputs |= dict(zip(["HasState", "PosCount", "TruePos", "FalsePos"], state[0], strict=True))
        levels |= {"TruePos": 1, "FalsePos": 1}
        lengths = (*lengths, *state[1])
    return run(
        "detection_map", inputs, _SCORES, attributes={"class_num": 4, **attributes}, lengths=lengths, levels=levels
    )


@pytest.mark.parametrize("kind", ["integral", "11point"])
@pytest.mark.parametrize(("difficult", "all_of"), [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("background", [0, 2])
def test_detection_map(kind, difficult, all_of, background):
    for seed in range(5):
        found, truths = wanted_by.batch(seed, difficult)
        attributes = {
            "ap_type": kind,
            "evaluate_difficult": all_of,
            "overlap_threshold": 0.4,
            "background_label": background,
        }
        (right, counts, wrong, mean), lengths = _score(found, truths, **attributes)
        wanted, rows = wanted_by.counted(found, wanted_by.FOUND_OF, truths, wanted_by.TRUE_OF, 4, 0.4, all_of)
        np.testing.assert_array_equal(counts[:, 0], wanted)
        np.testing.assert_array_equal(lengths, [len(r) for r in rows])
        flat = np.array([row for of in rows for row in of], "float32").reshape(-1, 2)
        np.testing.assert_allclose(right, flat)
        np.testing.assert_allclose(wrong, np.stack([flat[:, 0], 1 - flat[:, 1]], 1))
        np.testing.assert_allclose(mean, [wanted_by.mean_precision(wanted, rows, kind, background)], rtol=1e-5)


@pytest.mark.parametrize("goes_on", [1, 0])
def test_detection_map_of_two_batches(goes_on):
    first, second = wanted_by.batch(1, True), wanted_by.batch(2, True)
    (right, counts, wrong, _), lengths = _score(*first)
    state = [np.array([goes_on], "int32"), counts, right, wrong], (lengths, lengths)
    (right, counts, _, mean), lengths = _score(*second, state=state)
    before = wanted_by.counted(first[0], wanted_by.FOUND_OF, first[1], wanted_by.TRUE_OF, 4) if goes_on else None
    wanted, rows = wanted_by.counted(second[0], wanted_by.FOUND_OF, second[1], wanted_by.TRUE_OF, 4, before=before)
    np.testing.assert_array_equal(counts[:, 0], wanted)
    np.testing.assert_allclose(right, np.array([row for of in rows for row in of], "float32"))
    np.testing.assert_allclose(mean, [wanted_by.mean_precision(wanted, rows)], rtol=1e-5)


@pytest.mark.parametrize(("n", "m"), [(0, 9), (15, 0), (0, 0)])
def test_detection_map_of_nothing(n, m):
    found, truths = wanted_by.batch(3, False)
    lengths = [a if k else 0 * a for a, k in ((wanted_by.FOUND_OF, n), (wanted_by.TRUE_OF, m))]
    (right, counts, _, mean), _ = _score(found[:n], truths[:m], lengths)
    assert mean.item() == 0 and counts.sum() == m and len(right) == n and (right[:, 1] == 0).all()


def test_errors():
    found, truths = wanted_by.batch(3, False)
    with pytest.raises(ValueError, match="ap_type must be integral or 11point"):
        _score(found, truths, ap_type="best")
    with pytest.raises(ValueError, match=r"Label must be \[class, box\] or"):
        _score(found, truths[:, :4])
    state = [np.array([1], "int32"), np.zeros([4, 1], "int32"), *[np.zeros([0, 2], "float32")] * 2]
    inputs = {"DetectRes": found, "Label": truths, **dict(zip(["HasState", "PosCount", "TruePos", "FalsePos"], state, strict=True))}  # fmt: skip
    with pytest.raises(
        ValueError, match="must come with its sequences, which a variable does not keep from run to run"
    ):
        run("detection_map", inputs, _SCORES, attributes={"class_num": 4}, levels={"DetectRes": 1, "Label": 1})
