"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import cast, known, op, promoted, refuse, result, to_result


def _binary(kind, x, y):
    return op(kind, {"X": x, "Y": y}, {"axis": -1})


def pdmodel_divide(x, y):
    return _binary("elementwise_div", *to_result(x, y))


def pdmodel_scale(x, scale, bias, bias_after_scale):
    numbers = {"scale": float(known(scale, "scale")), "bias": float(known(bias, "bias"))}
    return op("scale", {"X": to_result(x)}, {**numbers, "bias_after_scale": bias_after_scale})


def pdmodel_neg(x):
    return op("scale", {"X": x}, {"scale": -1.0, "bias": 0.0, "bias_after_scale": True})


def pdmodel_clip(x, min, max):
    least, most = _limits(x.dtype)
    low = least if min is None else float(known(min, "min"))
    high = most if max is None else float(known(max, "max"))
    return op("clip", {"X": to_result(x)}, {"min": low, "max": high})


def _limits(dtype):
    """What limits nothing; attributes are float32."""
    return (-3.4028234663852886e38, 3.4028234663852886e38) if "float" in dtype else (-(2.0**31), 2.0**31 - 128)


def pdmodel_cast(x, dtype):
    return cast(x, dtype) if x.dtype != dtype else op("assign", {"X": x})


def pdmodel_assign(x):
    return op("assign", {"X": x})


def pdmodel_round(x):
    return op("round", {"X": x})


def pdmodel_relu6(x):
    return op("relu6", {"X": x}, {"threshold": 6.0})


def pdmodel_hardtanh(x, min, max):
    return op("brelu", {"X": x}, {"t_min": min, "t_max": max})


def pdmodel_hardswish(x):
    return op("hard_swish", {"X": x}, {"threshold": 6.0, "scale": 6.0, "offset": 3.0})


def pdmodel_hardsigmoid(x, slope, offset):
    return op("hard_sigmoid", {"X": x}, {"slope": slope, "offset": offset})


def pdmodel_swish(x):
    return op("swish", {"X": x}, {"beta": 1.0})


def pdmodel_softshrink(x, threshold):
    return op("softshrink", {"X": x}, {"lambda": threshold})


def pdmodel_thresholded_relu(x, threshold):
    return op("thresholded_relu", {"X": x}, {"threshold": threshold})


def pdmodel_where(condition, x, y):
    x, y = promoted(x, y)
    return op("where", {"Condition": _whole(condition), "X": _whole(x), "Y": _whole(y)}, dtype=x.dtype)


def _whole(x):
    """`x` in the shape of the result, which the op does not make by itself."""
    wanted = result().shape
    if x.shape == wanted:
        return x
    if x.dtype == "bool":  # that some releases do not expand
        return cast(_whole(cast(x, "int32")), "bool")
    missing = [*(1,) * (len(wanted) - x.rank), *x.shape]
    if any(w < 0 <= m for w, m in zip(wanted, missing, strict=True)):
        refuse("where broadcasts to a size that is open", "give it in input_spec")
    if all(w < 0 or m == w for w, m in zip(wanted, missing, strict=True)) and x.rank == len(wanted):
        return x  # open sizes that meet are one size, as in the reference
    sizes = [-1 if w < 0 else w for w in wanted]
    return op("expand_v2", {"X": x}, {"shape": sizes}, shape=wanted)


def pdmodel_isclose(x, y, rtol, atol, equal_nan):
    given = {"rtol": repr(rtol), "atol": repr(atol), "equal_nan": equal_nan}
    return op("isclose", dict(zip(("Input", "Other"), promoted(x, y), strict=True)), given, dtype="bool")


def pdmodel_allclose(x, y, rtol, atol, equal_nan):
    given = {"rtol": repr(rtol), "atol": repr(atol), "equal_nan": equal_nan}
    return op("allclose", dict(zip(("Input", "Other"), promoted(x, y), strict=True)), given, dtype="bool")


def pdmodel_log1p(x):
    return op("log1p", {"X": x})


def pdmodel_masked_fill(x, mask, value):
    return pdmodel_where(mask, cast(value, x.dtype), x)


def pdmodel_sgn(x):
    return op("sign", {"X": x}) if "complex" not in x.dtype else refuse("sgn of complex numbers")


def pdmodel_sigmoid_cross_entropy(x, label):
    return op("sigmoid_cross_entropy_with_logits", {"X": x, "Label": cast(label, x.dtype)})


def pdmodel_kl_divergence(x, label):
    given = {"X": x, "Target": cast(label, x.dtype)}
    return op("kldiv_loss", given, {"reduction": "none"}, outputs=("Loss",))


def pdmodel_logit(x):
    return op("logit", {"X": to_result(x)}, {"eps": 0.0})
