"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

import math

from proa.jit.reference.rule import CODES, Long, cast, constant, op, refuse, result, to_result


def _reduced(kind, x, axis, keepdim):
    axes = [a % max(x.rank, 1) for a in axis]
    return op(kind, {"X": x}, {"dim": axes or [0] * min(x.rank, 1), "keep_dim": keepdim, "reduce_all": not axes})


def pdmodel_sum(x, axis, dtype, keepdim):
    return _reduced("reduce_sum", to_result(x), axis, keepdim)


def pdmodel_nansum(x, axis, dtype, keepdim):
    if x.dtype in ("float16", "bfloat16", "float32", "float64"):
        nan = op("isnan_v2", {"X": x}, shape=x.shape, dtype="bool")
        zeros = op("fill_zeros_like", {"X": x}, shape=x.shape, dtype=x.dtype)
        x = op("where", {"Condition": nan, "X": zeros, "Y": x}, shape=x.shape, dtype=x.dtype)
    return pdmodel_sum(x, axis, dtype, keepdim)


def pdmodel_prod(x, axis, keepdim, dtype):
    return _reduced("reduce_prod", to_result(x), axis, keepdim)


def pdmodel_mean(x, axis, keepdim):
    return _reduced("reduce_mean", to_result(x), axis, keepdim)


def _spread(x, axis, unbiased, keepdim):
    axes = [a % x.rank for a in axis] or list(range(x.rank))
    middle = _reduced("reduce_mean", x, axes, True)
    away = op("elementwise_sub", {"X": x, "Y": middle}, {"axis": -1}, shape=x.shape)
    squares = op("square", {"X": away}, shape=x.shape)
    if not unbiased:
        return _reduced("reduce_mean", squares, axes, keepdim)
    count = math.prod(x.shape[a] for a in axes)
    if any(x.shape[a] < 0 for a in axes) or count <= 1:
        # The number of elements is known when the program runs; one element alone has no variance: 0 / 0.
        ones = op("fill_any_like", {"X": x}, {"value": 1.0, "dtype": CODES[x.dtype]}, shape=x.shape)
        others = op("scale", {"X": _reduced("reduce_sum", ones, axes, keepdim)}, {"scale": 1.0, "bias": -1.0})
        total = _reduced("reduce_sum", squares, axes, keepdim)
        return op("elementwise_div", {"X": total, "Y": others}, {"axis": -1})
    found = _reduced("reduce_mean", squares, axes, keepdim)
    return op("scale", {"X": found}, {"scale": count / (count - 1), "bias": 0.0, "bias_after_scale": True})


def pdmodel_var(x, axis, unbiased, keepdim):
    return _spread(x, axis, unbiased, keepdim)


def pdmodel_std(x, axis, unbiased, keepdim):
    return op("sqrt", {"X": _spread(x, axis, unbiased, keepdim)})


def _arg(kind, x, axis, keepdim, dtype):
    flags = {"axis": Long(axis or 0), "flatten": axis is None, "keepdims": keepdim, "dtype": CODES[dtype]}
    return op(kind, {"X": x}, flags, dtype=dtype)


def pdmodel_argmax(x, axis, keepdim, dtype):
    return _arg("arg_max", x, axis, keepdim, dtype)


def pdmodel_argmin(x, axis, keepdim, dtype):
    return _arg("arg_min", x, axis, keepdim, dtype)


def pdmodel_cumsum(x, axis, dtype):
    flags = {"axis": axis or 0, "flatten": axis is None, "exclusive": False, "reverse": False}
    return op("cumsum", {"X": to_result(x)}, flags)


def pdmodel_cumprod(x, dim, dtype):
    if dim is None:
        refuse("cumprod of all dims as one", "flatten before")
    return op("cumprod", {"X": to_result(x)}, {"dim": dim})


def pdmodel_p_norm(x, p, axis, keepdim):
    every = not axis
    if len(axis) > 1:
        if p != 2.0:
            refuse(f"the norm {p} over several dims")
        return _reduced("frobenius_norm", x, axis, keepdim)
    flags = {"porder": float(p), "axis": -1 if every else axis[0], "epsilon": 1e-12, "keepdim": keepdim}
    return op("p_norm", {"X": x}, {**flags, "asvector": every})


def pdmodel_count_nonzero(x, axis, keepdim):
    there = cast(op("not_equal", {"X": x, "Y": constant([0], x.dtype)}, {"axis": -1}, dtype="bool"), result().dtype)
    return _reduced("reduce_sum", there, axis, keepdim)


def pdmodel_channel_mean(x, data_format):
    last = data_format.endswith("C") and len(data_format) > 2
    return _reduced("reduce_mean", x, [i for i in range(x.rank) if i != (x.rank - 1 if last else 1)], False)
