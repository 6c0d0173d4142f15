"""References of choosing, clipping and blending."""

import numpy as np


def reference_where(condition, x, y):
    return np.where(condition, x, y)


def _to_integer(v, dtype):
    """What is left of real numbers as an integer type."""
    return np.trunc(v).astype(np.int64).astype(dtype)


def reference_scale(x, scale=1.0, bias=0.0, bias_after_scale=True):
    if x.dtype.kind not in "iu":
        return x * scale + bias if bias_after_scale else (x + bias) * scale
    v = x.astype(np.int64) if float(scale).is_integer() and float(bias).is_integer() else x.astype(np.float64)
    if v.dtype == np.int64:
        scale, bias = int(scale), int(bias)
    return _to_integer(v * scale + bias if bias_after_scale else (v + bias) * scale, x.dtype)


def reference_clip(x, min=None, max=None):
    if x.dtype.kind not in "iu":
        low = -np.inf if min is None else min
        high = np.inf if max is None else max
        return np.minimum(np.maximum(x, low), high)
    if isinstance(min, float) or isinstance(max, float):
        return reference_clip(x.astype(np.float32), min, max)
    info = np.iinfo(x.dtype)
    low = info.min if min is None else np.clip(int(min), info.min, info.max)
    high = info.max if max is None else np.clip(int(max), info.min, info.max)
    return np.clip(x.astype(np.int64), low, high).astype(x.dtype)


def reference_clip_backward(grad_out, x, min=None, max=None):
    inside = np.ones(x.shape, bool)
    if min is not None:
        inside &= x >= (int(min) if x.dtype.kind in "iu" else min)
    if max is not None:
        inside &= x <= (int(max) if x.dtype.kind in "iu" else max)
    return np.where(inside, grad_out, 0).astype(np.result_type(grad_out, x))


def reference_lerp(x, y, weight):
    return x + weight * (y - x)


TOLERANCE = {
    "lerp": {"float16": (4e-3, 4e-3), "bfloat16": (4e-2, 4e-2)},
    "scale": {"bfloat16": (4e-2, 4e-2)},
}
