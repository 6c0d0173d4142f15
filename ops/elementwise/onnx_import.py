"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import functools

import numpy as np

import proa
from proa import _C
from proa.onnx.import_rule import (
    Known,
    dtype_named,
    is_float,
    is_recorded,
    opset,
    raw,
    refuse,
    tensor_of,
    to,
)
from proa.onnx.imported_graph import aligned

ops = _C.ops


# Numbers that are not tensors -----------------------------------------------------------------------------------------


def from_Identity(x: raw, *, consumed_inputs=None):
    return x


def from_Cast(x: raw, *, to, saturate=1, round_mode="up"):
    return _cast(x, dtype_named(to))


def from_CastLike(x: raw, like: raw, *, saturate=1, round_mode="up"):
    dtype = like.dtype if isinstance(like, Known) else like.dtype.name
    return _cast(x, dtype)


def _cast(x, dtype):
    if isinstance(x, Known) and x.dtype == "string":
        return x if dtype == "string" else _parsed(x.array, dtype)
    x = tensor_of(x)
    if dtype == "string":
        return _written(x)
    return to(x, dtype)


def _parsed(texts, dtype):
    try:
        values = np.array([float(t) if dtype[0] in "fb" else int(t) for t in texts.reshape(-1)])
    except ValueError:
        refuse("a text is no number")
    return to(proa.to_tensor(values.astype("float64" if dtype[0] in "fb" else "int64").reshape(texts.shape)), dtype)


def _written(x):
    if is_recorded(x):
        refuse("texts are written only where the model runs as it is")
    wide = to(x, "float32") if x.dtype.name == "bfloat16" else x
    array = wide.numpy()
    return Known(np.array([str(v) for v in array.reshape(-1)], object).reshape(array.shape), "string")


def from_StringNormalizer(x: raw, *, case_change_action="NONE", is_case_sensitive=0, locale="", stopwords=()):
    if not isinstance(x, Known) or x.dtype != "string":
        refuse("it takes texts")
    if x.array.ndim not in (1, 2) or (x.array.ndim == 2 and x.array.shape[0] != 1):
        refuse(f"it takes [C] or [1, C] texts, not {list(x.array.shape)}")
    change: dict = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}
    if case_change_action not in change:
        refuse(f"there is no case_change_action {case_change_action!r}")
    same = str if is_case_sensitive else str.lower
    stops = {same(w) for w in stopwords}
    kept = [change[case_change_action](t) for t in x.array.reshape(-1) if same(t) not in stops] or [""]
    made = np.array(kept, object)
    return Known(made if x.array.ndim == 1 else made.reshape(1, -1), "string")


# Functions ------------------------------------------------------------------------------------------------------------


def from_Relu(x, *, consumed_inputs=None):
    return ops.relu(x) if is_float(x) else ops.maximum(x, ops.full_like(x, 0))


def from_Clip(x, min=None, max=None, *, consumed_inputs=None):
    for bound, function in ((min, ops.maximum), (max, ops.minimum)):
        if bound is not None:
            x = function(x, bound if isinstance(bound, _C.Tensor) else ops.full([], bound, x.dtype))
    return x


def from_Elu(x, *, alpha=1.0, consumed_inputs=None):
    return ops.elu(x, alpha)


def from_Selu(x, *, alpha=1.6732632423543772, gamma=1.0507009873554805, consumed_inputs=None):
    return ops.where(x > 0, x, (ops.exp(ops.minimum(x, ops.full_like(x, 0.0))) - 1.0) * alpha) * gamma


def from_Celu(x, *, alpha=1.0):
    return ops.celu(x, alpha)


def from_LeakyRelu(x, *, alpha=0.01, consumed_inputs=None):
    return ops.leaky_relu(x, alpha)


def from_PRelu(x, slope, *, consumed_inputs=None):
    if opset() < 7 and len(slope.shape) == 1 and len(x.shape) > 2:
        slope = aligned(x, slope, 1)
    return ops.where(x > 0, x, x * slope)


def from_ThresholdedRelu(x, *, alpha=1.0):
    return ops.where(x > alpha, x, ops.full_like(x, 0.0))


def from_HardSigmoid(x, *, alpha=0.2, beta=0.5, consumed_inputs=None):
    return ops.clip(x * alpha + beta, 0.0, 1.0)


def from_HardSwish(x):
    return ops.hardswish(x)


def from_Softplus(x):
    return ops.softplus(x, 1.0, 1e30) if x.dtype.name == "float64" else ops.softplus(x)


def from_Softsign(x):
    return ops.softsign(x)


def from_Gelu(x, *, approximate="none"):
    return ops.gelu(x, approximate == "tanh")


def from_Mish(x):
    return ops.mish(x)


def from_Shrink(x, *, bias=0.0, lambd=0.5):
    zero = ops.full_like(x, 0)
    return ops.where(x < -lambd, to(x + bias, x.dtype), ops.where(x > lambd, to(x - bias, x.dtype), zero))


def from_IsNaN(x):
    return ops.isnan(x)


def from_IsInf(x, *, detect_negative=1, detect_positive=1):
    found = ops.isinf(x)
    if not detect_negative:
        found = ops.logical_and(found, x > 0)
    return found if detect_positive else ops.logical_and(found, x < 0)


def from_Swish(x, *, alpha=1.0):
    return x * ops.sigmoid(x * alpha)


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _kept(function):
    """A function of two tensors whose result has the dtype of the first."""

    def rule(x, y, *, broadcast=0, axis=None, consumed_inputs=None):
        return to(function(x, aligned(x, y, axis)), x.dtype)

    return rule


def _divide(x, y):
    if is_float(x):
        return ops.divide(x, y)
    quotient = ops.floor_divide(x, y)  # rounds down; ONNX rounds to zero
    if x.dtype.name == "uint8":
        return quotient
    inexact = ops.logical_and(ops.not_equal(quotient * y, x), ops.less_than(quotient, ops.full_like(quotient, 0)))
    return quotient + to(inexact, x.dtype)


def _power(x, y):
    if is_float(x) or is_float(y):
        wide = "float64" if "float64" in (x.dtype.name, y.dtype.name) or not is_float(x) else x.dtype.name
        return ops.pow(to(x, wide), to(y, wide))
    return ops.pow(to(x, "int64"), to(y, "int64"))


from_Div = _kept(_divide)
from_Pow = _kept(_power)


def from_Mod(x, y, *, fmod=0):
    if fmod or is_float(x):
        rest = ops.remainder(x, y)
        wrong = ops.logical_and(ops.not_equal(rest, ops.full_like(rest, 0)), ops.not_equal(x < 0, y < 0))
        # remainder has the sign of y, fmod that of x
        return ops.where(wrong, rest - y, rest)
    return ops.remainder(x, y)


def _of_many(function):
    def rule(*xs, consumed_inputs=None):
        if not xs:
            refuse("it has no inputs")
        return functools.reduce(function, xs) if len(xs) > 1 else xs[0]

    return rule


from_Max = _of_many(ops.maximum)
from_Min = _of_many(ops.minimum)
from_Sum = _of_many(ops.add)


def from_Mean(*xs, consumed_inputs=None):
    return from_Sum(*xs) / len(xs)


def from_BitShift(x, y, *, direction):
    if direction == "RIGHT":
        return ops.bitwise_right_shift(x, y, False)
    return ops.bitwise_left_shift(x, y)


def from_Not(x):
    return ops.logical_not(x)


def from_BitwiseNot(x):
    return ops.bitwise_not(x)


def from_Where(condition, x, y):
    return ops.where(condition, x, y)


# Optimizers, as ai.onnx.preview.training has them -----------------------------------------------------------------------


def _in_groups(rest, size):
    if not rest or len(rest) % size:
        refuse(f"takes tensors in groups of {size}")
    count = len(rest) // size
    return [[rest[g * count + i] for g in range(size)] for i in range(count)]


def _by_kind(results):
    return tuple(value for kind in zip(*results, strict=True) for value in kind)


def from_training_Adagrad(rate, t, *rest, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    rate = rate / (1 + to(t, rate.dtype) * decay_factor)
    made = []
    for x, g, h in _in_groups(rest, 3):
        g = g + x * norm_coefficient
        h = h + g * g
        made.append((x - rate * g / (ops.sqrt(h) + epsilon), h))
    return _by_kind(made)


def from_training_Momentum(rate, t, *rest, alpha, beta, mode, norm_coefficient):
    first = t == 0
    made = []
    for x, g, v in _in_groups(rest, 3):
        g = g + x * norm_coefficient
        factor = ops.where(first, ops.full([], 1.0, x.dtype), ops.full([], beta, x.dtype))
        v = v * alpha + g * factor
        made.append((x - rate * (g + v * alpha if mode == "nesterov" else v), v))
    return _by_kind(made)


def from_training_Adam(
    rate, t, *rest, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0
):
    made = []
    t = to(t, rate.dtype)
    late = t > 0
    corrected = ops.sqrt(1 - ops.pow(ops.full([], beta, rate.dtype), t)) / (
        1 - ops.pow(ops.full([], alpha, rate.dtype), t)
    )
    rate = ops.where(late, rate * corrected, rate)
    for x, g, v, h in _in_groups(rest, 4):
        g = g + x * norm_coefficient
        v = v * alpha + g * (1 - alpha)
        h = h * beta + g * g * (1 - beta)
        x = x - rate * v / (ops.sqrt(h) + epsilon)
        made.append(((1 - norm_coefficient_post) * x, v, h))
    return _by_kind(made)
