"""interpolate and upsample: resizing, one spatial dim after the other."""

import numpy as np

from proa import _C
from proa.framework.attributes import cut_int, is_late, numbers, real, word
from proa.framework.requirements import as_tensor, require
from proa.nn.functional.shapes import spatial_sizes
from proa.tensor.precision import keeps_types, narrowed, widened

# Of a dim: where its elements come from takes some times as much memory.
_LONGEST = 2**28
_RANKS = {"linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,), "nearest": (3, 4, 5), "area": (3, 4, 5)}


@keeps_types
def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format="NCHW",
    name=None,
):
    """Resizes the dims that are neither batch nor channels.

    Args:
        x (Tensor): [N, C, L], [N, C, H, W] or [N, C, D, H, W], or with the channels last.
        size (int|list[int]|Tensor, optional): the new sizes.
        scale_factor (float|list[float]|Tensor, optional): factors on the sizes; give this or size.
        mode (str): "nearest", "linear" (rank 3), "bilinear" or "bicubic" (rank 4), "trilinear"
            (rank 5), or "area" (the mean of what an element covers).
        align_corners (bool): the corner elements keep their values and places.
        align_mode (int): of the linear modes without align_corners: 0 takes elements as areas
            with a centre, 1 as points.
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.functional.interpolate(proa.ones([1, 3, 4, 4]), scale_factor=2).shape
        [1, 3, 8, 8]
    """
    x = _C.tensor_argument(x, "interpolate", "x")
    rank, mode = len(x.shape), word("interpolate", "mode", mode.lower() if isinstance(mode, str) else mode, _RANKS)
    if rank not in _RANKS[mode]:
        raise _C.located(
            ValueError(f"interpolate: mode {mode} takes {_RANKS[mode]} dims; x is {list(x.shape)} {x.dtype.name}")
        )
    if align_mode not in (0, 1):
        raise _C.located(ValueError(f"interpolate: align_mode must be 0 or 1, not {align_mode!r}"))
    if align_corners and mode in ("nearest", "area"):
        raise _C.located(
            ValueError(f"interpolate: align_corners goes with the linear and cubic modes, not with {mode}")
        )
    n = rank - 2
    formats = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
    if data_format == "NCHW":  # the default stands for channels first at any rank
        data_format = formats[0]
    if mode == "area" and n == 1 and data_format in ("NCL", "NLC"):  # as the pools name them
        data_format = formats[data_format == "NLC"]
    if data_format not in formats:
        raise _C.located(
            ValueError(
                f"interpolate: data_format must be {' or '.join(formats)} for {rank} dims, not {data_format!r}; "
                f"x is {list(x.shape)} {x.dtype.name}"
            )
        )
    last = data_format == formats[1]
    data_format = {"NCW": "NCL", "NWC": "NLC"}.get(data_format, data_format)
    old = spatial_sizes(x, last)
    new, factors = _sizes(old, size, scale_factor, n)
    if any(is_late(n) for n in new):
        sizes = as_tensor(new)
        x = require(x, sizes > 0, "interpolate: the new sizes must be positive; they are {}", sizes)
    if mode == "area":
        from proa.nn.functional import pooling

        return (pooling.adaptive_avg_pool1d, pooling.adaptive_avg_pool2d, pooling.adaptive_avg_pool3d)[n - 1](
            x, new, **({} if n == 1 else {"data_format": data_format})
        )
    given = x
    if mode != "nearest":  # between two dims nothing is rounded, and weights of neighbours sum to 1
        x = widened(x)
    for i in range(n):
        axis = i + (1 if last else 2)
        if is_late(old[i], new[i], factors[i]):
            x = _resized_of_run(x, axis, old[i], new[i], factors[i], mode, align_corners, align_mode)
            continue
        if mode == "nearest" and new[i] == old[i] and factors[i] is None:
            continue
        step = 1.0 / factors[i] if factors[i] else old[i] / new[i]
        places = _places(old[i], new[i], step, mode, align_corners, align_mode)
        x = _resized(x, axis, places, old[i], mode)
    return narrowed(x, given)


def upsample(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format="NCHW",
    name=None,
):
    """The same as interpolate.

    Examples:
        >>> proa.nn.functional.upsample(proa.ones([1, 1, 2, 2]), scale_factor=2).shape
        [1, 1, 4, 4]
    """
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def _listed(value, n):
    value = numbers(value)
    if isinstance(value, (list, tuple)):
        return value * n if len(value) == 1 else list(value)
    return [value] * n


def _sizes(old, size, scale_factor, n):
    """(new sizes, factors or Nones)."""
    if (size is None) == (scale_factor is None):
        raise _C.located(ValueError("interpolate: give either size or scale_factor"))
    given = _listed(scale_factor if size is None else size, n)
    if len(given) != n:
        raise _C.located(
            ValueError(f"interpolate: {n} values are needed, one for each spatial dim; {len(given)} were given")
        )
    if size is not None:
        new, factors = [s if is_late(s) else cut_int("interpolate", "size", s) for s in given], [None] * n
    else:
        factors = [f if is_late(f) else float(real("interpolate", "scale_factor", f)) for f in given]
        if any(not is_late(f) and f <= 0 for f in factors):
            raise _C.located(ValueError(f"interpolate: scale_factor must be positive; it is {scale_factor}"))
        new = [_grown(o, f) if is_late(o, f) else int(o * f) for o, f in zip(old, factors)]
    if any(not is_late(s) and s < 1 for s in new):
        raise _C.located(ValueError(f"interpolate: the new sizes must be positive; they are {new}"))
    if any(not is_late(s) and s > _LONGEST for s in new):
        raise _C.located(ValueError(f"interpolate: the new sizes must be at most {_LONGEST}; they are {new}"))
    return new, factors


def _float64(value):
    """A number, an open size or a tensor of one element as a 0-d tensor of float64."""
    if not is_late(value):
        return _C.ops.full([], value, _C.float64)
    value = value if isinstance(value, _C.Tensor) else value.tensor()
    return _C.ops.cast(_C.ops.reshape(value, []), _C.float64)


def _grown(size, factor):
    """int(size * factor), as a tensor."""
    return _C.ops.cast(_float64(size) * _float64(factor), _C.int64)


def _resized_of_run(x, axis, old, new, factor, mode, align_corners, align_mode):
    """One dim resized, of which only the run of a program knows the sizes: `_places` and `_resized`, with tensors."""
    ops = _C.ops
    step = 1.0 / _float64(factor) if factor is not None else _float64(old) / _float64(new)
    new, last = _float64(new), _float64(old) - 1.0
    count = ops.cast(new, _C.int64)
    i = ops.cast(ops.cumsum(ops.full([count], 1, _C.int64), 0) - 1, _C.float64)
    zero = ops.full([], 0.0, _C.float64)
    if align_corners:
        places = i * ops.where(new > 1.0, last / ops.maximum(new - 1.0, zero + 1.0), zero)
    elif mode == "nearest":
        places = ops.minimum(ops.floor(i * step), last)
    elif mode != "bicubic" and align_mode == 1:
        places = ops.minimum(i * step, last)
    else:
        places = (i + 0.5) * step - 0.5
        if mode != "bicubic":
            places = ops.minimum(ops.maximum(places, zero), last)
    low = ops.floor(places)
    if mode == "nearest":
        return ops.index_select(x, ops.cast(low, _C.int64), axis)
    if mode == "bicubic":
        taps = [(low + offset, weight) for offset, weight in zip((-1.0, 0.0, 1.0, 2.0), _cubic(places - low))]
    else:
        taps = [(low, 1.0 - (places - low)), (low + 1.0, places - low)]
    shape = [1] * len(x.shape)
    shape[axis] = -1
    total = None
    for index, weight in taps:
        index = ops.cast(ops.minimum(ops.maximum(index, zero), last), _C.int64)
        part = ops.index_select(x, index, axis) * ops.reshape(ops.cast(weight, x.dtype), shape)
        total = part if total is None else total + part
    return total


def _places(old, new, step, mode, align_corners, align_mode):
    """Where each new element lies among the old ones."""
    i = np.arange(new, dtype="float64")
    if align_corners:
        return i * ((old - 1) / (new - 1)) if new > 1 else i * 0.0
    if mode == "nearest":
        return np.minimum(np.floor(i * step), old - 1)
    if mode != "bicubic" and align_mode == 1:
        return np.minimum(i * step, old - 1)
    places = (i + 0.5) * step - 0.5
    return places if mode == "bicubic" else np.clip(places, 0.0, old - 1)


def _cubic(t):
    """Weights of four neighbours at distance 1 + t, t, 1 - t, 2 - t (Keys, 1981, a = -0.75)."""
    a = -0.75

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _resized(x, axis, places, old, mode):
    ops = _C.ops
    low = np.floor(places)
    if mode == "nearest":
        return ops.index_select(x, _C.to_tensor(low.astype("int64")), axis)
    if mode == "bicubic":
        taps = [(low + offset, weight) for offset, weight in zip((-1, 0, 1, 2), _cubic(places - low))]
    else:
        taps = [(low, 1 - (places - low)), (low + 1, places - low)]
    shape = [1] * len(x.shape)
    shape[axis] = len(places)
    total = None
    for index, weight in taps:
        chosen = ops.index_select(x, _C.to_tensor(np.clip(index, 0, old - 1).astype("int64")), axis)
        part = chosen * _C.to_tensor(weight.reshape(shape), dtype=x.dtype)
        total = part if total is None else total + part
    return total
