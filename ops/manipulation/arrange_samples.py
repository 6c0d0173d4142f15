"""References of rearrangements, in NumPy. Adjoints scatter through the map of indices."""

import math

import numpy as np


def _places(shape):
    """An array of the shape that holds the flat index of each element."""
    return np.arange(math.prod(shape)).reshape(shape)


def _adjoint(dy, shape, moved):
    """Adds dy up where `moved`, of the shape of dy, says (-1: nowhere)."""
    out = np.zeros(math.prod(shape), dy.dtype)
    chosen = moved.reshape(-1) >= 0
    np.add.at(out, moved.reshape(-1)[chosen], dy.reshape(-1)[chosen])
    return out.reshape(shape)


def reference_flip(x, axis):
    return np.flip(x, [a % max(x.ndim, 1) for a in axis]) if x.ndim else x


def reference_roll(x, shifts, axis=()):
    if not axis:
        return np.roll(x, shifts[0] % max(x.size, 1))
    for s, a in zip(shifts, axis):
        x = np.roll(x, s % max(x.shape[a], 1), a)
    return x


def reference_roll_grad(dy, shifts, axis=()):
    return reference_roll(dy, [-s for s in shifts], axis)


def reference_tile(x, repeat_times):
    return np.tile(x, repeat_times)


def reference_tile_grad(dy, shape, repeat_times):
    return _adjoint(dy, shape, np.tile(_places(shape), repeat_times))


def reference_repeat_interleave(x, repeats, axis=None):
    return np.repeat(x, repeats[0] if len(repeats) == 1 else repeats, axis if x.ndim else None)


def reference_repeat_interleave_grad(dy, shape, repeats, axis=None):
    return _adjoint(dy, shape, reference_repeat_interleave(_places(shape), repeats, axis))


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(x, paddings, mode, value):
    pairs = list(zip(paddings[::2], paddings[1::2]))
    if mode != "constant":
        return np.pad(x, pairs, _MODES[mode])
    x = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value) if pairs else x
    return x[tuple(slice(-min(a, 0), n + min(b, 0)) for (a, b), n in zip(pairs, x.shape))]


def reference_pad(x, paddings, mode="constant", value=0.0):
    if x.dtype.kind == "b":
        value = bool(value)
    return _pad(x, paddings, mode, value)


def reference_pad_grad(dy, shape, paddings, mode="constant"):
    return _adjoint(dy, shape, _pad(_places(shape), paddings, mode, -1))
