"""References of frames, sample by sample."""

import numpy as np


def reference_frame(x, frame_length, hop_length, axis=-1):
    count = 1 + (x.shape[axis] - frame_length) // hop_length
    if axis == -1:
        return np.stack([x[..., t * hop_length : t * hop_length + frame_length] for t in range(count)], -1)
    return np.stack([x[t * hop_length : t * hop_length + frame_length] for t in range(count)], 0)


def reference_overlap_into(x, shape, hop_length, axis=-1):
    out = np.zeros(shape, x.dtype)
    if axis == -1:
        for t in range(x.shape[-1]):
            out[..., t * hop_length : t * hop_length + x.shape[-2]] += x[..., t]
    else:
        for t in range(x.shape[0]):
            out[t * hop_length : t * hop_length + x.shape[1]] += x[t]
    return out


def reference_overlap_add(x, hop_length, axis=-1):
    length, count = (x.shape[-2], x.shape[-1]) if axis == -1 else (x.shape[1], x.shape[0])
    samples = (count - 1) * hop_length + length
    rest = list(x.shape[:-2]) if axis == -1 else list(x.shape[2:])
    return reference_overlap_into(x, [*rest, samples] if axis == -1 else [samples, *rest], hop_length, axis)


def reference_frames_of(x, shape, hop_length, axis=-1):
    length, count = (shape[-2], shape[-1]) if axis == -1 else (shape[1], shape[0])
    signal = x[..., : (count - 1) * hop_length + length] if axis == -1 else x[: (count - 1) * hop_length + length]
    return reference_frame(signal, length, hop_length, axis)


def reference_window_envelope(x):
    return x
