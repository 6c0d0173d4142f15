"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import numpy as np

import proa
from proa import _C
from proa.onnx.import_rule import dtype_named, numbers, opset, refuse, scalar, to

ops = _C.ops


def _resized(x, axis, length):
    """A dim cut, or filled with zeros, to a length."""
    n = x.shape[axis]
    if n > length:
        return ops.slice(x, [axis], [0], [length])
    wide = [0] * (2 * len(x.shape))
    wide[2 * axis + 1] = length - n
    return ops.pad(x, wide) if n < length else x


def from_DFT(x, length: numbers = None, axis: numbers = None, *, inverse=0, onesided=0):
    rank = len(x.shape)
    at = (-2 if opset() >= 20 else 1) if axis is None else int(scalar(axis))
    at %= rank
    if at == rank - 1:
        refuse("the last dim holds real and imaginary parts")
    real = x.shape[-1] == 1
    if length is not None:
        x = _resized(x, at, int(scalar(length)))
    if onesided and real and not inverse:
        made = ops.fft_r2c(ops.squeeze(x, [-1]), [at], "none", True)
        return ops.as_real(made)
    if onesided and inverse:
        whole = ops.as_complex(x)
        signal = int(scalar(length)) if length is not None else 2 * (whole.shape[at] - 1)
        made = proa.fft.irfft(whole, signal, at)
        return ops.unsqueeze(made, [-1])
    parts = ops.concat([x, ops.full_like(x, 0.0)], -1) if real else x
    made = ops.fft_c2c(ops.as_complex(parts), [at], "by_n" if inverse else "none", not inverse)
    return ops.as_real(made)


def from_STFT(x, step: numbers, window=None, length: numbers = None, *, onesided=1):
    size = int(scalar(length)) if length is not None else window.shape[0] if window is not None else None
    if size is None:
        refuse("neither a window nor a frame_length is given")
    real = len(x.shape) == 2 or x.shape[-1] == 1
    if not real:
        refuse("frames of complex signals are not known here")
    signal = ops.squeeze(x, [-1]) if len(x.shape) == 3 else x
    frames = ops.transpose(ops.frame(signal, size, int(scalar(step))), [0, 2, 1])
    if window is not None:
        frames = frames * window
    if onesided:
        return ops.as_real(ops.fft_r2c(frames, [2], "none", True))
    return ops.as_real(proa.fft.fft(ops.complex(frames, ops.full_like(frames, 0.0))))


def from_MelWeightMatrix(
    bins: numbers, length: numbers, rate: numbers, low: numbers, high: numbers, *, output_datatype=1
):
    """Triangles over frequencies, even in mels."""
    count, rate = int(scalar(bins)), float(scalar(rate))
    size = int(scalar(length)) // 2 + 1
    if not 0 < count <= 1 << 16 or not 0 < size <= 1 << 24 or count * size > 1 << 26:
        refuse(f"{count} bins of {size} frequencies")
    ends = [2595 * np.log10(1 + float(scalar(f)) / 700) for f in (low, high)]
    mels = ends[0] + np.arange(count + 2) * ((ends[1] - ends[0]) / (count + 2))
    places = np.floor(((int(scalar(length)) + 1) * (700 * (10 ** (mels / 2595) - 1))) / rate).astype(int)
    made = np.zeros((size, count))
    for i in range(count):
        lower, middle, upper = places[i : i + 3]
        if middle == lower:
            made[middle, i] = 1
        else:
            made[lower : middle + 1, i] = (np.arange(lower, middle + 1) - lower) / (middle - lower)
        if upper > middle:
            made[middle:upper, i] = (upper - np.arange(middle, upper)) / (upper - middle)
    return to(proa.to_tensor(made), dtype_named(output_datatype))
