"""References of trigonometric and hyperbolic functions."""

import numpy as np

from ops.conformance.samples import Sample


def _wide(x):
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def reference_sin(x):
    return np.sin(_wide(x))


def reference_cos(x):
    return np.cos(_wide(x))


def reference_tan(x):
    return np.tan(_wide(x))


def reference_asin(x):
    return np.arcsin(_wide(x))


def reference_acos(x):
    return np.arccos(_wide(x))


def reference_atan(x):
    return np.arctan(_wide(x))


def reference_sinh(x):
    return np.sinh(_wide(x))


def reference_cosh(x):
    return np.cosh(_wide(x))


def reference_asinh(x):
    return np.arcsinh(_wide(x))


def reference_acosh(x):
    return np.arccosh(_wide(x))


def reference_atanh(x):
    return np.arctanh(_wide(x))


def _huge():
    """Arguments that take many digits of pi."""
    x = np.array([1e5, 1048576.0, 1048577.0, 1e8, 3e38, -1e20, 1.5], np.float32)
    yield Sample((x,), {}, "huge arguments")


samples_sin = samples_cos = samples_tan = _huge

TOLERANCE = {
    "tan": {"float16": (4e-3, 4e-3), "bfloat16": (4e-2, 4e-2), "float32": (2e-5, 1e-5), "complex64": (1e-4, 1e-4)},
}
