"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import math

import numpy as np

import proa
from proa import _C
from proa.onnx.import_rule import flat, numbers, opset, refuse, scalar, to

ops = _C.ops

# Resize -----------------------------------------------------------------------------------------------------------------

# Elements of an axis of the result: where each looks are numbers of the program.
_MOST_PLACES = 1 << 21
# Elements that each is the mean of: operations are recorded for each.
_MOST_TAPS = 1 << 12


def _coordinates(n, m, scale, mode, roi):
    """Where the elements of the result stand in the input, as numbers."""
    at = np.arange(m, dtype=np.float64)
    if mode == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if m > 1 else at * 0
    if mode == "align_corners":
        return at * ((n - 1) / (m - 1)) if m > 1 else at * 0
    if mode == "asymmetric":
        return at / scale
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if mode == "half_pixel_symmetric":
        adjusted = m / (scale * n)
        return n / 2 * (1 - adjusted) + (at + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        begin, end = roi
        if m > 1:
            return begin * (n - 1) + at * (end - begin) * (n - 1) / (m - 1)
        return at * 0 + 0.5 * (begin + end) * (n - 1)
    return refuse(f"there is no coordinate_transformation_mode {mode!r}")


_ROUNDED = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(t, a):
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _taps(where, n, mode, nearest_mode, a, exclude_outside, shrink):
    """([taps, m] places, [taps, m] weights) of an axis of n elements."""
    if mode == "nearest":
        if nearest_mode not in _ROUNDED:
            refuse(f"there is no nearest_mode {nearest_mode!r}")
        return np.clip(_ROUNDED[nearest_mode](where), 0, n - 1)[None], np.ones((1, len(where)))
    reach = (1 if mode == "linear" else 2) / shrink
    if 2 * reach > _MOST_TAPS:
        refuse(f"each element would be the mean of {2 * reach:g}; the most is {_MOST_TAPS}")
    first = np.floor(where) - math.ceil(reach) + 1
    places = first + np.arange(2 * math.ceil(reach))[:, None]
    distance = (places - where) * shrink
    weights = np.maximum(0, 1 - np.abs(distance)) if mode == "linear" else _cubic(distance, a)
    if exclude_outside:
        weights = np.where((places >= 0) & (places < n), weights, 0.0)
    if exclude_outside or shrink != 1:
        total = weights.sum(0)
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(places, 0, n - 1), weights


def _resized(x, sizes, scales, mode, how, nearest_mode, a, exclude_outside, roi, outside, antialias):
    """`x`, one axis after the other."""
    if mode not in ("nearest", "linear", "cubic"):
        refuse(f"there is no mode {mode!r}")
    covered = None
    for d, m in enumerate(sizes):
        n = x.shape[d]
        if hasattr(n, "tensor") or hasattr(m, "tensor"):
            if n is m or scales[d] == 1.0 and how != "tf_crop_and_resize":
                continue
            x = _repeated(x, d, scales[d], mode, how, nearest_mode)
            continue
        part = (roi[d], roi[len(sizes) + d]) if roi else (0.0, 1.0)
        if n == m and scales[d] == 1.0 and (how != "tf_crop_and_resize" or part == (0.0, 1.0)):
            continue
        if n <= 0 or m <= 0 or scales[d] <= 0:
            refuse(f"dim {d} of {n} elements is resized to {m}")
        if m > _MOST_PLACES:
            refuse(f"dim {d} of {n} elements is resized to {m}; the most is {_MOST_PLACES}")
        where = _coordinates(n, m, scales[d], how, part)
        shrink = min(scales[d], 1.0) if antialias and mode != "nearest" else 1.0
        places, weights = _taps(where, n, mode, nearest_mode, a, exclude_outside, shrink)
        made = None
        for at, weight in zip(places.astype(np.int64), weights, strict=True):
            if made is not None and not weight.any():
                continue
            taken = ops.gather(x, proa.to_tensor(at), d)
            if mode != "nearest":
                wide = proa.to_tensor(
                    weight.astype("float64").reshape([-1 if i == d else 1 for i in range(len(sizes))])
                )
                taken = taken * to(wide, x.dtype)
            made = taken if made is None else made + taken
        x = made
        if how == "tf_crop_and_resize":
            inside = proa.to_tensor(
                ((where >= 0) & (where <= n - 1)).reshape([-1 if i == d else 1 for i in range(len(sizes))])
            )
            covered = inside if covered is None else ops.logical_and(covered, inside)
    return x if covered is None else ops.where(covered, x, ops.full([], outside, x.dtype))


def _repeated(x, d, scale, mode, how, nearest_mode):
    """A dim of open size: each element several times."""
    whole = int(scale)
    if mode != "nearest" or whole != scale or (how, nearest_mode) not in (
        ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("half_pixel", "round_prefer_ceil"),
    ):  # fmt: skip
        refuse(
            f"dim {d} has an open size; only nearest elements, a whole number of times, are taken there: give the size"
        )
    shape = list(x.shape)
    y = ops.broadcast_to(ops.unsqueeze(x, [d + 1]), [*shape[: d + 1], whole, *shape[d + 1 :]])
    return ops.reshape(y, [*shape[:d], shape[d] * whole, *shape[d + 1 :]])


def from_Resize(x, roi: numbers = None, scales: numbers = None, sizes: numbers = None, *, mode="nearest",
                coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor", cubic_coeff_a=-0.75,
                exclude_outside=0, extrapolation_value=0.0, antialias=0, axes=None,
                keep_aspect_ratio_policy="stretch"):  # fmt: skip
    if opset() < 11:
        return _upsampled(x, roi, mode)
    rank = len(x.shape)
    axes = list(range(rank)) if axes is None else [a % rank for a in axes]
    how = coordinate_transformation_mode
    wanted, by = list(x.shape), [1.0] * rank
    part = [0.0] * rank + [1.0] * rank
    if roi is not None and np.size(roi):
        for i, a in enumerate(axes):
            part[a], part[rank + a] = float(roi[i]), float(roi[len(axes) + i])
    if scales is not None and np.size(scales):
        for a, s in zip(axes, np.asarray(scales).reshape(-1), strict=True):
            by[a] = float(s)
            length = part[rank + a] - part[a] if how == "tf_crop_and_resize" else 1.0
            n = x.shape[a]
            wanted[a] = n * int(s) if hasattr(n, "tensor") else math.floor(n * length * float(s))
    elif sizes is not None and np.size(sizes):
        sizes = flat(sizes)
        for a, m in zip(axes, sizes, strict=True):
            n = x.shape[a]
            late = hasattr(n, "tensor") or hasattr(m, "tensor")
            wanted[a], by[a] = m, 1.0 if late and n is m else float("nan") if late else m / n
        if any(b != b for b in by):  # sizes that are open: what stays the same
            by = [1.0 if w == n else b for b, w, n in zip(by, wanted, x.shape, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            s = (min if keep_aspect_ratio_policy == "not_larger" else max)(by[a] for a in axes)
            for a in axes:
                by[a], wanted[a] = s, math.floor(s * x.shape[a] + 0.5)
    else:
        refuse("neither scales nor sizes are given")
    return _resized(
        x, wanted, by, mode, how, nearest_mode, cubic_coeff_a, exclude_outside, part, extrapolation_value, antialias
    )


def _upsampled(x, scales, mode):
    by = [float(s) for s in np.asarray(scales).reshape(-1)]
    if len(by) != len(x.shape):
        refuse(f"{len(by)} scales for {len(x.shape)} dims")
    wanted = [n * int(s) if hasattr(n, "tensor") else math.floor(n * s) for n, s in zip(x.shape, by, strict=True)]
    mode = {"bilinear": "linear", "trilinear": "linear"}.get(mode, mode)
    return _resized(x, wanted, by, mode, "asymmetric", "floor", -0.75, 0, None, 0.0, 0)


def from_Upsample(x, scales: numbers = None, *, mode="nearest", height_scale=None, width_scale=None):
    return _upsampled(x, [1.0, 1.0, height_scale, width_scale] if scales is None else scales, mode)


# Samples ----------------------------------------------------------------------------------------------------------------


def from_GridSample(x, grid, *, mode="bilinear", padding_mode="zeros", align_corners=0):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    if mode == "bicubic":
        return _bicubic(x, grid, padding_mode, bool(align_corners))
    if len(x.shape) != 4:
        refuse("samples of images of two dims only")
    return proa.nn.functional.grid_sample(x, grid, mode, padding_mode, bool(align_corners))


def _reflected(at, n, align_corners):
    low, high = (0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)
    length = high - low
    if length <= 0:
        return ops.full_like(at, 0.0)
    away = ops.abs(at - low)
    turns = ops.floor(away / length)
    rest = away - turns * length
    odd = ops.equal(turns - ops.floor(turns / 2.0) * 2.0, ops.full_like(turns, 1.0))
    return ops.where(odd, high - rest, rest + low)


def _bicubic(x, grid, padding_mode, align_corners):
    n, c, h, w = x.shape
    if any(hasattr(s, "tensor") for s in (n, c, h, w)) or len(grid.shape) != 4:
        refuse("bicubic samples need images whose sizes are known")
    gx, gy = ops.unbind(grid, -1)

    def pixels(g, size):
        return (g + 1.0) / 2.0 * (size - 1) if align_corners else ((g + 1.0) * size - 1.0) / 2.0

    px, py = pixels(gx, w), pixels(gy, h)
    x0, y0 = ops.floor(px), ops.floor(py)
    images = ops.reshape(ops.arange(0, n, 1, "int64"), [n, 1, 1]) * (h * w)
    rows = ops.reshape(ops.transpose(x, [0, 2, 3, 1]), [n * h * w, c])

    def weight(t):
        a = -0.75
        t = ops.abs(t)
        near = ((a + 2) * t - (a + 3)) * t * t + 1.0
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return ops.where(t <= 1.0, near, far)

    total = None
    for j in range(-1, 3):
        for i in range(-1, 3):
            cx, cy = x0 + float(i), y0 + float(j)
            if padding_mode == "reflection":
                ix, iy = _reflected(cx, w, align_corners), _reflected(cy, h, align_corners)
            else:
                ix, iy = cx, cy
            kept = (ix >= 0) & (ix <= w - 1) & (iy >= 0) & (iy <= h - 1)
            ix, iy = ops.clip(ix, 0.0, w - 1.0), ops.clip(iy, 0.0, h - 1.0)
            place = to(ops.round(iy), "int64") * w + to(ops.round(ix), "int64") + images
            taken = ops.gather(rows, ops.reshape(place, [-1]))
            taken = ops.reshape(taken, [*place.shape, c])
            factor = weight(px - cx) * weight(py - cy)
            if padding_mode == "zeros":
                factor = ops.where(kept, factor, ops.full_like(factor, 0.0))
            part = taken * ops.unsqueeze(factor, [-1])
            total = part if total is None else total + part
    return ops.transpose(total, [0, 3, 1, 2])


def from_AffineGrid(theta, size: numbers, *, align_corners=0):
    if len(flat(size)) != 4:
        refuse("grids of two dims only")
    return proa.nn.functional.affine_grid(theta, flat(size), bool(align_corners))


# Regions ----------------------------------------------------------------------------------------------------------------


def _in_order(x, boxes, images):
    """Boxes by image, how many there are of each, and how to undo it."""
    order = ops.argsort(to(images, "int64"))
    count = ops.sum(to(ops.equal(ops.unsqueeze(to(images, "int64"), [1]),
                                 ops.unsqueeze(ops.arange(0, x.shape[0], 1, "int64"), [0])), "int32"), [0])  # fmt: skip
    return ops.gather(boxes, order), to(count, "int32"), ops.argsort(order)


def from_RoiAlign(x, boxes, images, *, output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0, mode="avg",
                  coordinate_transformation_mode=None):  # fmt: skip
    if mode != "avg":
        refuse("only averages are taken of regions here")
    how = coordinate_transformation_mode or ("half_pixel" if opset() >= 16 else "output_half_pixel")
    boxes, count, back = _in_order(x, boxes, images)
    made = ops.roi_align(
        x, boxes, count, output_height, output_width, spatial_scale, sampling_ratio or -1, how == "half_pixel"
    )
    return ops.gather(made, back)


def from_MaxRoiPool(x, rois, *, pooled_shape, spatial_scale=1.0):
    images, boxes = ops.split(rois, [1, 4], 1)
    boxes, count, back = _in_order(x, boxes, ops.squeeze(images, [1]))
    return ops.gather(ops.roi_pool(x, boxes, count, *pooled_shape, spatial_scale)[0], back)


def from_NonMaxSuppression(boxes, scores, most: numbers = None, overlap: numbers = None, least: numbers = None, *,
                           center_point_box=0):  # fmt: skip
    most, overlap = 0 if most is None else int(scalar(most)), 0.0 if overlap is None else float(scalar(overlap))
    if least is None:
        least = -math.inf
    if center_point_box:
        centers, sides = ops.split(boxes, [2, 2], -1)
        low, high = centers - sides * 0.5, centers + sides * 0.5
    else:
        a, b = ops.split(boxes, [2, 2], -1)
        low, high = ops.minimum(a, b), ops.maximum(a, b)
    rows, index, counts = ops.multiclass_nms(
        ops.concat([low, high], -1), scores, None, float(scalar(least)), -1, -1, overlap, True, 1.0, -1
    )
    return _selected(rows, index, counts, scores, most)


def _selected(rows, index, counts, scores, most):
    """[picked, 3]: image, class and box, at most `most` of each class of each image."""
    classes, boxes = scores.shape[1], scores.shape[2]
    index = to(ops.squeeze(index, [1]), "int64")
    image, box = ops.floor_divide(index, boxes), ops.remainder(index, boxes)
    label = to(ops.squeeze(ops.slice(rows, [1], [0], [1]), [1]), "int64")
    kind = image * classes + label
    # How many of the same class of the same image come before: rows are sorted by both.
    place = ops.arange(0, rows.shape[0], 1, "int64")
    first = ops.searchsorted(kind, kind)
    kept = ops.squeeze(ops.nonzero(place - to(first, "int64") < most), [1])
    return ops.gather(ops.stack([image, label, box], 1), kept)


def from_DeformConv(x, w, offset, b=None, mask=None, *, dilations=None, group=1, kernel_shape=None, offset_group=1, pads=None,
                    strides=None):  # fmt: skip
    given = list(pads or [0, 0, 0, 0])
    if len(x.shape) != 4 or given[:2] != given[2:]:
        refuse("images of two dims, with the same padding before and behind, only")
    return proa.vision.ops.deform_conv2d(
        x, offset, w, b, list(strides or [1, 1]), given[:2], list(dilations or [1, 1]), offset_group, group, mask
    )
