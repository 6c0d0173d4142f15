"""Boxes that `multiclass_nms` and `matrix_nms` pick, eager and in programs, against loops over pairs of boxes."""

import math

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers


def _overlap(a, b, normalized):
    one = 0 if normalized else 1
    area = lambda v: 0.0 if v[2] < v[0] or v[3] < v[1] else (v[2] - v[0] + one) * (v[3] - v[1] + one)
    if b[0] > a[2] or b[2] < a[0] or b[1] > a[3] or b[3] < a[1]:
        return 0.0
    w, h = min(a[2], b[2]) - max(a[0], b[0]) + one, min(a[3], b[3]) - max(a[1], b[1]) + one
    return w * h / (area(a) + area(b) - w * h)


def _order(scores, threshold, count):
    found = sorted((n for n in range(len(scores)) if scores[n] > threshold), key=lambda n: -scores[n])
    return found if count < 0 else found[:count]


def _multiclass(boxes, scores, threshold, top, keep, overlap, normalized, eta, background):
    out, counts = [], []
    for box, score in zip(boxes, scores):
        rows = []
        for label in range(len(score)):
            limit, kept = overlap, []
            for n in _order(score[label], threshold, top) if label != background else []:
                if all(_overlap(box[n], box[k], normalized) <= limit for k in kept):
                    kept.append(n)
                    limit *= eta if eta < 1 and limit > 0.5 else 1
            rows += [[label, score[label][n], *box[n]] for n in kept]
        if 0 <= keep < len(rows):
            worst = sorted((r[1] for r in rows), reverse=True)[keep - 1] if keep else math.inf
            rows = [r for r in rows if r[1] >= worst]
        out += rows
        counts.append(len(rows))
    return np.array(out), counts


def _matrix(boxes, scores, threshold, post, top, keep, sigma, normalized, background):
    out, numbers = [], []
    for image, (box, score) in enumerate(zip(boxes, scores)):
        rows = []
        for label in range(len(score)):
            order = _order(score[label], threshold, top) if label != background else []
            most = [
                max([_overlap(box[i], box[j], normalized) for j in order[:p]], default=0) for p, i in enumerate(order)
            ]
            for p, i in enumerate(order):
                factor = 1.0
                for q, j in enumerate(order[:p]):
                    o = _overlap(box[i], box[j], normalized)
                    line = (1 - o) / (1 - most[q])
                    factor = min(factor, math.exp((most[q] ** 2 - o**2) * sigma) if sigma else line)
                if score[label][i] * factor > post:
                    rows.append((score[label][i] * factor, label, i))
        rows.sort(key=lambda r: -r[0])
        rows = rows if keep < 0 else rows[:keep]
        out += [[label, s, *box[n]] for s, label, n in rows]
        numbers += [[image * len(box) + n] for _, _, n in rows]
    return np.array(out), np.array(numbers)


def _boxes(seed, pixels=1.0):
    rng = np.random.RandomState(seed)
    corners = rng.rand(2, 30, 2)
    boxes = np.concatenate([corners, corners + 0.05 + 0.4 * rng.rand(2, 30, 2)], 2) * pixels
    return boxes.astype("float32"), rng.rand(2, 3, 30).astype("float32")


@pytest.mark.parametrize("top,keep", [(-1, -1), (10, 7), (0, -1), (5, 100)])
@pytest.mark.parametrize(
    "normalized,eta,background,overlap", [(True, 1.0, 0, 0.3), (False, 0.9, -1, 0.7), (True, 0.5, 2, 0.6)]
)
def test_multiclass_nms(top, keep, normalized, eta, background, overlap):
    boxes, scores = _boxes(3, 1.0 if normalized else 50.0)
    want, counts = _multiclass(boxes, scores, 0.2, top, keep, overlap, normalized, eta, background)
    options = dict(nms_threshold=overlap, normalized=normalized, nms_eta=eta, background_label=background)
    call = lambda b, s: layers.multiclass_nms(b, s, 0.2, top, keep, **options)
    eager = call(proa.to_tensor(boxes), proa.to_tensor(scores)).numpy()
    main = fluid.Program()
    with fluid.program_guard(main):
        picked = call(fluid.data("b", [None, 30, 4]), fluid.data("s", [None, 3, 30]))
        (found,) = fluid.Executor().run(main, feed={"b": boxes, "s": scores}, fetch_list=[picked])
        assert picked.lod_level == 1
    if not len(want):
        assert eager.tolist() == found.tolist() == [[-1.0]]
        return
    np.testing.assert_allclose(eager, want, rtol=1e-6)
    np.testing.assert_array_equal(found, eager)
    assert len(counts) == 2


def test_sequences_of_what_is_picked():
    boxes, scores = _boxes(5)
    scores[1] *= 0.5
    want, counts = _multiclass(boxes, scores, 0.2, -1, -1, 0.3, True, 1.0, 0)
    assert counts[0] != counts[1]
    main = fluid.Program()
    with fluid.program_guard(main):
        picked = layers.multiclass_nms(fluid.data("b", [None, 30, 4]), fluid.data("s", [None, 3, 30]), 0.2, -1, -1)
        sums = layers.sequence_pool(picked, "sum")
        (found,) = fluid.Executor().run(main, feed={"b": boxes, "s": scores}, fetch_list=[sums])
    np.testing.assert_allclose(found, [want[: counts[0]].sum(0), want[counts[0] :].sum(0)], rtol=1e-5)


@pytest.mark.parametrize("top,keep,post", [(-1, -1, 0.0), (10, 7, 0.1), (5, 100, 0.3)])
@pytest.mark.parametrize("sigma", [None, 2.0])
@pytest.mark.parametrize("normalized,background", [(True, 0), (False, -1)])
def test_matrix_nms(top, keep, post, sigma, normalized, background):
    boxes, scores = _boxes(7, 1.0 if normalized else 50.0)
    want, numbers = _matrix(boxes, scores, 0.2, post, top, keep, sigma, normalized, background)
    call = lambda b, s: layers.matrix_nms(
        b, s, 0.2, post, top, keep, sigma is not None, sigma or 2.0, background, normalized, return_index=True
    )
    eager, places = call(proa.to_tensor(boxes), proa.to_tensor(scores))
    np.testing.assert_allclose(eager.numpy(), want, rtol=1e-5)
    np.testing.assert_array_equal(places.numpy(), numbers)
    main = fluid.Program()
    with fluid.program_guard(main):
        picked = call(fluid.data("b", [None, 30, 4]), fluid.data("s", [None, 3, 30]))
        found = fluid.Executor().run(main, feed={"b": boxes, "s": scores}, fetch_list=list(picked))
    np.testing.assert_array_equal(found[0], eager.numpy())
    np.testing.assert_array_equal(found[1], numbers)


def test_nothing_and_the_same_box_twice():
    boxes, scores = np.float32([[[0, 0, 1, 1]] * 3]), np.float32([[[0.9, 0.8, 0.7]]])
    b, s = proa.to_tensor(boxes), proa.to_tensor(scores)
    assert layers.matrix_nms(b, s, 1.0, 0.0, -1, -1, background_label=-1).shape == [0, 6]
    assert layers.matrix_nms(b, s, 0.0, 0.0, -1, -1, background_label=-1)[:, 1].numpy() == pytest.approx([0.9])
    assert layers.multiclass_nms(b, s, 0.0, -1, -1, background_label=-1)[:, 1].numpy() == pytest.approx([0.9])
    flat = proa.to_tensor(np.float32([[[1, 1, 0, 0]] * 2]))
    assert layers.multiclass_nms(flat, s[:, :, :2], 0.0, -1, -1, background_label=-1).shape[1] == 6


def test_wrong_boxes():
    boxes, scores = (proa.to_tensor(v) for v in _boxes(1))
    with pytest.raises(ValueError, match=r"multiclass_nms: bboxes must be \[images, boxes, 4\]"):
        layers.multiclass_nms(boxes[:, :5], scores, 0.1, -1, -1)
    with pytest.raises(ValueError, match=r"matrix_nms: bboxes must be \[images, boxes, 4\]"):
        layers.matrix_nms(boxes[0], scores, 0.1, 0.1, -1, -1)
    with pytest.raises(TypeError, match="multiclass_nms: scores must have the dtype of bboxes"):
        layers.multiclass_nms(boxes, scores.astype("int64"), 0.1, -1, -1)
