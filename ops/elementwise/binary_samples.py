"""References of arithmetic of two tensors."""

import numpy as np


def _common(x, y):
    """Both in their common type, as the op computes (floats stay wide)."""
    kind = np.result_type(x, y)
    return x.astype(kind), y.astype(kind)


def reference_add(x, y):
    return np.add(*_common(x, y))


def reference_subtract(x, y):
    return np.subtract(*_common(x, y))


def reference_multiply(x, y):
    return np.multiply(*_common(x, y))


def reference_divide(x, y):
    return np.true_divide(x, y)


def reference_floor_divide(x, y):
    return np.floor_divide(*_common(x, y))


def reference_remainder(x, y):
    return np.remainder(*_common(x, y))


def reference_pow(x, y):
    x, y = _common(x, y)
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    out = np.power(x, np.maximum(y, 0))
    # NumPy has no integer powers below 0: what is left of 1 / x^-y without its fraction.
    sign = np.where(y % 2 == 0, 1, -1)
    negative = np.where(x == 1, 1, np.where(x.astype(np.int64) == -1, sign, 0))
    return np.where(y < 0, negative, out).astype(x.dtype)


def reference_maximum(x, y):
    return np.maximum(*_common(x, y))


def reference_minimum(x, y):
    return np.minimum(*_common(x, y))


def reference_fmax(x, y):
    return np.fmax(*_common(x, y))


def reference_fmin(x, y):
    return np.fmin(*_common(x, y))


def reference_atan2(x, y):
    return np.arctan2(x, y)


def reference_hypot(x, y):
    return np.hypot(x, y)


def reference_logaddexp(x, y):
    return np.logaddexp(x, y)


def reference_copysign(x, y):
    return np.copysign(*_common(x, y))


def reference_heaviside(x, y):
    x, y = _common(x, y)
    return np.where(x == 0, y, (x > 0).astype(x.dtype))


TOLERANCE = {
    "pow": {"float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-4), "complex128": (1e-9, 1e-10)},
}


# Gradients at ties, of NaN and at zero.


def _at(x, y, of_x, of_y):
    x, y, of_x, of_y = map(np.array, (x, y, of_x, of_y))
    return {"x": x, "y": y}, {"x": of_x, "y": of_y}


def gradients_maximum():
    yield _at([1.0], [1.0], [0.0], [1.0])


def gradients_minimum():
    yield _at([1.0], [1.0], [0.0], [1.0])


def gradients_fmax():
    yield _at([1.0, 1.0, np.nan, np.inf], [1.0, np.nan, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0])
    yield _at([0.0], [np.inf], [0.0], [1.0])


def gradients_fmin():
    yield _at([1.0, 1.0, np.nan, -np.inf], [1.0, np.nan, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0])
    yield _at([0.0], [-np.inf], [0.0], [1.0])


def gradients_hypot():
    yield _at([0.0, 3.0, -3.0], [0.0, 4.0, 0.0], [0.0, 0.6, -1.0], [0.0, 0.8, 0.0])


def gradients_logaddexp():
    yield _at(
        [np.inf, -np.inf, -np.inf, 1.0], [np.inf, -np.inf, 2.0, -np.inf], [0.5, 0.5, 0.0, 1.0], [0.5, 0.5, 1.0, 0.0]
    )


def gradients_copysign():
    yield (
        {"x": np.array([0.0, 2.0, -2.0, 2.0]), "y": np.array([1.0, -0.0, 3.0, 3.0])},
        {"x": np.array([0.0, -1.0, -1.0, 1.0])},
    )


def gradients_heaviside():
    yield {"x": np.array([0.0, 2.0, -2.0]), "y": np.array([1.0, 5.0, 6.0])}, {"y": np.array([1.0, 0.0, 0.0])}


def gradients_pow():
    yield _at([0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, np.log(2.0)])
