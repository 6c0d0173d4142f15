"""References of Fourier transforms: sums by their definition, in NumPy's complex128."""

import numpy as np

TOLERANCE = {name: {"complex64": (2e-5, 2e-5), "float32": (2e-5, 2e-5)} for name in ("fft_c2c", "fft_r2c", "fft_c2r")}


def _matrix(n, forward):
    k = np.arange(n)
    turns = np.outer(k, k) % n / n  # exact: n is small
    return np.exp((-2j if forward else 2j) * np.pi * turns)


def _along(x, axis, forward):
    return np.moveaxis(np.moveaxis(x, axis, -1) @ _matrix(x.shape[axis], forward), -1, axis)


def _factor(shape, axes, normalization):
    points = np.prod([shape[a] for a in axes], dtype=np.float64)
    return {"none": 1.0, "by_n": 1 / points, "by_sqrt_n": 1 / np.sqrt(points)}[normalization]


def reference_fft_c2c(x, axes, normalization="none", forward=True):
    out = x.astype(np.complex128)
    for axis in axes:
        out = _along(out, axis, forward)
    return (out * _factor(x.shape, axes, normalization)).astype(x.dtype)


def reference_fft_r2c(x, axes, normalization="none", forward=True):
    kind = np.result_type(x.dtype, np.complex64)
    full = reference_fft_c2c(x.astype(np.complex128), axes, normalization, forward)
    return np.take(full, range(x.shape[axes[-1]] // 2 + 1), axis=axes[-1]).astype(kind)


def reference_fft_c2r(x, axes, signal, normalization="none", forward=False):
    out, last = x.astype(np.complex128), axes[-1]
    for axis in axes[:-1]:
        out = _along(out, axis, forward)
    n = signal[last] if len(signal) else 2 * (x.shape[last] - 1)
    half = np.moveaxis(out, last, -1)
    full = np.zeros((*half.shape[:-1], n), np.complex128)
    full[..., : half.shape[-1]] = half
    for k in range(1, (n + 1) // 2):
        full[..., n - k] = half[..., k].conj()
    # The first frequency, and the last of an even size, are their own conjugates.
    full[..., 0] = full[..., 0].real
    if n % 2 == 0:
        full[..., n // 2] = full[..., n // 2].real
    signal = np.moveaxis(full @ _matrix(n, forward), -1, last).real
    return (signal * _factor(signal.shape, axes, normalization)).astype(x.real.dtype)


def reference_fft_interior(x, signal, axes, factor):
    n = signal[axes[-1]]
    weights = np.full(n // 2 + 1, factor)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    shape = [1] * x.ndim
    shape[axes[-1]] = -1
    return (x * weights.reshape(shape)).astype(x.dtype)
