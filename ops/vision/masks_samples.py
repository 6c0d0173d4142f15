"""The reference of masks: each point of an outline, and run lengths, column by column."""

import numpy as np

from ops.conformance.samples import Sample


def _rounded(v):
    return int(np.sign(v) * np.floor(abs(v) + 0.5))


def _outline(corners):
    """The points of the closed outline, in order."""
    found = []
    for (xs, ys), (xe, ye) in zip(corners, corners[1:] + corners[:1], strict=True):
        dx, dy = abs(xe - xs), abs(ye - ys)
        turned = xs > xe if dx >= dy else ys > ye
        (xs, ys), (xe, ye) = ((xe, ye), (xs, ys)) if turned else ((xs, ys), (xe, ye))
        n = max(dx, dy)
        slope = 0.0 if n == 0 else (ye - ys) / n if dx >= dy else (xe - xs) / n
        line = [
            (xs + t, _rounded(ys + slope * t)) if dx >= dy else (_rounded(xs + slope * t), ys + t) for t in range(n + 1)
        ]
        found += line[::-1] if turned else line
    return found


def _mask(polygon, size):
    places = []
    outline = _outline([tuple(0 if np.isnan(v) else _rounded(5 * float(v)) for v in p) for p in polygon])
    for (u, v), (u2, v2) in zip(outline, outline[1:], strict=False):
        x = (min(u, u2) + 0.5) / 5 - 0.5
        if u != u2 and x == np.floor(x) and 0 <= x < size:
            places.append(int(x) * size + int(np.ceil(np.clip((min(v, v2) + 0.5) / 5 - 0.5, 0, size))))
    inside, k, flat = 0, 0, []
    places.sort()
    for at in range(size * size):
        while k < len(places) and places[k] <= at:
            inside, k = 1 - inside, k + 1
        flat.append(inside)
    return np.array(flat).reshape(size, size).T


def reference_polygon_masks(boxes, points, points_num, polygons_num, which, resolution=14):
    polygons = np.split(points, np.cumsum(points_num)[:-1]) if len(points_num) else []
    objects = np.repeat(np.arange(len(polygons_num)), polygons_num)
    out = np.zeros((len(boxes), resolution, resolution), np.int32)
    for mask, box, object_of in zip(out, boxes, which, strict=True):
        sides = np.fmax(box[2:] - box[:2], boxes.dtype.type(1))
        for polygon, of in zip(polygons, objects, strict=True):
            if of == object_of and len(polygon):
                seen = (polygon - box[:2]) * boxes.dtype.type(resolution) / sides
                mask |= _mask(seen, resolution).astype(np.int32)
    return out


def samples_polygon_masks():
    rng = np.random.default_rng(8)
    for dtype in ("float32", "float64"):
        points_num = np.array([3, 7, 1, 4, 12, 2])
        polygons_num = np.array([1, 0, 3, 2], np.int32)
        points = (rng.random((points_num.sum(), 2)) * 40).astype(dtype)
        corners = np.sort(rng.random((6, 2, 2)) * 40, 1).reshape(6, 4)
        corners[4] = [5, 5, 5, 5]  # no area
        which = np.array([0, 2, 3, 3, 2, 1])
        yield Sample((corners.astype(dtype), points, points_num, polygons_num, which, 14))
        yield Sample(
            (corners.astype(dtype), np.round(points / 8) * 8, points_num, polygons_num, which, 9)
        )  # right angles
