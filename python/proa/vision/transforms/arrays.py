"""Images that are NumPy arrays [H, W, C]: sampling, and colors. Coordinates count pixels, centers at whole numbers."""

import math

import numpy as np

from proa import _C

__all__ = ["blend", "grayscale", "hsv_to_rgb", "perspective_coefficients", "resize", "rgb_to_hsv", "rotation", "warp"]

_GRAY = np.array([0.299, 0.587, 0.114])


def like(values, image):
    """Floating point values as what `image` holds: rounded and within range, if integers."""
    if np.issubdtype(image.dtype, np.integer):
        limits = np.iinfo(image.dtype)
        return np.clip(np.rint(values), limits.min, limits.max).astype(image.dtype)
    return values.astype(image.dtype)


# Sampling -------------------------------------------------------------------------------------------------------------


def _linear(x):
    return np.maximum(1.0 - np.abs(x), 0.0)


def _cubic(x, a=-0.75):
    x = np.abs(x)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))


def _lanczos(x, taps=4):
    return np.where(np.abs(x) < taps, np.sinc(x) * np.sinc(x / taps), 0.0)


_KERNELS = {"bilinear": (_linear, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 4)}


def _area_weights(size, out):
    """[out, size]: how much of each source pixel lies in each result pixel."""
    edges = np.arange(out + 1) * (size / out)
    first, last = edges[:-1, None], edges[1:, None]
    pixels = np.arange(size)[None]
    cover = np.clip(np.minimum(last, pixels + 1) - np.maximum(first, pixels), 0.0, None)
    return cover / cover.sum(1, keepdims=True)


def _weights(size, out, interpolation):
    """[out, size]: what each source pixel of a row gives to each result pixel."""
    if interpolation == "area" and out < size:
        return _area_weights(size, out)
    kernel, taps = _KERNELS["bilinear" if interpolation == "area" else interpolation]
    place = (np.arange(out) + 0.5) * (size / out) - 0.5
    first = np.floor(place).astype(np.int64) - taps + 1
    weights = np.zeros((out, size))
    rows = np.arange(out)
    for tap in range(2 * taps):
        index = first + tap
        np.add.at(weights, (rows, np.clip(index, 0, size - 1)), kernel(place - index))
    return weights / weights.sum(1, keepdims=True)


def resize(image, height, width, interpolation):
    """The image [H, W, C] at another size; edges are continued, nothing is smoothed before shrinking (but by "area")."""
    if interpolation == "nearest":
        rows = np.minimum((np.arange(height) * (image.shape[0] / height)).astype(np.int64), image.shape[0] - 1)
        columns = np.minimum((np.arange(width) * (image.shape[1] / width)).astype(np.int64), image.shape[1] - 1)
        return image[rows][:, columns]
    values = image.astype(np.float64)
    if height != image.shape[0]:
        values = np.tensordot(_weights(image.shape[0], height, interpolation), values, (1, 0))
    if width != image.shape[1]:
        values = np.tensordot(values, _weights(image.shape[1], width, interpolation), (1, 1)).transpose(0, 2, 1)
    return like(values, image)


def warp(image, place, size, interpolation, fill):
    """The image where each result pixel comes from another place.

    Args:
        image (ndarray): [H, W, C].
        place (Callable): from x and y of result pixels to x and y in `image`.
        size: (height, width) of the result.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        fill (number|list): what lies outside, for each channel.
    """
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float64)
    x, y = place(x, y)
    outside = np.broadcast_to(np.asarray(fill, dtype=np.float64), image.shape[2:])
    if interpolation == "nearest":
        found = _pixels(image, np.rint(x).astype(np.int64), np.rint(y).astype(np.int64), outside)
        return like(found, image)
    if interpolation not in ("bilinear", "bicubic"):
        raise _C.located(
            ValueError(f"interpolation must be 'nearest', 'bilinear' or 'bicubic' here, not {interpolation!r}")
        )
    kernel, taps = _KERNELS[interpolation]
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    result = np.zeros((*size, image.shape[2]))
    for j in range(1 - taps, 1 + taps):
        for i in range(1 - taps, 1 + taps):
            weight = kernel(x - (left + i)) * kernel(y - (top + j))
            result += weight[..., None] * _pixels(image, left + i, top + j, outside)
    return like(result, image)


def _pixels(image, x, y, outside):
    inside = (x >= 0) & (x < image.shape[1]) & (y >= 0) & (y < image.shape[0])
    found = image[np.clip(y, 0, image.shape[0] - 1), np.clip(x, 0, image.shape[1] - 1)]
    return np.where(inside[..., None], found, outside)


def matrix(coefficients):
    """The map of `warp` that a 2 by 3 matrix (a, b, c, d, e, f) stands for."""
    a, b, c, d, e, f = coefficients
    return lambda x, y: (a * x + b * y + c, d * x + e * y + f)


def perspective(coefficients):
    """The map of `warp` that eight coefficients stand for."""
    a, b, c, d, e, f, g, h = coefficients

    def place(x, y):
        depth = g * x + h * y + 1.0
        return (a * x + b * y + c) / depth, (d * x + e * y + f) / depth

    return place


def perspective_coefficients(start, end):
    """The eight coefficients that bring the points `end` of the result to `start` in the image."""
    rows, values = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0].tolist()


def rotation(height, width, angle, center, expand):
    """((height, width) of the result, matrix of `warp`) of a turn by `angle` degrees against the clock.

    Without a center the image turns about (width / 2, height / 2).
    """
    turn = math.radians(angle)
    cos, sin = round(math.cos(turn), 15), round(math.sin(turn), 15)
    x, y = (width / 2.0, height / 2.0) if center is None else center
    shift_x = shift_y = 0.0
    size = (height, width)
    if expand:
        corners = [(0, 0), (width, 0), (width, height), (0, height)]
        there = [((px - x) * cos + (py - y) * sin, (py - y) * cos - (px - x) * sin) for px, py in corners]
        xs, ys = [p[0] + x for p in there], [p[1] + y for p in there]
        size = (math.ceil(max(ys)) - math.floor(min(ys)), math.ceil(max(xs)) - math.floor(min(xs)))
        shift_x, shift_y = (size[1] - width) * 0.5, (size[0] - height) * 0.5
    # From the result back: against the turn, about the center.
    c = x - cos * (x + shift_x) + sin * (y + shift_y)
    f = y - sin * (x + shift_x) - cos * (y + shift_y)
    return size, (cos, -sin, c, sin, cos, f)


# Colors ---------------------------------------------------------------------------------------------------------------


def grayscale(image):
    """The brightness of RGB pixels: [H, W, 1], floating point."""
    return (image[..., :3].astype(np.float64) @ _GRAY)[..., None]


def blend(image, other, factor):
    """`other` for factor 0, the image for 1, and beyond; within range."""
    values = image.astype(np.float64) * factor + other * (1.0 - factor)
    if np.issubdtype(image.dtype, np.integer):
        return np.clip(values, 0, np.iinfo(image.dtype).max).astype(image.dtype)
    return values.astype(image.dtype)


def rgb_to_hsv(image):
    """[..., 3] in 0..1, as hue, saturation and value in 0..1."""
    high, low = image.max(-1), image.min(-1)
    spread = high - low
    plain = spread == 0
    divisor = np.where(plain, 1.0, spread)
    r, g, b = ((high - image[..., i]) / divisor for i in range(3))
    red, green = image[..., 0] == high, image[..., 1] == high
    hue = np.where(red, b - g, np.where(green, 2.0 + r - b, 4.0 + g - r)) / 6.0 % 1.0
    return np.stack([np.where(plain, 0.0, hue), spread / np.where(high == 0, 1.0, high), high], -1)


def hsv_to_rgb(image):
    """Undoes `rgb_to_hsv`."""
    hue, saturation, value = (image[..., i] for i in range(3))
    part = np.floor(hue * 6.0)
    f = hue * 6.0 - part
    p, q, t = value * (1 - saturation), value * (1 - saturation * f), value * (1 - saturation * (1 - f))
    choices = [(value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q)]
    part = part.astype(np.int64) % 6
    return np.stack([np.choose(part, [choice[i] for choice in choices]) for i in range(3)], -1)
