"""Layers of 1.8 that train networks of masks and say how well boxes were found: against loops, and the op of PaddlePaddle's format."""

import numpy as np
import pytest

from proa import fluid
from proa.fluid import layers
from python.tests import detection_scores as wanted_by
from python.tests import reference_program
from python.tests.detector_targets import INFO

_R = np.random.RandomState(11)


def _run(build, **feed):
    main = fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, fluid.Program()):
        return fluid.Executor().run(main, feed=feed, fetch_list=build(), return_numpy=False)


def _sequences(rows, *lengths):
    return fluid.create_lod_tensor(rows, [list(map(int, n)) for n in lengths])


# How well boxes were found ---------------------------------------------------------------------------------------------------


def _map(found, truths, lengths=(wanted_by.FOUND_OF, wanted_by.TRUE_OF), classes=4, **options):
    def build():
        x = fluid.data("found", [None, 6], lod_level=1)
        y = fluid.data("truth", [None, truths.shape[1]], lod_level=1)
        return [layers.detection_map(x, y, classes, **options)]

    feed = {"found": _sequences(found, lengths[0]), "truth": _sequences(truths, lengths[1])}
    return np.asarray(_run(build, **feed)[0])


@pytest.mark.parametrize("kind", ["integral", "11point"])
@pytest.mark.parametrize(("difficult", "all_of"), [(False, True), (True, True), (True, False)])
def test_detection_map(kind, difficult, all_of):
    means = []
    for seed in range(4):
        found, truths = wanted_by.batch(seed, difficult)
        options = {"ap_version": kind, "evaluate_difficult": all_of, "overlap_threshold": 0.4}
        wanted = wanted_by.counted(found, wanted_by.FOUND_OF, truths, wanted_by.TRUE_OF, 4, 0.4, all_of)
        means.append(wanted_by.mean_precision(*wanted, kind))
        np.testing.assert_allclose(_map(found, truths, **options), means[-1:], rtol=1e-5)
    assert 0 < max(means) < 1


@pytest.mark.parametrize(("n", "m"), [(0, 9), (15, 0), (0, 0)])
def test_detection_map_of_nothing(n, m):
    found, truths = wanted_by.batch(3, False)
    lengths = [a if k else 0 * a for a, k in ((wanted_by.FOUND_OF, n), (wanted_by.TRUE_OF, m))]
    assert _map(found[:n], truths[:m], lengths).item() == 0


def test_detection_map_of_what_is_whole():
    _, truths = wanted_by.batch(3, False)
    found = np.insert(truths, 1, 0.5, 1)
    np.testing.assert_allclose(_map(found, truths, (wanted_by.TRUE_OF, wanted_by.TRUE_OF)), [1.0], rtol=1e-6)


def test_errors_of_detection_map():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, y, wide = (fluid.data(n, [None, k], lod_level=1) for n, k in (("x", 6), ("y", 6), ("w", 4)))
        with pytest.raises(ValueError, match="ap_version must be integral or 11point, not 'best'"):
            layers.detection_map(x, y, 4, ap_version="best")
        with pytest.raises(ValueError, match=r"label must be \[rows, 5\] or \[rows, 6\]; it is \[-1, 4\]"):
            layers.detection_map(x, wide, 4)
        with pytest.raises(ValueError, match="class_num must be a positive int, not 0"):
            layers.detection_map(x, y, 0)
        with pytest.raises(ValueError, match="nothing is known of sequences in label"):
            layers.detection_map(x, fluid.data("plain", [None, 6]), 4)
        with pytest.raises(NotImplementedError, match="use fluid.metrics.DetectionMAP"):
            layers.detection_map(x, y, 4, has_state=x)


@pytest.mark.parametrize("kind", ["integral", "11point"])
@pytest.mark.parametrize(("difficult", "all_of"), [(False, True), (True, True), (True, False)])
def test_detection_map_of_many_batches(kind, difficult, all_of):
    """Batches one after another, against loops that count them all; `reset` begins anew."""
    main, executor = fluid.Program(), fluid.Executor()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, fluid.Program()):
        x = fluid.data("found", [None, 6], lod_level=1)
        label, hard = (fluid.data(name, [None, 1], lod_level=1) for name in ("label", "hard"))
        box = fluid.data("box", [None, 4], lod_level=1)
        metric = fluid.metrics.DetectionMAP(x, label, box, hard if difficult else None, 4, overlap_threshold=0.4,
                                            evaluate_difficult=all_of, ap_version=kind)  # fmt: skip
        values = metric.get_map_var()
        program, before, seen = main.clone(for_test=True), None, []
        for seed in (0, 1, 2, 3):
            if seed == 2:
                metric.reset(executor)
                before = None
            found, truths = wanted_by.batch(seed, difficult)
            feed = {"found": _sequences(found, wanted_by.FOUND_OF)}
            parts = {"label": truths[:, :1], "hard": truths[:, 1:2], "box": truths[:, -4:]}
            feed.update((name, _sequences(rows, wanted_by.TRUE_OF)) for name, rows in parts.items())
            if not difficult:
                del feed["hard"]
            got = executor.run(program if seed % 2 else main, feed=feed, fetch_list=list(values))
            count = lambda before: wanted_by.counted(
                found, wanted_by.FOUND_OF, truths, wanted_by.TRUE_OF, 4, 0.4, all_of, before
            )
            before = count(before)
            want = [wanted_by.mean_precision(*counts, kind) for counts in (count(None), before)]
            np.testing.assert_allclose(np.ravel(got), want, rtol=1e-5)
            seen.append(want)
        assert seen[1][0] != seen[1][1] and seen[3][0] != seen[3][1]


def test_errors_of_many_batches():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, y = (fluid.data(n, [None, k], lod_level=1) for n, k in (("x", 6), ("y", 4)))
        with pytest.raises(ValueError, match="DetectionMAP: class_num must be a positive int, not None"):
            fluid.metrics.DetectionMAP(x, x[:, :1], y)


# Masks -----------------------------------------------------------------------------------------------------------------------

_OBJECTS, _POLYGONS, _POINTS = np.array([2, 0, 2]), np.array([1, 2, 1, 3]), np.array([5, 3, 4, 6, 3, 3, 4])
_CLASS, _IS_CROWD = np.array([[1], [2], [2], [1]], "int32"), np.array([[0], [0], [1], [0]], "int32")
_SEGMENTS = (_R.rand(_POINTS.sum(), 2) * 30).astype("float32")
_OF_IMAGES = np.array([3, 2, 3])
_ROIS = np.sort(_R.rand(8, 2, 2) * 40, 1).reshape(8, 4).astype("float32")
_LABELS = np.array([[1], [2], [0], [0], [0], [2], [1], [0]], "int32")


def _masks(labels, of_images=_OF_IMAGES):
    def build():
        info = fluid.data("info", [None, 3])
        declared = [("class", 1, "int32", 1), ("crowd", 1, "int32", 1), ("segments", 2, "float32", 3)]
        declared += [("rois", 4, "float32", 1), ("labels", 1, "int32", 1)]
        given = [fluid.data(name, [None, size], dtype, lod_level=level) for name, size, dtype, level in declared]
        results = layers.generate_mask_labels(info, *given, num_classes=3, resolution=7)
        return [*results, layers.sequence_pool(results[1].astype("float32"), "sum")]

    return _run(
        build,
        info=INFO,
        segments=_sequences(_SEGMENTS, _OBJECTS, _POLYGONS, _POINTS),
        crowd=_sequences(_IS_CROWD, _OBJECTS),
        rois=_sequences(_ROIS, of_images),
        labels=_sequences(labels, of_images),
        **{"class": _sequences(_CLASS, _OBJECTS)},
    )


@pytest.mark.parametrize("labels", [_LABELS, 0 * _LABELS, _LABELS + 1])
@pytest.mark.parametrize("of_images", [_OF_IMAGES, np.array([3, 0, 5])])
def test_masks(labels, of_images):
    """They are those of the op, which reference_masks_test compares with loops."""
    inputs = {"ImInfo": INFO, "GtClasses": _CLASS, "IsCrowd": _IS_CROWD, "GtSegms": _SEGMENTS, "Rois": _ROIS, "LabelsInt32": labels}  # fmt: skip
    levels = {"GtClasses": 1, "IsCrowd": 1, "GtSegms": 3, "Rois": 1, "LabelsInt32": 1}
    outputs = {"MaskRois": "float32", "RoiHasMaskInt32": "int32", "MaskInt32": "int32"}
    wanted, lengths = reference_program.run("generate_mask_labels", inputs, outputs, attributes={"num_classes": 3, "resolution": 7},
                                            lengths=(_OBJECTS, _POLYGONS, _POINTS, of_images), levels=levels)  # fmt: skip
    *found, sums = _masks(labels, of_images)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)
    assert found[2].recursive_sequence_lengths() == [lengths.tolist()]
    sums_of = [part.sum() for part in np.split(wanted[1], np.cumsum(lengths)[:-1])]
    np.testing.assert_allclose(np.asarray(sums).ravel(), sums_of)


def test_errors_of_masks():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.data("x", [None, 4], lod_level=1)
        with pytest.raises(ValueError, match="resolution must be a positive int, not 0"):
            layers.generate_mask_labels(x, x, x, x, x, x, 3, 0)
        with pytest.raises(ValueError, match="gt_segms must have three levels of sequences .* it has 1"):
            layers.generate_mask_labels(x, x, x, x, x, x, 3, 7)
