"""Turns, affine maps and perspectives of tensors [..., C, H, W], by sampling at a grid: gradients flow through them.

As in the reference, what lies outside counts as 0 and is then mixed with `fill` by the part that lay outside: a pixel on
the edge, half of it outside, is half of `fill` and a quarter of what is inside.
"""

import math

import numpy as np

from proa import _C
from proa.nn import functional as F

__all__ = ["affine", "perspective", "rotate"]


def _base(width, height, x, y):
    """Homogeneous coordinates [height * width, 3] of the centers of pixels, the first at (x, y)."""
    xs, ys = np.arange(width, dtype=np.float32) + np.float32(x), np.arange(height, dtype=np.float32) + np.float32(y)
    grid = np.ones([height, width, 3], np.float32)
    grid[..., 0], grid[..., 1] = xs, ys[:, None]
    return _C.to_tensor(grid.reshape(-1, 3))


def _scaled(matrix, width, height):
    """The rows of a matrix from pixels to the -1..1 of an image, as a tensor [3, 2]."""
    rows = np.asarray(matrix, np.float32).reshape(2, 3)
    return _C.to_tensor(np.ascontiguousarray(rows.T / np.array([0.5 * width, 0.5 * height], np.float32)))


def _affine_grid(matrix, width, height, out_width, out_height):
    base = _base(out_width, out_height, 0.5 - 0.5 * out_width, 0.5 - 0.5 * out_height)
    return base.matmul(_scaled(matrix, width, height)).reshape([1, out_height, out_width, 2])


def _sampled(img, grid, interpolation, fill):
    channels, height, width = img.shape[-3:]
    values = img.reshape([-1, channels, height, width])
    whole = not values.dtype.is_floating_point
    limits = np.iinfo(values.dtype.name) if whole and values.dtype.name != "bool" else None
    values = values.astype("float32") if whole else values
    count = values.shape[0]
    grid = _C.ops.broadcast_to(grid.astype(values.dtype), [count, *grid.shape[1:]])
    inside = _C.ops.full([count, 1, height, width], 1.0, values.dtype)
    # The ones say how much of each result pixel lies in the image.
    found = F.grid_sample(_C.ops.concat([values, inside], 1), grid, interpolation, "zeros", align_corners=False)
    values, inside = found[:, :channels], found[:, channels:]
    if interpolation == "nearest":
        inside = (inside >= 0.5).astype(values.dtype)
    color = np.asarray(0 if fill is None else fill, np.float32).reshape(1, -1, 1, 1)
    values = values * inside + (1.0 - inside) * _C.to_tensor(color).astype(values.dtype)
    if whole:
        values = values.round() if limits is None else values.round().clip(float(limits.min), float(limits.max))
        values = values.astype(img.dtype)
    return values.reshape([*img.shape[:-3], channels, *grid.shape[1:3]])


def rotate(img, angle, interpolation, expand, center, fill):
    """See functional.rotate."""
    height, width = img.shape[-2:]
    turn = math.radians(-angle % 360)
    cos, sin = math.cos(turn), math.sin(turn)
    x, y = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = np.array([[cos, sin, x - cos * x - sin * y], [-sin, cos, y + sin * x - cos * y]], np.float32)
    out_width, out_height = width, height
    if expand:
        corners = np.array([[i * width, j * height, 2.0] for i in (-1, 1) for j in (-1, 1)], np.float32) * np.float32(
            0.5
        )
        places = corners @ matrix.T
        out_width, out_height = (np.ceil(places.max(0)) - np.floor(places.min(0))).astype(int).tolist()
    return _sampled(img, _affine_grid(matrix, width, height, out_width, out_height), interpolation, fill)


def affine(img, matrix, interpolation, fill):
    """The image where each pixel comes from `matrix` (six numbers) times its place, counted from the middle."""
    height, width = img.shape[-2:]
    return _sampled(img, _affine_grid(matrix, width, height, width, height), interpolation, fill)


def perspective(img, coefficients, interpolation, fill):
    """The image where each pixel comes from where the eight coefficients say, counted from the corner."""
    height, width = img.shape[-2:]
    a, b, c, d, e, f, g, h = coefficients
    base = _base(width, height, 0.5, 0.5)
    places = base.matmul(_scaled([a, b, c, d, e, f], width, height))
    depths = base.matmul(_C.to_tensor(np.array([[g, g], [h, h], [1.0, 1.0]], np.float32)))
    return _sampled(img, (places / depths - 1.0).reshape([1, height, width, 2]), interpolation, fill)
