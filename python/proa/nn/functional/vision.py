"""Images sampled at places that a grid gives."""

from proa import _C
from proa.framework.attributes import ints
from proa.framework.requirements import require_sizes, with_size
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = ["affine_grid", "grid_sample"]


@keeps_types
def affine_grid(theta, out_shape, align_corners=True, name=None):
    """Places for `grid_sample`: those of the result's pixels, moved by 2 by 3 matrices.

    Args:
        theta (Tensor): [N, 2, 3].
        out_shape (list[int]|Tensor): [N, C, H, W] of the result.
        align_corners (bool): -1 and 1 are the centers of the corner pixels, not the edges of the image.

    Returns:
        Tensor: [N, H, W, 2]: x and y, from -1 to 1.

    Examples:
        >>> grid = proa.nn.functional.affine_grid(proa.to_tensor([[[1.0, 0, 0], [0, 1, 0]]]), [1, 1, 2, 2])
        >>> grid.tolist()
        [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    """
    given = theta = _C.tensor_argument(theta, "affine_grid", "theta")
    says = "affine_grid: theta must be [N, 2, 3]; it is {}"
    if len(theta.shape) != 3:
        raise _C.located(ValueError(says.format(list(theta.shape))))
    theta = widened(with_size(with_size(theta, 1, 2, says), 2, 3, says))
    sizes = ints("affine_grid", "out_shape", out_shape)
    if len(sizes) != 4:
        raise _C.located(ValueError(f"affine_grid: out_shape must be [N, C, H, W], not {sizes}"))
    height, width = sizes[2:]

    def line(count):
        if isinstance(count, _C.Tensor):
            n = _C.ops.cast(_C.ops.reshape(count, []), _C.float64)
            edge = _C.ops.minimum(n - 1.0, _C.ops.full_like(n, 1.0)) if align_corners else 1.0 - 1.0 / n
        else:
            edge = min(count - 1.0, 1.0) if align_corners else 1.0 - 1.0 / max(count, 1)
        return _C.ops.linspace(-edge, edge, count, theta.dtype)

    x, y = _C.ops.unsqueeze(line(width), [0, 1, 3]), _C.ops.unsqueeze(line(height), [0, 2, 3])
    # By elements: products of matrices are what predictors compute in 16 bits, where pixels beyond 256 have no numbers.
    by_x, by_y, moved = (_C.ops.unsqueeze(theta[:, :, i], [1, 2]) for i in range(3))
    return narrowed(x * by_x + (y * by_y + moved), given)


@keeps_types
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True, name=None):
    """Pixels of x at the places of a grid; places of 16-bit types are counted in float32.

    Args:
        x (Tensor): [N, C, H, W].
        grid (Tensor): [N, OH, OW, 2]: x and y, from -1 to 1.
        mode (str): "bilinear" or "nearest".
        padding_mode (str): what lies outside: "zeros", "border" (the nearest pixel) or "reflection".
        align_corners (bool): -1 and 1 are the centers of the corner pixels, not the edges of the image.

    Returns:
        Tensor: [N, C, OH, OW].

    Examples:
        >>> x = proa.arange(4, dtype="float32").reshape([1, 1, 2, 2])
        >>> proa.nn.functional.grid_sample(x, proa.zeros([1, 1, 1, 2])).item()
        1.5
    """
    x = _C.tensor_argument(x, "grid_sample", "x")
    grid = _C.tensor_argument(grid, "grid_sample", "grid")
    says = "grid_sample: x must be [N, C, H, W] and grid [N, OH, OW, 2]; they are {} and {}"
    if len(x.shape) != 4 or len(grid.shape) != 4:
        raise _C.located(ValueError(says.format(list(x.shape), list(grid.shape))))
    x = require_sizes(x, [grid.shape[0], grid.shape[3]], [x.shape[0], 2], says, x, grid)
    if mode not in ("bilinear", "nearest"):
        raise _C.located(ValueError(f"grid_sample: mode must be 'bilinear' or 'nearest', not {mode!r}"))
    if padding_mode not in ("zeros", "border", "reflection"):
        raise _C.located(
            ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', not {padding_mode!r}")
        )
    grid = widened(grid)  # in bfloat16 there is no pixel 257
    height, width = x.shape[2:]
    column = _place(grid[..., 0], width, padding_mode, align_corners)
    row = _place(grid[..., 1], height, padding_mode, align_corners)
    if mode == "nearest":
        return _pixels(x, _nearest(row), _nearest(column))
    return bilinear(x, row, column)


def bilinear(x, row, column):
    """What lies between the pixels of x, [N, C, H, W], at places [N, A, B] counted in pixels, as [N, C, A, B].

    Outside lie zeros. Places are of 32 bits or more.
    """
    top, left = _C.ops.floor(row).detach(), _C.ops.floor(column).detach()
    down, right = (_C.ops.unsqueeze(v, [1]) for v in (row - top, column - left))

    def pixels(i, j):
        return widened(_pixels(x, i, j))

    upper = pixels(top, left) * (1.0 - right) + pixels(top, left + 1.0) * right
    lower = pixels(top + 1.0, left) * (1.0 - right) + pixels(top + 1.0, left + 1.0) * right
    return narrowed(upper * (1.0 - down) + lower * down, x)


def _pixels(x, i, j):
    """Those of rows i and columns j, whole numbers; zeros outside."""
    n, channels, height, width = x.shape
    count, shape = i.shape[1] * i.shape[2], [n, channels, *i.shape[1:]]
    inside = (i >= 0.0).logical_and(i <= height - 1.0).logical_and(j >= 0.0).logical_and(j <= width - 1.0)
    # Whole numbers before they are multiplied: float32 knows those up to 2 ** 24 only.
    i, j = (_C.ops.where(inside, v, _C.ops.full_like(v, 0.0)).astype("int64") for v in (i, j))
    index = _C.ops.broadcast_to((i * width + j).reshape([n, 1, count]), [n, channels, count])
    found = _C.ops.take_along_axis(x.reshape([n, channels, height * width]), index, 2).reshape(shape)
    return found * _C.ops.unsqueeze(inside.astype(x.dtype), [1])


def _nearest(place):
    """The nearest whole number; of two, the even one."""
    low = _C.ops.floor(place)
    rest = place - low
    odd = low - 2.0 * _C.ops.floor(low * 0.5)
    up = _C.ops.where(_C.ops.equal(rest, _C.ops.full_like(rest, 0.5)), odd, (rest > 0.5).astype(place.dtype))
    return (low + up).detach()


def _place(value, size, padding_mode, align_corners):
    """-1 to 1 as pixels from 0 to size - 1, kept inside as the padding says."""
    if align_corners:
        place = (value + 1.0) * (0.5 * (size - 1))
    else:
        place = ((value + 1.0) * float(size) - 1.0) * 0.5
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        first, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if span <= 0.0:
            place = place * 0.0
        else:
            away = _C.ops.abs(place - first)
            turns = _C.ops.floor(away / span).detach()
            rest = away - turns * span
            back = turns - 2.0 * _C.ops.floor(turns * 0.5)
            place = _C.ops.where(back > 0.5, span - rest, rest) + first
    return _C.ops.clip(place, 0.0, float(size - 1))
