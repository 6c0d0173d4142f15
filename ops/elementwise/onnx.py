"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

import math

from proa.onnx.rule import (
    cast,
    constant,
    filled,
    highest,
    lowest,
    onnx,
    promoted,
    refuse,
    renaming,
    result,
    sizes,
    to_result,
)


def _is_float(x):
    return x.dtype.startswith(("float", "bfloat"))


def _same(operator):
    """The operator of ONNX that means the same, of `x` in the dtype of the result."""
    return renaming(operator, lambda x: getattr(onnx, operator)(to_result(x)))


def _promoting(operator, of_bool=None):
    """The operator of two tensors in the dtype of the result; another one of truth values."""

    def rule(x, y):
        return getattr(onnx, of_bool if result().dtype == "bool" else operator)(*to_result(x, y))

    return renaming(operator, rule)


def _comparing(operator, of_bool=True):
    """The operator of two tensors in their common dtype; of truth values as numbers unless `of_bool`."""

    def compare(x, y):
        x, y = promoted(x, y)
        if x.dtype == "bool" and not of_bool:
            x, y = cast(x, "int32"), cast(y, "int32")
        return getattr(onnx, operator)(x, y)

    return renaming(operator, compare)


def _of_floats(rule):
    """What leaves integers as they are."""
    return renaming(rule.operator, lambda x: rule(x) if _is_float(x) else onnx.Identity(x))


# Functions ---------------------------------------------------------------------------------------------------------------

onnx_abs = _same("Abs")
onnx_acos = _same("Acos")
onnx_acosh = _same("Acosh")
onnx_asin = _same("Asin")
onnx_asinh = _same("Asinh")
onnx_assign = _same("Identity")
onnx_atan = _same("Atan")
onnx_atanh = _same("Atanh")
onnx_ceil = _of_floats(_same("Ceil"))
onnx_cos = _same("Cos")
onnx_cosh = _same("Cosh")
onnx_erf = _same("Erf")
onnx_exp = _same("Exp")
onnx_floor = _of_floats(_same("Floor"))
onnx_log = _same("Log")
onnx_neg = _same("Neg")
onnx_reciprocal = _same("Reciprocal")
onnx_relu = _same("Relu")
onnx_round = _of_floats(_same("Round"))
onnx_sgn = _same("Sign")
onnx_sigmoid = _same("Sigmoid")
onnx_sign = _same("Sign")
onnx_sin = _same("Sin")
onnx_sinh = _same("Sinh")
onnx_softsign = _same("Softsign")
onnx_sqrt = _same("Sqrt")
onnx_tan = _same("Tan")
onnx_tanh = _same("Tanh")


def onnx_log2(x):
    return onnx.Log(to_result(x)) * (1 / math.log(2))


def onnx_log10(x):
    return onnx.Log(to_result(x)) * (1 / math.log(10))


def onnx_logit(x):
    x = to_result(x)
    return onnx.Log(onnx.Div(x, onnx.Sub(1.0, x)))


def onnx_log1p(x):
    """Of small x the logarithm of what 1 + x was rounded to, times by how much that was wrong."""
    x = to_result(x)
    u = x + 1.0
    near = onnx.Less(onnx.Abs(x), 0.5)
    exact = onnx.Equal(u, 1.0)
    corrected = onnx.Log(u) * (x / onnx.Where(exact, 1.0, u - 1.0))
    return onnx.Where(near, onnx.Where(exact, x, corrected), onnx.Log(u))


def onnx_expm1(x):
    """tanh(x / 2) (e^x + 1), which is right for small x."""
    x = to_result(x)
    return onnx.Tanh(x * 0.5) * (onnx.Exp(x) + 1.0)


def onnx_square(x):
    return x * x


def onnx_rsqrt(x):
    return onnx.Reciprocal(onnx.Sqrt(to_result(x)))


def onnx_trunc(x):
    return onnx.Where(onnx.Less(x, 0), onnx.Ceil(x), onnx.Floor(x)) if _is_float(x) else onnx.Identity(x)


def onnx_frac(x):
    return x - onnx_trunc(x)


def onnx_angle(x):
    x = to_result(x)
    return onnx.Where(onnx.IsNaN(x), x, onnx.Where(onnx.Less(x, 0), constant(math.pi, x.dtype), 0.0))


def onnx_cast(x, dtype):
    return cast(x, dtype)


def onnx_isnan(x):
    return onnx.IsNaN(x) if _is_float(x) else filled(False, "bool", sizes(x))


def _is_infinite(x):
    return onnx.Equal(onnx.Abs(x), constant(math.inf, x.dtype))


def onnx_isinf(x):
    return _is_infinite(x) if _is_float(x) else filled(False, "bool", sizes(x))


def onnx_isfinite(x):
    return onnx.Less(onnx.Abs(x), constant(math.inf, x.dtype)) if _is_float(x) else filled(True, "bool", sizes(x))


# Activations -------------------------------------------------------------------------------------------------------------


def onnx_relu6(x):
    return onnx.Clip(x, min=0, max=6)


def onnx_leaky_relu(x, negative_slope):
    return onnx.LeakyRelu(x, alpha=negative_slope)


def onnx_elu(x, alpha):
    return onnx.Elu(x, alpha=alpha)


def onnx_selu(x, scale, alpha):
    return onnx.Selu(x, alpha=alpha, gamma=scale)


def onnx_celu(x, alpha):
    return onnx.Max(x, 0.0) + onnx.Min((onnx.Exp(x / alpha) - 1.0) * alpha, 0.0)


def onnx_gelu(x, approximate):
    if approximate:
        return x * 0.5 * (onnx.Tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0)
    return x * 0.5 * (onnx.Erf(x * math.sqrt(0.5)) + 1.0)


def onnx_silu(x):
    return x * onnx.Sigmoid(x)


def onnx_mish(x):
    return x * onnx.Tanh(onnx.Softplus(x))


def onnx_softplus(x, beta, threshold):
    scaled = x * beta
    return onnx.Where(onnx.Greater(scaled, threshold), x, onnx.Softplus(scaled) / beta)


def onnx_logsigmoid(x):
    return -onnx.Softplus(-x)


def onnx_tanhshrink(x):
    return x - onnx.Tanh(x)


def onnx_stanh(x, scale_a, scale_b):
    return onnx.Tanh(x * scale_a) * scale_b


def onnx_hardsigmoid(x, slope, offset):
    return onnx.HardSigmoid(x, alpha=slope, beta=offset)


def onnx_hardswish(x):
    return onnx.Where(onnx.LessOrEqual(x, -3.0), 0.0, x * onnx.Clip(x + 3.0, min=0, max=6) / 6.0)


def onnx_hardtanh(x, min, max):
    return onnx.Clip(x, min=min, max=max)


def onnx_hardshrink(x, threshold):
    return onnx.Where(onnx.LessOrEqual(onnx.Abs(x), threshold), 0.0, x)


def onnx_softshrink(x, threshold):
    return onnx.Where(onnx.LessOrEqual(onnx.Abs(x), threshold), 0.0, x - onnx.Sign(x) * threshold)


def onnx_thresholded_relu(x, threshold):
    return onnx.Where(onnx.LessOrEqual(x, threshold), 0.0, x)


# Arithmetic --------------------------------------------------------------------------------------------------------------

onnx_add = _promoting("Add", "Or")
onnx_divide = _promoting("Div")
onnx_maximum = _promoting("Max", "Or")
onnx_minimum = _promoting("Min", "And")
onnx_multiply = _promoting("Mul", "And")
onnx_pow = _promoting("Pow")
onnx_subtract = _promoting("Sub")


def _signs_differ(x, y):
    return onnx.Xor(onnx.Less(x, 0), onnx.Less(y, 0))


def onnx_floor_divide(x, y):
    x, y = to_result(x, y)
    if _is_float(x):
        return onnx.Floor(onnx.Div(x, y))
    quotient = onnx.Div(x, y)
    if x.dtype == "uint8":
        return quotient
    inexact = onnx.Not(onnx.Equal(quotient * y, x))
    return quotient - onnx.Cast(onnx.And(inexact, _signs_differ(x, y)), to=x.dtype)


def onnx_remainder(x, y):
    x, y = to_result(x, y)
    if not _is_float(x):
        return onnx.Mod(x, y)
    rest = onnx.Mod(x, y, fmod=1)
    return onnx.Where(onnx.And(onnx.Not(onnx.Equal(rest, 0.0)), _signs_differ(rest, y)), rest + y, rest)


def _but_not_nan(operator):
    def rule(x, y):
        x, y = to_result(x, y)
        both = getattr(onnx, operator)(x, y)
        if not _is_float(x):
            return both
        return onnx.Where(onnx.IsNaN(x), y, onnx.Where(onnx.IsNaN(y), x, both))

    return rule


onnx_fmax = _but_not_nan("Max")
onnx_fmin = _but_not_nan("Min")


def onnx_atan2(x, y):
    """The angle of the point (y, x)."""
    x, y = to_result(x, y)
    pi, half, zero = constant(math.pi, x.dtype), constant(math.pi / 2, x.dtype), constant(0.0, x.dtype)
    upper = onnx.Not(onnx.Less(x, 0.0))
    on_axis = onnx.Where(onnx.Greater(x, 0.0), half, onnx.Where(onnx.Less(x, 0.0), -half, zero))
    turned = onnx.Where(onnx.Less(y, 0.0), onnx.Where(upper, pi, -pi), zero)
    at_zero = onnx.Equal(y, 0.0)
    return onnx.Where(at_zero, on_axis, onnx.Atan(x / onnx.Where(at_zero, 1.0, y)) + turned)


def onnx_lerp(x, y, weight):
    x, y, weight = to_result(x, y, weight)
    return x + weight * (y - x)


def onnx_scale(x, scale, bias, bias_after_scale):
    if not _is_float(x) and not (float(scale).is_integer() and float(bias).is_integer()):
        refuse(f"{x.dtype} scaled by fractions", "cast x to float32 before")
    return x * scale + bias if bias_after_scale else (x + bias) * scale


def onnx_clip(x, min, max):
    x = to_result(x)
    if not _is_float(x):
        low, high = lowest(x.dtype), highest(x.dtype)
        min, max = (None if v is None else int(sorted((low, v, high))[1]) for v in (min, max))
    return onnx.Clip(x, min=min, max=max) if (min, max) != (None, None) else onnx.Identity(x)


# Comparison and logic ----------------------------------------------------------------------------------------------------

onnx_equal = _comparing("Equal")
onnx_greater_than = _comparing("Greater", of_bool=False)
onnx_greater_equal = _comparing("GreaterOrEqual", of_bool=False)
onnx_less_than = _comparing("Less", of_bool=False)
onnx_less_equal = _comparing("LessOrEqual", of_bool=False)


def onnx_not_equal(x, y):
    return onnx.Not(onnx_equal(x, y))


def onnx_equal_all(x, y):
    if x.rank != y.rank or any(a >= 0 and b >= 0 and a != b for a, b in zip(x.shape, y.shape, strict=True)):
        return constant(False, "bool")
    if any(a < 0 or b < 0 for a, b in zip(x.shape, y.shape, strict=True)) and x.shape != y.shape:
        refuse("equal_all of tensors whose sizes may differ", "compare with equal, and shapes before")
    differ = onnx.Cast(onnx_not_equal(x, y), to="int32")
    return onnx.Equal(onnx.ReduceSum(differ, keepdims=0), 0)


def onnx_isclose(x, y, rtol, atol, equal_nan):
    x, y = promoted(x, y)
    if not _is_float(x):
        x, y = cast(x, "float64"), cast(y, "float64")
    near = onnx.LessOrEqual(onnx.Abs(x - y), onnx.Abs(y) * rtol + atol)
    close = onnx.Or(onnx.Equal(x, y), onnx.And(near, onnx.Less(onnx.Abs(y), constant(math.inf, y.dtype))))
    return onnx.Or(close, onnx.And(onnx.IsNaN(x), onnx.IsNaN(y))) if equal_nan else close


def _logical(operator):
    return renaming(operator, lambda x, y: getattr(onnx, operator)(cast(x, "bool"), cast(y, "bool")))


onnx_logical_and = _logical("And")
onnx_logical_or = _logical("Or")
onnx_logical_xor = _logical("Xor")


def onnx_logical_not(x):
    return onnx.Not(cast(x, "bool"))


onnx_bitwise_and = _promoting("BitwiseAnd", "And")
onnx_bitwise_or = _promoting("BitwiseOr", "Or")
onnx_bitwise_xor = _promoting("BitwiseXor", "Xor")


def _shift(direction):
    def rule(x, y, is_arithmetic):
        if result().dtype != "uint8":
            refuse("shifts of signed integers", "multiply by a power of 2, or floor_divide")
        return onnx.BitShift(*to_result(x, y), direction=direction)

    return rule


onnx_bitwise_left_shift, onnx_bitwise_right_shift = _shift("LEFT"), _shift("RIGHT")


def onnx_bitwise_not(x):
    return onnx.Not(x) if x.dtype == "bool" else onnx.BitwiseNot(x)


def onnx_where(condition, x, y):
    return onnx.Where(cast(condition, "bool"), *to_result(x, y))


# Losses ------------------------------------------------------------------------------------------------------------------


def _bounded_log(x):
    return onnx.Max(onnx.Log(x), -100.0)


def onnx_binary_cross_entropy(x, label):
    x, label = to_result(x, label)
    return -(label * _bounded_log(x) + (1.0 - label) * _bounded_log(1.0 - x))


def onnx_sigmoid_cross_entropy(x, label):
    x, label = to_result(x, label)
    return onnx.Max(x, 0.0) - x * label + onnx_log1p(onnx.Exp(-onnx.Abs(x)))


def onnx_kl_divergence(x, label):
    x, label = to_result(x, label)
    positive = onnx.Greater(label, 0.0)
    return onnx.Where(positive, label * (onnx.Log(onnx.Where(positive, label, 1.0)) - x), 0.0)
