"""Ops of PaddlePaddle's files on regions of images, and those that find text and objects: against loops of NumPy."""

import numpy as np
import pytest

import proa
from python.tests.reference_program import run

_R = np.random.RandomState(3)
_OF_IMAGES = np.array([2, 0, 3])
_IMAGES = _R.randn(3, 8, 9, 11).astype("float32")
_WHOSE = np.repeat(np.arange(3), _OF_IMAGES)


def _boxes(scale):
    corners = np.sort(_R.rand(5, 2, 2) * [11, 9], 1).reshape(5, 4) / scale
    corners[0] += 0.4 / scale  # partly outside
    return corners.astype("float32")


def _pixel(image, i, j):
    """All channels; zeros outside."""
    h, w = image.shape[1:]
    return image[:, i, j] if 0 <= i < h and 0 <= j < w else np.zeros(len(image), image.dtype)


def _bilinear(image, y, x):
    i, j = int(np.floor(y)), int(np.floor(x))
    p, q = y - i, x - j
    return ((1 - p) * (1 - q) * _pixel(image, i, j) + (1 - p) * q * _pixel(image, i, j + 1)
            + p * (1 - q) * _pixel(image, i + 1, j) + p * q * _pixel(image, i + 1, j + 1))  # fmt: skip


# Precise pooling ---------------------------------------------------------------------------------------------------------------


def _precise(image, box, h, w, scale, fine=64):
    """The mean over each part of what lies between the pixels: midpoints of pieces between whole numbers are exact for products."""
    x1, y1, x2, y2 = box * scale
    out = np.zeros([len(image), h, w])
    part_h, part_w = max(y2 - y1, 0) / h, max(x2 - x1, 0) / w
    if part_h * part_w == 0:
        return out
    for a in range(h):
        for b in range(w):
            ys, xs = ([*sorted({low, high, *range(int(np.floor(low)) + 1, int(np.ceil(high)))})] for low, high in (
                (y1 + a * part_h, y1 + (a + 1) * part_h), (x1 + b * part_w, x1 + (b + 1) * part_w)))  # fmt: skip
            for top, bottom in zip(ys, ys[1:], strict=False):
                for left, right in zip(xs, xs[1:], strict=False):
                    middle = _bilinear(image, (top + bottom) / 2, (left + right) / 2)
                    out[:, a, b] += (bottom - top) * (right - left) * middle
    return out / (part_h * part_w)


@pytest.mark.parametrize(("h", "w", "scale"), [(2, 3, 1.0), (1, 1, 0.5), (5, 4, 0.25)])
@pytest.mark.parametrize("by_counts", [False, True])
def test_prroi_pool(h, w, scale, by_counts):
    boxes = _boxes(scale)
    boxes[1, 2:] = boxes[1, :2]  # nothing
    inputs = {"X": _IMAGES, "ROIs": boxes}
    more = {"lengths": (_OF_IMAGES,), "levels": {"ROIs": 1}}
    if by_counts:
        inputs["BatchRoINums"], more = _OF_IMAGES, {"levels": {}}
    attributes = {"pooled_height": h, "pooled_width": w, "spatial_scale": scale}
    (found,), _ = run("prroi_pool", inputs, attributes=attributes, **more)
    want = [_precise(_IMAGES[n], box.astype(float), h, w, scale) for n, box in zip(_WHOSE, boxes, strict=True)]
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-4)


# Quadrangles -------------------------------------------------------------------------------------------------------------------


def _matrix(x, y, h, w):
    side = [np.hypot(x[i] - x[(i + 1) % 4], y[i] - y[(i + 1) % 4]) for i in range(4)]
    tall = max(2, h)
    wide = np.round((side[0] + side[2]) / 2 * (tall - 1) / ((side[1] + side[3]) / 2)) + 1
    wide = max(2, min(wide, w))
    a, b = np.array([x[1] - x[2], y[1] - y[2]]), np.array([x[3] - x[2], y[3] - y[2]])
    e = np.array([x[0] - x[1] + x[2] - x[3], y[0] - y[1] + y[2] - y[3]])
    det = a[0] * b[1] - b[0] * a[1] + 1e-5
    p, q = (e[0] * b[1] - b[0] * e[1]) / det / (wide - 1), (a[0] * e[1] - e[0] * a[1]) / det / (tall - 1)
    row = lambda v: [
        (v[1] - v[0] + p * (wide - 1) * v[1]) / (wide - 1),
        (v[3] - v[0] + q * (tall - 1) * v[3]) / (tall - 1),
        v[0],
    ]
    return np.array([row(x), row(y), [p, q, 1.0]])


def _inside(px, py, x, y):
    crossings = 0
    for i in range(4):
        x1, y1, x2, y2 = x[i], y[i], x[(i + 1) % 4], y[(i + 1) % 4]
        if (y1 > py) != (y2 > py) and px < x1 + (py - y1) / (y2 - y1) * (x2 - x1):
            crossings += 1
        length = np.hypot(x2 - x1, y2 - y1)
        along = ((px - x1) * (x2 - x1) + (py - y1) * (y2 - y1)) / length
        if abs((px - x1) * (y2 - y1) - (py - y1) * (x2 - x1)) / length < 1e-4 and -1e-4 < along < length + 1e-4:
            return True
    return crossings % 2 == 1


def test_roi_perspective_transform():
    """Of quadrangles that lean, the first side at the top; corners and sides belong to them."""
    corners = np.array([[2, 1], [9, 2], [8, 6], [1, 5]]) + _R.rand(5, 4, 2)
    corners[4] = [[1, 1], [8, 1], [8, 6], [1, 6]]
    corners[3] += 3  # partly outside
    h, w = 4, 8
    attributes = {"transformed_height": h, "transformed_width": w, "spatial_scale": 0.5}
    outputs = {"Out": "float32", "Mask": "int32", "TransformMatrix": "float32"}
    inputs = {"X": _IMAGES, "ROIs": (corners.reshape(5, 8) * 2).astype("float32")}
    (out, mask, matrices), _ = run("roi_perspective_transform", inputs, outputs, attributes=attributes,
                                   lengths=(_OF_IMAGES,), levels={"ROIs": 1})  # fmt: skip
    want, inside = np.zeros(out.shape), np.zeros(mask.shape)
    for r, n in enumerate(_WHOSE):
        x, y = corners[r].T
        m = _matrix(x, y, h, w)
        np.testing.assert_allclose(matrices[r], m.ravel(), rtol=1e-3, atol=1e-4)
        for i, j in np.ndindex(h, w):
            u, v, depth = m @ [j, i, 1]
            px, py = u / depth, v / depth
            if _inside(px, py, x, y) and -0.5 <= px <= 10.5 and -0.5 <= py <= 8.5:
                inside[r, 0, i, j] = 1
                want[r, :, i, j] = _bilinear(_IMAGES[n], np.clip(py, 0, 8), np.clip(px, 0, 10))
    assert 0.2 < inside.mean() < 1
    np.testing.assert_array_equal(mask, inside)
    np.testing.assert_allclose(out, want, rtol=1e-3, atol=1e-3)


# Parts that move -----------------------------------------------------------------------------------------------------------------


def _deformed(image, box, moves, spread, h, w, groups, parts, samples, scale, channels):
    kinds = 1 if moves is None else len(moves) // 2
    out, counts = np.zeros([channels, h, w]), np.zeros([channels, h, w])
    left, top, right, bottom = (np.sign(v) * np.floor(abs(v) + 0.5) for v in box)
    left, top, right, bottom = (
        left * scale - 0.5,
        top * scale - 0.5,
        (right + 1) * scale - 0.5,
        (bottom + 1) * scale - 0.5,
    )
    wide, tall = max(right - left, 0.1), max(bottom - top, 0.1)
    for c, i, j in np.ndindex(channels, h, w):
        kind, dx, dy = c // (channels // kinds), 0.0, 0.0
        if moves is not None:
            a, b = i * parts[0] // h, j * parts[1] // w
            dx, dy = (moves[2 * kind + k, a, b] * spread for k in (0, 1))
        gi, gj = (min(k * g // n, g - 1) for k, g, n in ((i, groups[0], h), (j, groups[1], w)))
        values = []
        for p, q in np.ndindex(samples, samples):
            y = top + dy * tall + tall / h * (i + p / samples)
            x = left + dx * wide + wide / w * (j + q / samples)
            if -0.5 <= y <= image.shape[1] - 0.5 and -0.5 <= x <= image.shape[2] - 0.5:
                y, x = np.clip(y, 0, image.shape[1] - 1), np.clip(x, 0, image.shape[2] - 1)
                values.append(_bilinear(image, y, x)[(c * groups[0] + gi) * groups[1] + gj])
        counts[c, i, j] = len(values)
        out[c, i, j] = np.mean(values) if values else 0
    return out, counts


@pytest.mark.parametrize(
    ("groups", "channels", "kinds"), [([1, 1], 8, 1), ([1, 1], 8, 2), ([2, 2], 2, 1), ([2, 1], 4, 2), ([1, 1], 8, 0)]
)
def test_deformable_psroi_pooling(groups, channels, kinds):
    boxes, parts, scale = _boxes(0.5), [2, 3], 0.5
    moves = _R.randn(5, 2 * max(kinds, 1), *parts).astype("float32")
    attributes = {"no_trans": kinds == 0, "spatial_scale": scale, "output_dim": channels, "group_size": groups,
                  "pooled_height": 4, "pooled_width": 3, "part_size": parts, "sample_per_part": 2, "trans_std": 0.3}  # fmt: skip
    (out, counts), _ = run("deformable_psroi_pooling", {"Input": _IMAGES, "ROIs": boxes, "Trans": moves},
                           ("Output", "TopCount"), attributes=attributes, lengths=(_OF_IMAGES,), levels={"ROIs": 1})  # fmt: skip
    for r, n in enumerate(_WHOSE):
        want, many = _deformed(
            _IMAGES[n],
            boxes[r].astype(float),
            moves[r] if kinds else None,
            0.3,
            4,
            3,
            groups,
            parts,
            2,
            scale,
            channels,
        )
        np.testing.assert_array_equal(counts[r], many)
        np.testing.assert_allclose(out[r], want, rtol=1e-3, atol=1e-3)
    assert 0 < (counts == 0).mean() < 1 or kinds == 0


# What is found -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 8, 16])
def test_locality_aware_nms(size):
    """It is that of the op, which the samples of ops/vision compare with loops."""
    boxes = np.sort(_R.rand(2, 12, size) * 3, 2) + np.repeat(_R.rand(2, 3, 1) * 9, 4, axis=1)
    boxes, scores = boxes.astype("float32"), _R.rand(2, 2, 12).astype("float32")
    kinds = {"score_threshold": 0.1, "nms_top_k": 5, "keep_top_k": 6, "nms_threshold": 0.3, "normalized": True,
             "nms_eta": 0.9, "background_label": 0}  # fmt: skip
    (found,), lengths = run("locality_aware_nms", {"BBoxes": boxes, "Scores": scores}, attributes=kinds, levels={})
    rows, counts = proa._C.ops.locality_aware_nms(proa.to_tensor(boxes), proa.to_tensor(scores), **kinds)
    np.testing.assert_array_equal(found, rows.numpy())
    np.testing.assert_array_equal(lengths, counts.numpy())
    assert rows.shape[1] == size + 2 and rows.shape[0] > 4


def test_retinanet_detection_output():
    sizes, classes, images = (12, 6), 3, 2
    codes = [_R.randn(images, n, 4).astype("float32") * 0.3 for n in sizes]
    scores = [_R.rand(images, n, classes).astype("float32") for n in sizes]
    corners = [np.sort(_R.rand(n, 2, 2) * 40, 1).reshape(n, 4).astype("float32") for n in sizes]
    info = np.array([[40, 60, 1.0], [50, 30, 0.5]], "float32")
    attributes = {"score_threshold": 0.3, "nms_top_k": 9, "keep_top_k": 7, "nms_threshold": 0.4, "nms_eta": 1.0}
    (found,), lengths = run("retinanet_detection_output", {"BBoxes": codes, "Scores": scores, "Anchors": corners, "ImInfo": info},
                            attributes=attributes, levels={})  # fmt: skip
    rows, counts = [], []
    for n in range(images):
        boxes, looked_at = [], []
        for level in range(2):
            least = 0.3 if level == 0 else 0.0
            places = [(s, k) for k, s in np.ndenumerate(scores[level][n]) if s > least]
            chosen = {k for _, k in sorted(places, key=lambda p: -p[0])[:9]}
            for k in range(sizes[level]):
                x1, y1, x2, y2 = corners[level][k]
                w, h = x2 - x1 + 1, y2 - y1 + 1
                cx, cy = codes[level][n, k, 0] * w + x1 + w / 2, codes[level][n, k, 1] * h + y1 + h / 2
                hw, hh = np.exp(codes[level][n, k, 2]) * w / 2, np.exp(codes[level][n, k, 3]) * h / 2
                ends = np.array([cx - hw, cy - hh, cx + hw - 1, cy + hh - 1]) / info[n, 2]
                height, width = np.round(info[n, :2] / info[n, 2])
                boxes.append(np.clip(ends, 0, [width - 1, height - 1, width - 1, height - 1]))
                looked_at.append([scores[level][n, k, c] if (k, c) in chosen else -1.0 for c in range(classes)])
        given = np.float32([boxes]), np.float32([looked_at]).transpose(0, 2, 1).copy()
        each, _, many = proa._C.ops.multiclass_nms(*map(proa.to_tensor, given), None, 0.0, -1, 7, 0.4, False, 1.0, -1)
        each = each.numpy()
        rows += [[r[0] + 1, *r[1:]] for r in each]
        counts.append(many.item())
    np.testing.assert_array_equal(lengths, counts)
    np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-3)


def test_regions_that_are_of_no_image():
    inputs = {"X": _IMAGES, "ROIs": _boxes(1.0)}
    with pytest.raises(ValueError, match=r"numbers of regions are given for \[1\] images, and there are \[3\]"):
        run("prroi_pool", inputs, levels={})
    with pytest.raises(ValueError, match=r"add up to 4, and there are \[5\]"):
        run("prroi_pool", {**inputs, "BatchRoINums": _OF_IMAGES - [0, 0, 1]}, levels={})
    with pytest.raises(ValueError, match=r"for \[2\] images, and there are \[3\]"):
        run("deformable_psroi_pooling", {"Input": _IMAGES, "ROIs": _boxes(1.0), "Trans": np.zeros([5, 2, 1, 1], "float32")},
            ("Output",), attributes={"output_dim": 8, "group_size": [1, 1], "part_size": [1, 1]}, lengths=(np.array([2, 3]),),
            levels={"ROIs": 1})  # fmt: skip
