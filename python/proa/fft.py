"""Discrete Fourier transforms.

All of them are sums of x[j] exp(-2 pi i j k / n), or with a plus in the inverse ones, over one or several axes; `norm` says
which way is divided by the number of points n ("backward": the inverse, "forward": the other, "ortho": both by its square
root). A signal is first cut, or filled up with zeros at its end, to the size asked for. Any size is fast; results are
complex64 of float32 (and of integers and 16-bit floats), complex128 of float64. Gradients of any order.
"""

import operator

from proa import _C
from proa.framework import attributes as _attributes
from proa.framework.names import missing as _missing
from proa.framework.size import Size as _Size

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_MOST_POINTS = 1 << 26  # kMaxPoints of ops/fft/line_transform.h: asked before x is filled up
_DIVIDED = {
    True: {"backward": "none", "ortho": "by_sqrt_n", "forward": "by_n"},
    False: {"backward": "by_n", "ortho": "by_sqrt_n", "forward": "none"},
}


def _refuse(kind, message):
    raise _C.located(kind(message))


def _tensor(op, x):
    """x in a type that is transformed: floating point of 32 or 64 bits, or complex."""
    if not isinstance(x, _C.Tensor):
        _refuse(TypeError, f"{op}: x must be a Tensor, not {type(x).__name__}")
    if x.ndim == 0:
        _refuse(ValueError, f"{op}: x has no axes; it is [] {x.dtype.name}")
    if x.is_complex() or x.dtype in (_C.float32, _C.float64):
        return x
    return _C.ops.cast(x, _C.float32 if x.is_floating_point() else _C.get_default_dtype())


def _complex(op, x):
    x = _tensor(op, x)
    return x if x.is_complex() else _C.ops.cast(x, _C.complex128 if x.dtype == _C.float64 else _C.complex64)


def _real(op, x):
    x = _tensor(op, x)
    if x.is_complex():
        _refuse(TypeError, f"{op}: x must be real; it is {list(x.shape)} {x.dtype.name}")
    return x


def _normalization(op, norm, forward):
    chosen = _DIVIDED[forward].get("backward" if norm is None else norm if isinstance(norm, str) else None)
    if chosen is None:
        _refuse(ValueError, f"{op}: norm is {norm!r}; it must be 'backward', 'ortho' or 'forward'")
    return chosen


def _integer(op, name, value):
    value = _attributes.known_number(op, name, value)
    try:
        return operator.index(value)
    except TypeError:
        _refuse(TypeError, f"{op}: {name} must be an integer, not {type(value).__name__}")


def _size(op, name, value):
    """How many points, checked; as it is if only the run of a program knows it."""
    if type(value) is not int:
        value = _attributes.number(value)
        if _attributes.is_late(value):
            return value
        value = _integer(op, name, value)
    if not 1 <= value <= _MOST_POINTS:
        _refuse(ValueError, f"{op}: {name} is {value}; it must be positive, and at most {_MOST_POINTS}")
    return value


def _axis(op, x, axis):
    axis = _integer(op, "axis", axis)
    if not -x.ndim <= axis < x.ndim:
        _refuse(IndexError, f"{op}: axis {axis} is out of range; x is {list(x.shape)} {x.dtype.name}")
    return axis % x.ndim


def _list(op, name, values):
    values = _attributes.numbers(values)
    if not isinstance(values, (list, tuple)):
        _refuse(TypeError, f"{op}: {name} must be a list or tuple of integers, not {type(values).__name__}")
    return list(values)


def _several(op, x, s, axes):
    """The axes of an n-dimensional transform, and a size (or None) for each."""
    if type(axes) is list and len(axes) == 1 and type(axes[0]) is int and -x.ndim <= axes[0] < x.ndim:
        # The usual call, in which there is nothing to refuse.
        axis = axes[0] % x.ndim
        if s is None:
            return [axis], [None]
        if type(s) is list and len(s) == 1 and type(s[0]) is int and 1 <= s[0] <= _MOST_POINTS:
            return [axis], s
    if s is not None:
        s = [_size(op, "s", v) for v in _list(op, "s", s)]
    if axes is None:
        if s is not None and len(s) > x.ndim:
            _refuse(ValueError, f"{op}: s has {len(s)} sizes; x is {list(x.shape)} {x.dtype.name}")
        axes = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
    else:
        axes = [_axis(op, x, a) for a in _attributes.known(op, "axes", _list(op, "axes", axes))]
        if len(set(axes)) != len(axes):
            _refuse(ValueError, f"{op}: an axis is named twice in {axes}")
    if s is None:
        s = [None] * len(axes)
    if len(s) != len(axes):
        _refuse(ValueError, f"{op}: s has {len(s)} sizes for {len(axes)} axes")
    if not axes:
        _refuse(ValueError, f"{op}: no axes are given")
    return axes, s


def _resized(x, axis, n):
    """x with n elements along the axis: cut, or zeros at its end."""
    if n is None:
        return x
    now = x.shape[axis]
    unknown = _attributes.is_late(now, n)
    if not unknown and now == n:
        return x
    if unknown or now < n:
        paddings = [0] * (2 * x.ndim)
        paddings[2 * axis + 1] = n if unknown else n - now
        x = _C.ops.pad(x, paddings)
    return _C.ops.slice(x, [axis], [0], [n])


def _c2c(op, x, s, axes, norm, forward):
    x = _complex(op, x)
    axes, s = _several(op, x, s, axes)
    normalization = _normalization(op, norm, forward)
    for axis, n in zip(axes, s, strict=True):
        x = _resized(x, axis, n)
    return _C.ops.fft_c2c(x, axes, normalization, forward)


def _r2c(op, x, s, axes, norm, forward):
    x = _real(op, x)
    axes, s = _several(op, x, s, axes)
    normalization = _normalization(op, norm, forward)
    for axis, n in zip(axes, s, strict=True):
        x = _resized(x, axis, n)
    return _C.ops.fft_r2c(x, axes, normalization, forward)


def _c2r(op, x, s, axes, norm, forward):
    x = _complex(op, x)
    axes, s = _several(op, x, s, axes)
    normalization = _normalization(op, norm, forward)
    for axis, n in zip(axes[:-1], s[:-1], strict=True):
        x = _resized(x, axis, n)
    n = s[-1]
    if n is None:
        return _C.ops.fft_c2r(x, axes, [], normalization, forward)
    x = _resized(x, axes[-1], n // 2 + 1)
    signal = [n if axis == axes[-1] else -1 if isinstance(size, _Size) else size for axis, size in enumerate(x.shape)]
    return _C.ops.fft_c2r(x, axes, signal, normalization, forward)


def _two(kind, op, x, s, axes, norm, forward):
    """A transform over two axes, by the function for several."""
    if axes is not None and len(_list(op, "axes", axes)) != 2:
        _refuse(ValueError, f"{op}: axes must name two axes, not {len(axes)}")
    s = None if s is None else _list(op, "s", s)
    if s is not None and len(s) != 2:
        _refuse(ValueError, f"{op}: s must be two sizes, not {len(s)}")
    if _tensor(op, x).ndim < 2:
        _refuse(ValueError, f"{op}: x must have two dims or more; it is {list(x.shape)} {x.dtype.name}")
    return kind(op, x, s, (-2, -1) if axes is None else axes, norm, forward)


def _one(op, n, axis):
    """What the functions of one axis are in those of several."""
    return (None if n is None else [_size(op, "n", n)]), [_attributes.known_number(op, "axis", axis)]


# One axis ------------------------------------------------------------------------


def fft(x, n=None, axis=-1, norm="backward", name=None):
    """The discrete Fourier transform along an axis: X[k] = sum_j x[j] exp(-2 pi i j k / n).

    Args:
        x (Tensor): real or complex, of at least one dim.
        n (int, optional): how many points; x is cut or filled up with zeros. By default the size of the axis.
        axis (int): the axis.
        norm (str): "backward" divides by nothing, "ortho" by the square root of n, "forward" by n.
        name (str, optional): not used.

    Returns:
        Tensor: complex, of the shape of x but for n.

    Raises:
        ValueError: n or the size of the axis is not positive, or an unknown norm.
        IndexError: the axis is out of range.

    Examples:
        >>> proa.fft.fft(proa.to_tensor([1.0, 0.0, -1.0, 0.0])).real().tolist()
        [0.0, 2.0, 0.0, 2.0]
    """
    return _c2c("fft", x, *_one("fft", n, axis), norm, True)


def ifft(x, n=None, axis=-1, norm="backward", name=None):
    """The inverse of fft: x[j] = 1/n sum_k X[k] exp(2 pi i j k / n). Arguments and errors are those of fft.

    Here "backward" divides by n, "ortho" by its square root, "forward" by nothing.

    Examples:
        >>> proa.fft.ifft(proa.fft.fft(proa.to_tensor([1.0, 2.0, 3.0]))).real().round().tolist()
        [1.0, 2.0, 3.0]
    """
    return _c2c("ifft", x, *_one("ifft", n, axis), norm, False)


def rfft(x, n=None, axis=-1, norm="backward", name=None):
    """The first n // 2 + 1 results of fft of a real tensor; the others are their conjugates, mirrored.

    Arguments and errors are those of fft; a complex x is a TypeError.

    Examples:
        >>> proa.fft.rfft(proa.to_tensor([1.0, 0.0, -1.0, 0.0])).real().tolist()
        [0.0, 2.0, 0.0]
    """
    return _r2c("rfft", x, *_one("rfft", n, axis), norm, True)


def irfft(x, n=None, axis=-1, norm="backward", name=None):
    """The real signal of n points whose rfft is x: the inverse of rfft.

    Args:
        x (Tensor): n // 2 + 1 frequencies along the axis; it is cut or filled up with zeros to as many.
        n (int, optional): how many points the result has; by default 2 * (m - 1) for m frequencies. Name it for odd sizes.
        axis, norm: as for ifft.

    Examples:
        >>> proa.fft.irfft(proa.fft.rfft(proa.to_tensor([1.0, 2.0, 3.0])), n=3).round().tolist()
        [1.0, 2.0, 3.0]
    """
    return _c2r("irfft", x, *_one("irfft", n, axis), norm, False)


def hfft(x, n=None, axis=-1, norm="backward", name=None):
    """The fft of a signal of which x is one half, the other being its conjugate, mirrored: a real spectrum of n points.

    Arguments are those of irfft; "backward" divides by nothing.

    Examples:
        >>> proa.fft.hfft(proa.to_tensor([1.0, 2.0, 3.0])).tolist()
        [8.0, -2.0, 0.0, -2.0]
    """
    return _c2r("hfft", x, *_one("hfft", n, axis), norm, True)


def ihfft(x, n=None, axis=-1, norm="backward", name=None):
    """The inverse of hfft: the first n // 2 + 1 results of ifft of a real tensor.

    Examples:
        >>> proa.fft.ihfft(proa.to_tensor([8.0, -2.0, 0.0, -2.0])).real().tolist()
        [1.0, 2.0, 3.0]
    """
    return _r2c("ihfft", x, *_one("ihfft", n, axis), norm, False)


# Several axes ----------------------------------------------------------------------


def fftn(x, s=None, axes=None, norm="backward", name=None):
    """The discrete Fourier transform over several axes: fft along each of them.

    Args:
        x (Tensor): real or complex.
        s (list[int], optional): the number of points of each axis; x is cut or filled up with zeros.
        axes (list[int], optional): by default the last len(s) axes, or all.
        norm (str): as for fft; n is the number of points of all axes together.
        name (str, optional): not used.

    Returns:
        Tensor: complex.

    Raises:
        ValueError: sizes that are not positive, that do not fit the axes, or axes named twice.

    Examples:
        >>> proa.fft.fftn(proa.ones([2, 2])).real().tolist()
        [[4.0, 0.0], [0.0, 0.0]]
    """
    return _c2c("fftn", x, s, axes, norm, True)


def ifftn(x, s=None, axes=None, norm="backward", name=None):
    """The inverse of fftn; arguments are the same.

    Examples:
        >>> proa.fft.ifftn(proa.ones([2, 2])).real().tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    return _c2c("ifftn", x, s, axes, norm, False)


def rfftn(x, s=None, axes=None, norm="backward", name=None):
    """fftn of a real tensor, of whose last axis only the first n // 2 + 1 results are given.

    Examples:
        >>> proa.fft.rfftn(proa.ones([2, 4])).shape
        [2, 3]
    """
    return _r2c("rfftn", x, s, axes, norm, True)


def irfftn(x, s=None, axes=None, norm="backward", name=None):
    """The inverse of rfftn; s are the sizes of the result, of which the last should be named if it is odd.

    Examples:
        >>> proa.fft.irfftn(proa.fft.rfftn(proa.ones([2, 4]))).shape
        [2, 4]
    """
    return _c2r("irfftn", x, s, axes, norm, False)


def hfftn(x, s=None, axes=None, norm="backward", name=None):
    """The real spectrum of a signal of which x is one half along the last axis (hfft), over several axes.

    Examples:
        >>> proa.fft.hfftn(proa.ones([2, 3])).shape
        [2, 4]
    """
    return _c2r("hfftn", x, s, axes, norm, True)


def ihfftn(x, s=None, axes=None, norm="backward", name=None):
    """The inverse of hfftn, for a real x.

    Examples:
        >>> proa.fft.ihfftn(proa.ones([2, 4])).shape
        [2, 3]
    """
    return _r2c("ihfftn", x, s, axes, norm, False)


def fft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """fftn over two axes.

    Examples:
        >>> proa.fft.fft2(proa.ones([3, 2, 2])).shape
        [3, 2, 2]
    """
    return _two(_c2c, "fft2", x, s, axes, norm, True)


def ifft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """ifftn over two axes.

    Examples:
        >>> proa.fft.ifft2(proa.ones([2, 2])).real().tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    return _two(_c2c, "ifft2", x, s, axes, norm, False)


def rfft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """rfftn over two axes.

    Examples:
        >>> proa.fft.rfft2(proa.ones([2, 4])).shape
        [2, 3]
    """
    return _two(_r2c, "rfft2", x, s, axes, norm, True)


def irfft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """irfftn over two axes.

    Examples:
        >>> proa.fft.irfft2(proa.ones([2, 3])).shape
        [2, 4]
    """
    return _two(_c2r, "irfft2", x, s, axes, norm, False)


def hfft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """hfftn over two axes.

    Examples:
        >>> proa.fft.hfft2(proa.ones([2, 3])).shape
        [2, 4]
    """
    return _two(_c2r, "hfft2", x, s, axes, norm, True)


def ihfft2(x, s=None, axes=(-2, -1), norm="backward", name=None):
    """ihfftn over two axes.

    Examples:
        >>> proa.fft.ihfft2(proa.ones([2, 4])).shape
        [2, 3]
    """
    return _two(_r2c, "ihfft2", x, s, axes, norm, False)


# Where the frequencies are ------------------------------------------------------------


def _spacing(op, n, d, dtype):
    n, d = _size(op, "n", _attributes.known_number(op, "n", n)), _attributes.known_number(op, "d", d)
    if isinstance(d, bool) or not isinstance(d, (int, float)) or d == 0:
        _refuse(ValueError, f"{op}: d is {d!r}; it must be a number other than 0")
    kind = _C.get_default_dtype() if dtype is None else _C.DType(dtype)
    return n, 1.0 / (n * d), kind


def fftfreq(n, d=1.0, dtype=None, name=None):
    """The frequencies of the results of fft, in cycles per unit of d: [0, 1, ..., -2, -1] / (n d).

    Args:
        n (int): how many points, at least one.
        d (float): the distance of samples.
        dtype (dtype, optional): by default the default floating-point type.
        name (str, optional): not used.

    Examples:
        >>> proa.fft.fftfreq(4, d=0.5).tolist()
        [0.0, 0.5, -1.0, -0.5]
    """
    n, step, kind = _spacing("fftfreq", n, d, dtype)
    places = _C.ops.concat([_C.ops.arange(0, (n + 1) // 2, 1, _C.int64), _C.ops.arange(-(n // 2), 0, 1, _C.int64)], 0)
    return _C.ops.cast(_C.ops.cast(places, _C.float64) * step, kind)


def rfftfreq(n, d=1.0, dtype=None, name=None):
    """The frequencies of the results of rfft: [0, 1, ..., n // 2] / (n d). Arguments are those of fftfreq.

    Examples:
        >>> proa.fft.rfftfreq(4, d=0.5).tolist()
        [0.0, 0.5, 1.0]
    """
    n, step, kind = _spacing("rfftfreq", n, d, dtype)
    return _C.ops.cast(_C.ops.cast(_C.ops.arange(0, n // 2 + 1, 1, _C.int64), _C.float64) * step, kind)


def _shifted(op, x, axes, half):
    if not isinstance(x, _C.Tensor):
        _refuse(TypeError, f"{op}: x must be a Tensor, not {type(x).__name__}")
    if axes is None:
        axes = list(range(x.ndim))
    axes = _attributes.known(op, "axes", axes)
    axes = [_axis(op, x, a) for a in ([axes] if isinstance(axes, int) else _list(op, "axes", axes))]
    if not axes:
        return _C.ops.assign(x)
    return _C.ops.roll(x, [half(x.shape[a]) for a in axes], axes)


def fftshift(x, axes=None, name=None):
    """Moves the frequency 0, which fft gives first, to the middle of the axes (all of them, unless named).

    Examples:
        >>> proa.fft.fftshift(proa.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x, axes=None, name=None):
    """The inverse of fftshift, which differs from it for odd sizes.

    Examples:
        >>> proa.fft.ifftshift(proa.fft.fftshift(proa.arange(5))).tolist()
        [0, 1, 2, 3, 4]
    """
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


__getattr__ = _missing(__name__)
