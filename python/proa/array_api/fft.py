"""Fourier transforms; those of the package with the standard's way of giving arguments."""

from collections.abc import Callable

from proa import _C
from proa import fft as _fft
from proa.array_api.creation import default_float as _default_float

_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")

__all__ = [*_ONE, *_SEVERAL, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]

# Made below; here are their types.
fft: Callable[..., _C.Tensor]
ifft: Callable[..., _C.Tensor]
rfft: Callable[..., _C.Tensor]
irfft: Callable[..., _C.Tensor]
hfft: Callable[..., _C.Tensor]
ihfft: Callable[..., _C.Tensor]
fftn: Callable[..., _C.Tensor]
ifftn: Callable[..., _C.Tensor]
rfftn: Callable[..., _C.Tensor]
irfftn: Callable[..., _C.Tensor]

_DOC = """{}

    Examples:
        >>> proa.array_api.fft.{}(proa.ones([4, 6])).shape == list(np.fft.{}(np.ones([4, 6])).shape)
        True
    """


def _of_one(name):
    call = getattr(_fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return call(x, n, axis, norm)

    function.__doc__ = _DOC.format(call.__doc__.split("\n\n")[0], name, name)
    return function


def _of_several(name):
    call = getattr(_fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        return call(x, None if s is None else list(s), None if axes is None else list(axes), norm)

    function.__doc__ = _DOC.format(call.__doc__.split("\n\n")[0], name, name)
    return function


for _make, _names in ((_of_one, _ONE), (_of_several, _SEVERAL)):
    for _name in _names:
        globals()[_name] = _make(_name)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name


def _frequencies(call, n, d, dtype, device):
    out = call(n, d, "float64").astype(dtype or _default_float())
    return out if device is None else out.to(device)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of the results of `fft` of n samples at distances d.

    Examples:
        >>> proa.array_api.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies(_fft.fftfreq, n, d, dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of the results of `rfft` of n samples at distances d.

    Examples:
        >>> proa.array_api.fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    return _frequencies(_fft.rfftfreq, n, d, dtype, device)


def fftshift(x, /, *, axes=None):
    """x with frequency 0 in the middle.

    Examples:
        >>> proa.array_api.fft.fftshift(proa.to_tensor([0, 1, -2, -1])).tolist()
        [-2, -1, 0, 1]
    """
    return _fft.fftshift(x, _axes(x, axes))


def ifftshift(x, /, *, axes=None):
    """x with frequency 0 from the middle to the front.

    Examples:
        >>> proa.array_api.fft.ifftshift(proa.to_tensor([-2, -1, 0, 1])).tolist()
        [0, 1, -2, -1]
    """
    return _fft.ifftshift(x, _axes(x, axes))


def _axes(x, axes):
    if isinstance(axes, _C.Tensor):
        raise _C.located(TypeError("axes must be an int or a tuple of int, not a Tensor"))
    return list(range(x.ndim)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
