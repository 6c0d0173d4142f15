"""References of locality-aware suppression: what polygons share is added up strip by strip."""

import math

import numpy as np

from ops.conformance.samples import Sample


def _widths(polygon, y):
    """The intervals of a line that lie in a polygon, whose corners none is on."""
    ends = []
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if (y1 > y) != (y2 > y):
            ends.append(x1 + (y - y1) / (y2 - y1) * (x2 - x1))
    ends.sort()
    return list(zip(ends[::2], ends[1::2], strict=True))


def _crossings(a, b):
    """The heights at which sides of two polygons cross."""
    for p, q in zip(a, np.roll(a, -1, axis=0), strict=True):
        for r, s in zip(b, np.roll(b, -1, axis=0), strict=True):
            d, e = q - p, s - r
            turn = d[0] * e[1] - d[1] * e[0]
            if turn != 0:
                at = ((r - p)[0] * e[1] - (r - p)[1] * e[0]) / turn
                if 0 <= at <= 1:
                    yield p[1] + at * d[1]


def _areas(a, b):
    """Of polygons: of the first, of the second, of what they share. Between events the widths are linear."""
    events = sorted({*a[:, 1], *b[:, 1], *_crossings(a, b)})
    found = np.zeros(3)
    for low, high in zip(events, events[1:], strict=False):
        of_a, of_b = _widths(a, (low + high) / 2), _widths(b, (low + high) / 2)
        width = lambda parts: sum(right - left for left, right in parts)
        both = sum(max(0.0, min(p[1], q[1]) - max(p[0], q[0])) for p in of_a for q in of_b)
        found += (high - low) * np.array([width(of_a), width(of_b), both])
    return found


def _overlap(a, b, more):
    if len(a) > 4:
        if not np.isfinite([*a, *b]).all():
            return 0.0
        of_a, of_b, common = _areas(a.reshape(-1, 2).astype(float), b.reshape(-1, 2).astype(float))
    else:
        area = lambda v: 0.0 if v[2] < v[0] or v[3] < v[1] else (v[2] - v[0] + more) * (v[3] - v[1] + more)
        w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        of_a, of_b, common = area(a), area(b), 0.0 if w < 0 or h < 0 else (w + more) * (h + more)
    both = of_a + of_b - common
    return common / both if both > 0 else 0.0


def reference_locality_aware_nms(bboxes, scores, score_threshold=0.0, nms_top_k=-1, keep_top_k=-1, nms_threshold=0.3,
                                 normalized=True, nms_eta=1.0, background_label=-1):  # fmt: skip
    rows, counts = [], []
    for n in range(scores.shape[0]):
        mine = []
        for c in range(scores.shape[1]):
            if c == background_label:
                continue
            merged = []  # [score, box]
            for box, score in zip(bboxes[n], scores[n, c], strict=True):
                if merged and _overlap(box, merged[-1][1], 0.0 if normalized else 1.0) > nms_threshold:
                    last = merged[-1]
                    last[1] = (box * score + last[1] * last[0]) / (score + last[0])
                    last[0] = score + last[0]
                else:
                    merged.append([score, box])
            merged = [m for m in merged if m[0] > score_threshold]
            merged.sort(key=lambda m: -math.inf if math.isnan(m[0]) else -m[0])
            kept, threshold = [], nms_threshold
            for m in merged[: nms_top_k if nms_top_k >= 0 else None]:
                if all(not _overlap(m[1], k[1], 0.0 if normalized else 1.0) > threshold for k in kept):
                    kept.append(m)
                    threshold *= nms_eta if nms_eta < 1 and threshold > 0.5 else 1
            mine += [(c, *k) for k in kept]
        best = sorted(range(len(mine)), key=lambda i: -mine[i][1])[: keep_top_k if keep_top_k >= 0 else None]
        rows += [[mine[i][0], mine[i][1], *mine[i][2]] for i in sorted(best)]
        counts.append(len(best))
    out = np.array(rows, bboxes.dtype).reshape(-1, 2 + bboxes.shape[2])
    return out, np.array(counts, np.int32)


def samples_locality_aware_nms():
    rng = np.random.RandomState(5)
    for dtype in ("float32", "float64"):
        for size, kind in (
            (4, {}),
            (4, {"normalized": False}),
            (8, {}),
            (8, {"nms_threshold": 0.1}),
            (16, {}),
            (32, {}),
        ):
            middle = np.repeat(rng.rand(2, 4, 2) * 8, 5, axis=1)  # five of each follow one another
            if size == 4:
                half = 1 + rng.rand(2, 20, 2)
                place = middle + rng.rand(2, 20, 2)
                boxes = np.concatenate([place - half, place + half], 2)
            else:
                corners = size // 2
                angle = (np.arange(corners) + 0.8 * rng.rand(2, 20, corners)) * 2 * np.pi / corners
                radius = 1 + rng.rand(2, 20, corners)  # stars, which need not be convex
                place = middle[:, :, None] + 0.5 * rng.rand(2, 20, 1, 2)
                boxes = (place + radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)).reshape(2, 20, size)
            scores = rng.rand(2, 2, 20)
            args = [boxes.astype(dtype), scores.astype(dtype)]
            yield Sample(args, kind)
            yield Sample(args, {"score_threshold": 0.6, "nms_top_k": 6, "keep_top_k": 3, "background_label": 0, **kind})
        yield Sample(args, {"nms_threshold": 0.7, "nms_eta": 0.8})
