"""References of regions of images, point by point and pixel by pixel, from the formulas."""

import math

import numpy as np

TOLERANCE = {"roi_align": {"float32": (1e-4, 1e-5)}, "roi_align_grad": {"float32": (1e-4, 1e-5)}}


def _images(boxes_num):
    return np.repeat(np.arange(len(boxes_num)), boxes_num)


def _between(size_h, size_w, y, x):
    """Weights of the pixels around a point: a [H, W] array."""
    out = np.zeros((size_h, size_w))
    if y < -1 or y > size_h or x < -1 or x > size_w:
        return out
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = min(int(y), size_h - 1), min(int(x), size_w - 1)
    down = y - top if top + 1 < size_h else 0.0
    right = x - left if left + 1 < size_w else 0.0
    for i, wy in ((top, 1 - down), (min(top + 1, size_h - 1), down)):
        for j, wx in ((left, 1 - right), (min(left + 1, size_w - 1), right)):
            out[i, j] += wy * wx
    return out


def _align_weights(box, height, width, parts_h, parts_w, scale, ratio, aligned):
    """[parts_h, parts_w, H, W]: what each pixel counts for in each part."""
    offset = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = (float(v) * scale - offset for v in box)
    w, h = x2 - x1, y2 - y1
    if not aligned:
        w, h = max(w, 1.0), max(h, 1.0)
    part_h, part_w = h / parts_h, w / parts_w
    down = ratio if ratio > 0 else math.ceil(part_h)
    across = ratio if ratio > 0 else math.ceil(part_w)
    out = np.zeros((parts_h, parts_w, height, width))
    for i in range(parts_h):
        for j in range(parts_w):
            for a in range(max(down, 0)):
                for b in range(max(across, 0)):
                    y = y1 + i * part_h + (a + 0.5) * part_h / down
                    x = x1 + j * part_w + (b + 0.5) * part_w / across
                    out[i, j] += _between(height, width, y, x) / (down * across)
    return out


def reference_roi_align(
    x, boxes, boxes_num, pooled_height=1, pooled_width=1, spatial_scale=1.0, sampling_ratio=-1, aligned=True
):
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width))
    for r, (image, box) in enumerate(zip(_images(boxes_num), boxes)):
        w = _align_weights(box, *x.shape[2:], pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned)
        out[r] = np.einsum("ijhw,chw->cij", w, x[image])
    return out


def reference_roi_align_grad(dy, boxes, boxes_num, shape, spatial_scale=1.0, sampling_ratio=-1, aligned=True):
    out = np.zeros(shape)
    for r, (image, box) in enumerate(zip(_images(boxes_num), boxes)):
        w = _align_weights(box, *shape[2:], *dy.shape[2:], spatial_scale, sampling_ratio, aligned)
        out[image] += np.einsum("ijhw,cij->chw", w, dy[r])
    return out


def _away(v):
    """Rounded, halves away from zero."""
    return math.copysign(math.floor(abs(v) + 0.5), v)


def _whole(low, high, parts, size, scale):
    start = _away(low * scale)
    part = max(_away(high * scale) - start + 1, 1) / parts
    clamp = lambda v: int(min(max(v, 0), size))  # noqa: E731
    return [(clamp(math.floor(p * part) + start), clamp(math.ceil((p + 1) * part) + start)) for p in range(parts)]


def _scaled(low, high, parts, size, scale):
    start, end = _away(low) * scale, (_away(high) + 1) * scale
    part = max(end - start, 0.1) / parts
    clamp = lambda v: int(min(max(v, 0), size))  # noqa: E731
    return [(clamp(math.floor(p * part + start)), clamp(math.ceil((p + 1) * part + start))) for p in range(parts)]


def reference_roi_pool(x, boxes, boxes_num, pooled_height=1, pooled_width=1, spatial_scale=1.0):
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width))
    places = np.full(out.shape, -1, np.int64)
    height, width = x.shape[2:]
    for r, (image, (x1, y1, x2, y2)) in enumerate(zip(_images(boxes_num), boxes)):
        for i, (top, bottom) in enumerate(_whole(y1, y2, pooled_height, height, spatial_scale)):
            for j, (left, right) in enumerate(_whole(x1, x2, pooled_width, width, spatial_scale)):
                if bottom > top and right > left:
                    for c in range(x.shape[1]):
                        part = x[image, c, top:bottom, left:right]
                        row, column = np.unravel_index(np.argmax(part), part.shape)
                        out[r, c, i, j] = part[row, column]
                        places[r, c, i, j] = (top + row) * width + left + column
    return out, places


def reference_roi_pool_grad(dy, argmax, boxes_num, shape):
    out = np.zeros((*shape[:2], shape[2] * shape[3]))
    for r, image in enumerate(_images(boxes_num)):
        for c in range(shape[1]):
            for g, place in zip(dy[r, c].ravel(), argmax[r, c].ravel()):
                if place >= 0:
                    out[image, c, place] += g
    return out.reshape(shape)


def reference_roi_pool_pick(x, argmax, boxes_num):
    out = np.zeros(argmax.shape)
    for r, image in enumerate(_images(boxes_num)):
        for c in range(x.shape[1]):
            flat = x[image, c].ravel()
            out[r, c] = np.where(argmax[r, c] < 0, 0.0, flat[np.maximum(argmax[r, c], 0)])
    return out


def _part_weights(box, height, width, parts_h, parts_w, scale):
    x1, y1, x2, y2 = (float(v) for v in box)
    out = np.zeros((parts_h, parts_w, height, width))
    for i, (top, bottom) in enumerate(_scaled(y1, y2, parts_h, height, scale)):
        for j, (left, right) in enumerate(_scaled(x1, x2, parts_w, width, scale)):
            if bottom > top and right > left:
                out[i, j, top:bottom, left:right] = 1 / ((bottom - top) * (right - left))
    return out


def reference_psroi_pool(x, boxes, boxes_num, pooled_height=1, pooled_width=1, output_channels=1, spatial_scale=1.0):
    out = np.zeros((len(boxes), output_channels, pooled_height, pooled_width))
    for r, (image, box) in enumerate(zip(_images(boxes_num), boxes)):
        w = _part_weights(box, *x.shape[2:], pooled_height, pooled_width, spatial_scale)
        parts = x[image].reshape(output_channels, pooled_height, pooled_width, *x.shape[2:])
        out[r] = (parts * w).sum((-1, -2))
    return out


def reference_psroi_pool_grad(dy, boxes, boxes_num, shape, spatial_scale=1.0):
    out = np.zeros(shape)
    for r, (image, box) in enumerate(zip(_images(boxes_num), boxes)):
        w = _part_weights(box, *shape[2:], *dy.shape[2:], spatial_scale)
        out[image] += (dy[r][..., None, None] * w).reshape(shape[1:])
    return out
