"""Signals by their frames: cutting, adding up, and Fourier transforms of frames in turn (stft and back)."""

from proa import _C
from proa._generated.signal import *  # noqa: F403
from proa._generated.signal import frame, overlap_add
from proa.framework.attributes import known_number as _known_number
from proa.framework.names import missing as _missing
from proa.framework.requirements import require_sizes as _require_sizes
from proa.framework.requirements import with_size as _with_size

__all__ = ["istft", "stft"]


def _lengths(what, n_fft, hop_length, win_length, window):
    """(n_fft, hop_length, win_length, window) as numbers, and the window as given or None."""
    given = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length}
    given = {name: None if v is None else _known_number(what, name, v) for name, v in given.items()}
    n_fft, hop_length, win_length = given.values()
    for name, value in given.items():
        if (
            name == "n_fft"
            and value is None
            or value is not None
            and (not isinstance(value, int) or isinstance(value, bool) or value <= 0)
        ):
            raise _C.located(ValueError(f"{what}: {name} must be a positive int; it is {value!r}"))
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if hop_length < 1:
        raise _C.located(ValueError(f"{what}: hop_length is 0 by n_fft {n_fft}; give one"))
    if win_length > n_fft:
        raise _C.located(ValueError(f"{what}: win_length {win_length} is larger than n_fft {n_fft}"))
    if window is None:
        return n_fft, hop_length, win_length, None
    window = _C.tensor_argument(window, what, "window")
    says = f"{what}: window must be [{win_length}]; it is {{}}"
    if len(window.shape) != 1:
        raise _C.located(ValueError(says.format(list(window.shape))))
    window = _with_size(window, 0, win_length, says)
    return n_fft, hop_length, win_length, window


def _full_window(window, win_length, n_fft, kind):
    """The window in the middle of n_fft places."""
    if window is None:
        window = _C.ops.full([win_length], 1.0, kind)
    before = (n_fft - win_length) // 2
    return _C.ops.pad(window, [before, n_fft - win_length - before]) if win_length < n_fft else window


def _signal(what, x, ranks):
    x = _C.tensor_argument(x, what, "x")
    if x.dtype not in (_C.float32, _C.float64, _C.complex64, _C.complex128):
        raise _C.located(TypeError(f"{what}: x must be float32, float64 or complex; it is {x.dtype.name}"))
    if len(x.shape) not in ranks:
        raise _C.located(ValueError(f"{what}: x must have {ranks[0]} or {ranks[1]} dims; it is {list(x.shape)}"))
    return x


def stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=True, name=None):  # fmt: skip
    """Fourier transforms of the frames of a signal, one every hop_length samples.

    Args:
        x (Tensor): [samples] or [B, samples], float32, float64 or complex.
        n_fft (int): length of a frame.
        hop_length (int, optional): samples from one frame to the next; n_fft // 4 unless given.
        win_length (int, optional): length of the window, in the middle of a frame; n_fft unless given.
        window (Tensor, optional): [win_length], a factor for each sample of a frame; ones unless given.
        center (bool): frames have their middle, not their beginning, at multiples of hop_length.
        pad_mode (str): "reflect" or "constant": what lies beyond the ends for that.
        normalized (bool): divide by the square root of n_fft.
        onesided (bool): of real signals only the first n_fft // 2 + 1 frequencies, as the others are their conjugates.
        name (str, optional): not used.

    Returns:
        Tensor: complex [..., frequencies, frames].

    Raises:
        ValueError: lengths that do not fit, an unknown pad_mode, or onesided of a complex signal.

    Examples:
        >>> proa.signal.stft(proa.ones([16]), n_fft=8).shape
        [5, 9]
    """
    x = _signal("stft", x, (1, 2))
    n_fft, hop_length, win_length, window = _lengths("stft", n_fft, hop_length, win_length, window)
    if pad_mode not in ("constant", "reflect"):
        raise _C.located(ValueError(f"stft: pad_mode must be 'reflect' or 'constant', not {pad_mode!r}"))
    one = len(x.shape) == 1
    x = x.unsqueeze(0) if one else x
    is_complex = x.is_complex() or (window is not None and window.is_complex())
    if is_complex and onesided:
        raise _C.located(ValueError("stft: onesided must be False where the signal or the window is complex"))
    if center:
        side = n_fft // 2
        x = _C.ops.pad(x, [0, 0, side, side], pad_mode)
    pieces = frame(x, n_fft, hop_length, -1)
    window = _full_window(window, win_length, n_fft, x.dtype)
    pieces = _C.ops.multiply(pieces, window.unsqueeze(-1))
    normalization = "by_sqrt_n" if normalized else "none"
    if pieces.is_complex():
        out = _C.ops.fft_c2c(pieces, [1], normalization, True)
    elif onesided:
        out = _C.ops.fft_r2c(pieces, [1], normalization, True)
    else:
        kind = _C.complex128 if pieces.dtype == _C.float64 else _C.complex64
        out = _C.ops.fft_c2c(pieces.astype(kind), [1], normalization, True)
    return out.squeeze(0) if one else out


def istft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=True,
          length=None, return_complex=False, name=None):  # fmt: skip
    """The signal whose stft is x, or is nearest to x: frames are transformed back, multiplied by the window, added up, and
    divided by the sum of the squares of the windows.

    Args:
        x (Tensor): complex [frequencies, frames] or [B, frequencies, frames].
        n_fft, hop_length, win_length, window, center, normalized, onesided: those of stft.
        length (int, optional): samples of the result; the end is cut, or zeros are added.
        return_complex (bool): a complex signal; then onesided must be False.
        name (str, optional): not used.

    Returns:
        Tensor: [samples] or [B, samples].

    Raises:
        ValueError: lengths that do not fit, or windows that add up to zero somewhere.
        TypeError: x is not complex.

    Examples:
        >>> x = proa.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        >>> y = proa.signal.istft(proa.signal.stft(x, n_fft=4), n_fft=4)
        >>> y.round().tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    x = _signal("istft", x, (2, 3))
    n_fft, hop_length, win_length, window = _lengths("istft", n_fft, hop_length, win_length, window)
    if not x.is_complex():
        raise _C.located(TypeError(f"istft: x must be complex; it is {list(x.shape)} {x.dtype.name}"))
    if hop_length > win_length:
        raise _C.located(ValueError(f"istft: hop_length {hop_length} is larger than win_length {win_length}"))
    if return_complex and onesided:
        raise _C.located(ValueError("istft: onesided must be False where the signal is complex"))
    if window is not None and window.is_complex() and not return_complex:
        raise _C.located(ValueError("istft: a complex window needs return_complex"))
    length = None if length is None else _known_number("istft", "length", length)
    if length is not None and (not isinstance(length, int) or length <= 0):
        raise _C.located(ValueError(f"istft: length must be a positive int; it is {length!r}"))
    one = len(x.shape) == 2
    x = x.unsqueeze(0) if one else x
    wanted = n_fft // 2 + 1 if onesided else n_fft
    x = _require_sizes(
        x, [x.shape[1]], [wanted], f"istft: x must have {wanted} frequencies by n_fft {n_fft}; it is {{}}", x
    )
    normalization = "by_sqrt_n" if normalized else "by_n"
    if return_complex:
        pieces = _C.ops.fft_c2c(x, [1], normalization, False)
    else:
        half = x if onesided else _C.ops.slice(x, [1], [0], [n_fft // 2 + 1])
        pieces = _C.ops.fft_c2r(half, [1], [-1, n_fft, -1], normalization, False)
    window = _full_window(window, win_length, n_fft, pieces.real().dtype if return_complex else pieces.dtype)
    signal = overlap_add(_C.ops.multiply(pieces, window.unsqueeze(-1)), hop_length, -1)
    squares = _C.ops.multiply(window, _C.ops.conj(window)).real() if window.is_complex() else window * window
    # A column of squares for each frame.
    ones = _C.ops.full_like(_C.ops.slice(x.real(), [0, 1], [0, 0], [1, 1]), 1.0)
    envelope = overlap_add(_C.ops.multiply(squares.unsqueeze(-1), ones.astype(squares.dtype)), hop_length, -1)
    begin = n_fft // 2 if center else 0
    if length is None:
        end = signal.shape[-1] - begin
    else:
        end = begin + length
    signal, envelope = (_C.ops.slice(t, [1], [begin], [end]) for t in (signal, envelope))
    signal = _C.ops.divide(signal, _C.ops.window_envelope(envelope))
    if length is not None:
        signal = _C.ops.slice(_C.ops.pad(signal, [0, 0, 0, length]), [1], [0], [length])
    return signal.squeeze(0) if one else signal


__getattr__ = _missing(__name__)
