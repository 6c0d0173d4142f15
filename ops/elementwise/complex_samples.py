"""References of parts of complex tensors."""

import numpy as np


def reference_conj(x):
    return np.conj(x)


def reference_conj_complex(x):
    return np.conj(x)


def reference_real(x):
    return np.real(x)


def reference_real_of_complex(x):
    return np.real(x)


def reference_imag(x):
    return np.imag(x)


def reference_complex(real, imag):
    return real + 1j * imag


def reference_angle(x):
    return np.angle(x) if x.dtype.kind == "c" else np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0))


def reference_angle_backward(grad_out, x):
    if x.dtype.kind != "c":
        return np.zeros_like(x)
    return 1j * grad_out * x / np.abs(x) ** 2
