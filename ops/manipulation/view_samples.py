"""References of the views, in NumPy."""

import math

import numpy as np


def reference_reshape(x, shape):
    shape = list(shape)
    if x.size == 0 and -1 not in shape and 0 in shape:
        return x.reshape(shape)
    kept = [i for i, n in enumerate(shape) if n == 0]
    sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    if -1 in sizes:
        rest = math.prod(n for i, n in enumerate(x.shape) if i not in kept)
        sizes[sizes.index(-1)] = rest // math.prod(n for n in shape if n > 0)
    return x.reshape(sizes)


def reference_transpose(x, perm):
    return np.transpose(x, perm or None)


def reference_transpose_grad(dy, perm):
    return np.transpose(dy, np.argsort([p % dy.ndim for p in perm]) if perm else None)


def reference_squeeze(x, axis=()):
    axis = range(x.ndim) if not axis else [a % x.ndim for a in axis]
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axis])


def reference_unsqueeze(x, axis):
    for a in axis:
        x = np.expand_dims(x, a)
    return x


def reference_flatten(x, start_axis=0, stop_axis=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, stop = start_axis % x.ndim, stop_axis % x.ndim
    return x.reshape(x.shape[:start] + (math.prod(x.shape[start : stop + 1]),) + x.shape[stop + 1 :])


def reference_broadcast_to(x, shape):
    shift = len(shape) - x.ndim
    return np.broadcast_to(x, [x.shape[i - shift] if n == -1 else n for i, n in enumerate(shape)])


def _slices(rank, axes, starts, ends, strides=()):
    out = [slice(None)] * rank
    for k, a in enumerate(axes):
        out[a % rank] = slice(starts[k], ends[k], strides[k] if strides else 1)
    return tuple(out)


def reference_slice(x, axes, starts, ends, strides=()):
    return x[_slices(x.ndim, axes, starts, ends, strides)]


def reference_slice_grad(dy, shape, axes, starts, ends, strides=()):
    out = np.zeros(shape, dy.dtype)
    out[_slices(out.ndim, axes, starts, ends, strides)] = dy
    return out


def _diagonal(shape, offset, axis1, axis2):
    """Flat indices of the diagonals."""
    offset = max(-1000, min(1000, offset))  # NumPy itself does not survive large ones
    return np.diagonal(np.arange(math.prod(shape)).reshape(shape), offset, axis1, axis2)


def reference_diagonal(x, offset=0, axis1=0, axis2=1):
    return x.reshape(-1)[_diagonal(x.shape, offset, axis1, axis2)]


def reference_diagonal_grad(dy, shape, offset=0, axis1=0, axis2=1):
    out = np.zeros(shape, dy.dtype)
    out.reshape(-1)[_diagonal(shape, offset, axis1, axis2)] = dy
    return out


def reference_split(x, sections, axis=0):
    sections = list(sections)
    if -1 in sections:
        sections[sections.index(-1)] = x.shape[axis] - sum(sections) - 1
    return np.split(x, np.cumsum(sections)[:-1], axis)


def reference_unbind(x, axis=0):
    return [np.take(x, i, axis) for i in range(x.shape[axis])]


def reference_as_real(x):
    return np.stack([x.real, x.imag], -1)


def reference_as_complex(x):
    return x[..., 0] + 1j * x[..., 1]
