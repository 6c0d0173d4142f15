"""References of suppression: loops over pairs of boxes."""

import math

import numpy as np

from ops.conformance.samples import Sample


def _overlap(a, b, more=0.0):
    """What two boxes share, as a part of what both cover."""
    area = lambda v: 0.0 if v[2] < v[0] or v[3] < v[1] else (v[2] - v[0] + more) * (v[3] - v[1] + more)
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = 0.0 if w < 0 or h < 0 else (w + more) * (h + more)
    both = area(a) + area(b) - common
    return common / both if both > 0 else 0.0


def _greedy(boxes, threshold, more=0.0, eta=1.0):
    kept = []
    for i, box in enumerate(boxes):
        if all(not _overlap(box, boxes[k], more) > threshold for k in kept):
            kept.append(i)
            if eta < 1 and threshold > 0.5:
                threshold *= eta
    return kept


def _falling(values):
    """Numbers of values, the largest first; NaN before all."""
    return sorted(range(len(values)), key=lambda i: -math.inf if math.isnan(values[i]) else -values[i])


def reference_nms(boxes, scores=None, category_idxs=None, iou_threshold=0.3, categories=(), top_k=None):
    order = (
        list(range(len(boxes))) if scores is None else sorted(_falling(scores), key=lambda i: not np.isnan(scores[i]))
    )
    if category_idxs is None:
        kept = [order[i] for i in _greedy(boxes[order], iou_threshold)]
    else:
        kept = []
        for c in categories:
            mine = [i for i in order if category_idxs[i] == c]
            kept += [mine[i] for i in _greedy(boxes[mine], iou_threshold)]
        kept.sort(key=order.index)
    return np.array(kept if top_k is None else kept[:top_k], np.int64)


def _classes(bboxes, scores, rois_num, background):
    """(image, class, boxes, scores, numbers of the boxes) of each class of each image."""
    if rois_num is None:
        for n, c in np.ndindex(scores.shape[:2]):
            if c != background:
                yield n, c, bboxes[n], scores[n, c], n * bboxes.shape[1] + np.arange(bboxes.shape[1])
        return
    end = 0
    for n, count in enumerate(rois_num):
        start, end = end, end + int(count)
        for c in range(scores.shape[1]):
            if c != background:
                numbers = np.arange(start, end) * scores.shape[1] + c
                yield n, c, bboxes[start:end, c], scores[start:end, c], numbers


def _best(values, threshold, count):
    found = [i for i in _falling(values) if values[i] > threshold]
    return found if count < 0 else found[:count]


def _written(found, images, count, in_order):
    """`found` holds (image, class, score, box, number)."""
    rows, numbers, counts = [], [], []
    for n in range(images):
        mine = [f for f in found if f[0] == n]
        best = _falling([f[2] for f in mine])
        best = best if count < 0 else best[:count]
        mine = [mine[i] for i in (best if in_order else sorted(best))]
        rows += [[c, s, *box] for _, c, s, box, _ in mine]
        numbers += [[k] for *_, k in mine]
        counts.append(len(mine))
    return np.array(rows).reshape(-1, 6), np.array(numbers, np.int32).reshape(-1, 1), np.array(counts, np.int32)


def reference_multiclass_nms(
    bboxes, scores, rois_num=None, score_threshold=0.0, nms_top_k=-1, keep_top_k=-1, nms_threshold=0.3, normalized=True,
    nms_eta=1.0, background_label=0, mark_none=False,
):  # fmt: skip
    found = []
    for n, c, boxes, values, numbers in _classes(bboxes, scores, rois_num, background_label):
        best = _best(values, score_threshold, nms_top_k)
        kept = _greedy(boxes[best], nms_threshold, 0.0 if normalized else 1.0, nms_eta)
        kept = [best[i] for i in kept]
        found += [(n, c, values[i], boxes[i], numbers[i]) for i in (kept if rois_num is None else sorted(kept))]
    out = _written(found, len(bboxes) if rois_num is None else len(rois_num), keep_top_k, False)
    return (np.full((1, 1), -1.0), out[1], np.ones(1, np.int32)) if mark_none and not len(out[0]) else out


def reference_matrix_nms(
    bboxes, scores, score_threshold=0.0, post_threshold=0.0, nms_top_k=-1, keep_top_k=-1, use_gaussian=False,
    gaussian_sigma=2.0, background_label=0, normalized=True,
):  # fmt: skip
    found = []
    for n, c, boxes, values, numbers in _classes(bboxes, scores, None, background_label):
        best = _best(values, score_threshold, nms_top_k)
        most = []
        for p, i in enumerate(best):
            shared = [_overlap(boxes[i], boxes[j], 0.0 if normalized else 1.0) for j in best[:p]]
            most.append(max(shared, default=0.0))
            factor = 1.0
            for o, m in zip(shared, most):
                if use_gaussian:
                    factor = min(factor, math.exp((m * m - o * o) * gaussian_sigma))
                elif m < 1 or o < 1:  # 0 / 0 lowers nothing
                    factor = min(factor, (1 - o) / (1 - m) if m < 1 else math.inf)
            if values[i] * factor > post_threshold:
                found.append((n, c, values[i] * factor, boxes[i], numbers[i]))
    return _written(found, len(bboxes), keep_top_k, True)


def _boxes(rng, *shape, side=20.0, dtype="float64"):
    corner = rng.random((*shape, 2)) * side
    return np.concatenate([corner, corner + 1 + rng.random((*shape, 2)) * side], -1).astype(dtype)


def samples_nms():
    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        yield Sample((_boxes(rng, 40, dtype=dtype), rng.random(40).astype(dtype)))
        yield Sample((_boxes(rng, 40, dtype=dtype), rng.integers(0, 5, 40)), {"iou_threshold": 0.6})  # the same scores
        kinds = rng.integers(0, 3, 200)
        yield Sample((_boxes(rng, 200, dtype=dtype), rng.random(200).astype(dtype), kinds, 0.1, [0, 2]))
    # Many that go, so that the rest is put together, and a chain of boxes that take each other out.
    yield Sample((_boxes(rng, 900, side=60.0), rng.random(900)), {"iou_threshold": 0.05})
    steps = np.arange(300.0)[:, None]
    yield Sample((np.concatenate([steps, steps * 0, steps + 2, steps * 0 + 1], 1), None), {"iou_threshold": 0.2})


def samples_multiclass_nms():
    rng = np.random.default_rng(2)
    for dtype in ("float32", "float64"):
        boxes, scores = _boxes(rng, 2, 30, dtype=dtype), rng.random((2, 3, 30)).astype(dtype)
        yield Sample((boxes, scores))
        yield Sample((boxes, scores, None, 0.2, 12, 9, 0.7, False, 0.9, -1))
        yield Sample((boxes, scores, None, 0.2, 0, -1))
        listed, points = _boxes(rng, 20, 4, dtype=dtype), rng.random((20, 4)).astype(dtype)
        yield Sample((listed, points, np.array([7, 0, 13], np.int32), 0.3, 6, 5))


def samples_matrix_nms():
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64"):
        boxes, scores = _boxes(rng, 2, 25, dtype=dtype), rng.random((2, 3, 25)).astype(dtype)
        yield Sample((boxes, scores))
        yield Sample((boxes, scores, 0.2, 0.1, 12, 9, True, 2.0, -1, False))
        boxes[:, 1] = boxes[:, 0]  # the same box twice
        yield Sample((boxes, scores, 0.1, 0.05))
