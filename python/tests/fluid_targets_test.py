"""What detectors are trained towards (anchors, proposals): against loops of NumPy, with gradients and a training step."""

import numpy as np
import pytest

from proa import fluid
from proa.fluid import layers

_RNG = np.random.RandomState(5)
LENGTHS = [3, 1, 2]  # truths of three images
IMAGES, CLASSES = len(LENGTHS), 4
INFO = np.array([[48, 64, 2.0], [64, 64, 1.0], [64, 48, 0.5]], "float32")


def _boxes(n, size, least=4.0):
    corners = np.sort(_RNG.rand(n, 2, 2) * size, 1)
    corners[:, 1] += least
    return corners.reshape(n, 4).astype("float32")


ANCHORS = np.concatenate([_boxes(30, 50), np.array([[-9, -9, 12, 12], [40, 40, 90, 90]], "float32")])
N = len(ANCHORS)
TRUTH = np.concatenate([ANCHORS[[3, 7, 11]] / 2 + 0.4, ANCHORS[[5]] + 1, ANCHORS[[2, 9]] * 2 - 1]).astype("float32")
CROWD = np.array([[0], [0], [1], [0], [0], [0]], "int32")
LABEL = np.array([[1], [3], [2], [2], [1], [3]], "int32")
PRED, LOGITS = (_RNG.randn(IMAGES, N, k).astype("float32") for k in (4, CLASSES))


def _overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + 1, 0)
    shared = sides.prod()
    return shared / ((a[2:] - a[:2] + 1).prod() + (b[2:] - b[:2] + 1).prod() - shared)


def _code(box, truth, weights=(1, 1, 1, 1)):
    side, wanted = box[2:] - box[:2] + 1, truth[2:] - truth[:2] + 1
    middle = truth[:2] + wanted / 2 - box[:2] - side / 2
    return np.concatenate([middle / side, np.log(wanted / side)]) / np.array(weights)


def _images():
    """(scale, truths that count, their labels, those that do not) of each image."""
    ends = np.cumsum(LENGTHS)
    for i, end in enumerate(ends):
        rows = range(end - LENGTHS[i], end)
        counts = [r for r in rows if not CROWD[r, 0]]
        yield INFO[i], TRUTH[counts], LABEL[counts, 0]


def _anchor_loop(info, truths, high, low, straddle):
    """Anchors that are positive, negative, and their nearest truth."""
    truths = truths * info[2]
    inside = [
        straddle < 0 or (a[:2] >= -straddle).all() and a[2] < info[1] + straddle and a[3] < info[0] + straddle
        for a in ANCHORS
    ]
    table = np.array([[_overlap(a, t) if ok else -1 for t in truths] for a, ok in zip(ANCHORS, inside, strict=True)])
    best = {
        int(i)
        for t in range(len(truths))
        if table[:, t].max() > 0
        for i in np.flatnonzero(table[:, t] > table[:, t].max() - 1e-5)
    }
    positive = [i for i in range(N) if i in best or table[i].max() >= high]
    negative = [i for i in range(N) if inside[i] and i not in positive and table[i].max() < low]
    return positive, negative, table.argmax(1)


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
    scores, places, labels, targets = [], [], [], []
    for i, (info, truths, _) in enumerate(_images()):
        positive, negative, nearest = _anchor_loop(info, truths, 0.7, 0.3, straddle)
        positive = positive[: most // 2]
        negative = negative[: most - len(positive)]
        scores += [LOGITS[i, a, :1] for a in positive + negative]
        labels += [1] * len(positive) + [0] * len(negative)
        places += [PRED[i, a] for a in positive]
        targets += [_code(ANCHORS[a], truths[nearest[a]] * info[2]) for a in positive]
    assert 3 <= len(places) < len(scores)
    for ours, theirs in zip(found, [scores, places, np.reshape(labels, [-1, 1]), targets], strict=False):
        np.testing.assert_allclose(ours, np.stack(list(theirs)), rtol=1e-4, atol=1e-5)
    assert found[2].dtype == np.int32 and found[4].shape == found[3].shape and (found[4] == 1).all()


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
            weight * layers.square(places - target)
        )
        return [scores, places, labels, target, weight, count, loss, *fluid.gradients(loss, inputs[:2])]

    found = _run(build, label=_sequences(LABEL), **_feed(CLASSES))
    scores, places, labels, targets, counts = [], [], [], [], []
    slope = np.zeros_like(PRED)
    for i, (info, truths, classes) in enumerate(_images()):
        positive, negative, nearest = _anchor_loop(info, truths, 0.5, 0.4, -1)
        scores += [LOGITS[i, a] for a in positive + negative]
        labels += [classes[nearest[a]] for a in positive] + [0] * len(negative)
        places += [PRED[i, a] for a in positive]
        targets += [_code(ANCHORS[a], truths[nearest[a]] * info[2]) for a in positive]
        counts.append([len(positive) + 1])
        for a in positive:
            slope[i, a] = 2 * (PRED[i, a] - targets[positive.index(a) - len(positive)])
    wanted = [scores, places, np.reshape(labels, [-1, 1]), targets, np.ones([len(places), 4]), counts]
    for ours, theirs in zip(found, wanted, strict=False):
        np.testing.assert_allclose(ours, np.stack(list(theirs)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[7], slope, rtol=1e-4, atol=1e-4)
    taken = (found[8] != 0).any(-1)
    assert taken.sum() == len(scores) < taken.size


ROIS_OF = [5, 6, 4]
ROIS = np.concatenate([ANCHORS[[3, 7, 11, 20, 21]], ANCHORS[[5, 6, 8, 22, 23, 24]] + 1, ANCHORS[[2, 9, 25, 26]] + 0.5])


def _proposals(**options):
    def build():
        rois = fluid.data("rois", [None, 4], lod_level=1)
        truth, crowd, label = (
            fluid.data(name, [None, size], dtype, lod_level=1)
            for name, size, dtype in [("truth", 4, "float32"), ("crowd", 1, "int32"), ("label", 1, "int32")]
        )
        info = fluid.data("info", [None, 3])
        results = layers.generate_proposal_labels(rois, label, crowd, truth, info, class_nums=CLASSES, **options)
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
        {"return_max_overlap": True},
    ],
)
def test_proposal_labels(options):
    found = _proposals(use_random=False, **options)
    get = {"batch_size_per_im": 256, "fg_fraction": 0.25, "fg_thresh": 0.25, "bg_thresh_lo": 0.0, **options}.get
    rois, labels, codes, slots, overlaps, sums = [], [], [], [], [], []
    ends = np.cumsum(ROIS_OF)
    for i, (info, truths, classes) in enumerate(_images()):
        boxes = [*truths, *(ROIS[ends[i] - ROIS_OF[i] : ends[i]] / info[2])]
        table = np.array([[_overlap(b, t) for t in truths] for b in boxes])
        positive = [k for k in range(len(boxes)) if table[k].max() >= get("fg_thresh")]
        negative = [k for k in range(len(boxes)) if get("bg_thresh_lo") <= table[k].max() < 0.5 and k not in positive]
        if not get("is_cascade_rcnn"):
            positive = positive[: int(get("batch_size_per_im") * get("fg_fraction"))]
            negative = negative[: get("batch_size_per_im") - len(positive)]
        before = len(labels)
        for k in positive + negative:
            rois.append(boxes[k] * info[2])
            labels.append(classes[table[k].argmax()] if k in positive else 0)
            row, mine = np.zeros(4 * CLASSES), np.zeros(4 * CLASSES)
            slot = min(labels[-1], 1) if get("is_cls_agnostic") else labels[-1]
            if slot:
                truth = truths[table[k].argmax()]
                row[4 * slot : 4 * slot + 4] = _code(boxes[k], truth, get("bbox_reg_weights", [0.1, 0.1, 0.2, 0.2]))
                mine[4 * slot : 4 * slot + 4] = 1
            codes.append(row)
            slots.append(mine)
            overlaps.append(table[k].max())
        sums.append(sum(labels[before:]))
    assert 0 in labels and max(labels) > 0
    np.testing.assert_allclose(found[0], rois, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found[1], np.reshape(labels, [-1, 1]))
    np.testing.assert_allclose(found[2], codes, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found[3], slots)
    np.testing.assert_array_equal(found[4], slots)
    if get("return_max_overlap"):
        np.testing.assert_allclose(found[5], overlaps, rtol=1e-5)
    np.testing.assert_allclose(found[-1].reshape(-1), sums)  # the sequences are those of the images


def test_images_without_truths():
    """Everything of them is background, and no number is NaN."""

    def build():
        crowd, info = fluid.data("crowd", [None, 1], "int32", lod_level=1), fluid.data("info", [None, 3])
        return list(layers.rpn_target_assign(*_inputs(1), crowd, info, use_random=False, rpn_straddle_thresh=-1.0))

    feed = {**_feed(1), "truth": _sequences(TRUTH[:1], [0, 1, 0]), "crowd": _sequences(CROWD[:1], [0, 1, 0])}
    scores, places, labels, target, _ = _run(build, **feed)
    assert len(places) == labels.sum() >= 1 and len(scores) > 2 * N - 1
    assert np.isfinite(target).all()


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
