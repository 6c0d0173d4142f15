"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

import math

from proa.onnx.rule import axes_of, cast, constant, like, onnx, refuse, size, to_result


def _reduced(operator, x, axis, keepdim):
    """A reduction of ONNX along axes, all of them if there are none."""
    if x.shape == ():
        return onnx.Identity(x)
    return getattr(onnx, operator)(x, axes=list(axis) or None, keepdims=int(keepdim))


def onnx_sum(x, axis, dtype, keepdim):
    return _reduced("ReduceSum", to_result(x), axis, keepdim)


def onnx_nansum(x, axis, dtype, keepdim):
    if x.dtype in ("float16", "bfloat16", "float32", "float64"):
        x = onnx.Where(onnx.IsNaN(x), constant(0.0, x.dtype), x)
    return onnx_sum(x, axis, dtype, keepdim)


def onnx_mean(x, axis, keepdim):
    return _reduced("ReduceMean", to_result(x), axis, keepdim)


def onnx_prod(x, axis, keepdim, dtype):
    return _reduced("ReduceProd", to_result(x), axis, keepdim)


def _extreme(operator):
    def rule(x, axis, keepdim):
        if x.dtype == "bool":
            return cast(_reduced(operator, cast(x, "uint8"), axis, keepdim), "bool")
        return _reduced(operator, x, axis, keepdim)

    return rule


onnx_amax = onnx_max = _extreme("ReduceMax")
onnx_amin = onnx_min = _extreme("ReduceMin")


def _truth(x):
    return like(cast(cast(x, "bool"), "int32"), x)


def onnx_any(x, axis, keepdim):
    return onnx.Greater(_reduced("ReduceSum", _truth(x), axis, keepdim), 0)


def onnx_all(x, axis, keepdim):
    return onnx.Equal(_reduced("ReduceSum", like(1 - _truth(x), x), axis, keepdim), 0)


def onnx_logsumexp(x, axis, keepdim):
    return _reduced("ReduceLogSumExp", to_result(x), axis, keepdim)


def _place(operator):
    def rule(x, axis, keepdim, dtype):
        if x.rank == 0:
            return constant(0, dtype)
        if axis is None:
            y = getattr(onnx, operator)(onnx.Reshape(x, [-1]), axis=0, keepdims=0)
            return cast(onnx.Reshape(y, [1] * x.rank) if keepdim else y, dtype)
        return cast(getattr(onnx, operator)(x, axis=axis % x.rank, keepdims=int(keepdim)), dtype)

    return rule


onnx_argmax = _place("ArgMax")
onnx_argmin = _place("ArgMin")


def onnx_cumsum(x, axis, dtype):
    y = to_result(x)
    if x.rank == 0 and axis is not None:
        return onnx.Identity(y)
    if axis is None:
        y = onnx.Reshape(y, [-1])
    return onnx.CumSum(y, constant(0 if axis is None else axis % x.rank, "int64"))


def _count(x, axes):
    """How many elements there are along axes, in the dtype of x."""
    if all(x.shape[a] >= 0 for a in axes):
        return constant(math.prod(x.shape[a] for a in axes), x.dtype)
    return cast(onnx.ReduceProd(onnx.Concat(*[size(x, a) for a in axes], axis=0), keepdims=0), x.dtype)


def onnx_var(x, axis, unbiased, keepdim):
    x = to_result(x)
    if x.rank == 0:
        refuse("var of a tensor without dims")
    axes = axes_of(axis, x)
    away = x - onnx.ReduceMean(x, axes=axes, keepdims=1)
    total = onnx.ReduceSum(away * away, axes=axes, keepdims=int(keepdim))
    return total / (_count(x, axes) - 1.0 if unbiased else _count(x, axes))


def onnx_std(x, axis, unbiased, keepdim):
    return onnx.Sqrt(onnx_var(x, axis, unbiased, keepdim))


def onnx_p_norm(x, p, axis, keepdim):
    size_of = like(onnx.Abs(to_result(x)), x)
    if p == math.inf:
        return _reduced("ReduceMax", size_of, axis, keepdim)
    if p == -math.inf:
        return _reduced("ReduceMin", size_of, axis, keepdim)
    if p == 0:
        return _reduced("ReduceSum", like(cast(onnx.Not(onnx.Equal(size_of, 0.0)), size_of.dtype), x), axis, keepdim)
    if p == 1:
        return _reduced("ReduceSum", size_of, axis, keepdim)
    if p == 2:
        return onnx.Sqrt(_reduced("ReduceSum", like(size_of * size_of, x), axis, keepdim))
    return onnx.Pow(_reduced("ReduceSum", like(onnx.Pow(size_of, p), x), axis, keepdim), 1.0 / p)


def onnx_reduce_to(x, shape):
    """Sums of what broadcasting repeats."""
    more = x.rank - len(shape)
    axes = list(range(more)) + [more + i for i, d in enumerate(shape) if d == 1 and x.shape[more + i] != 1]
    y = onnx.ReduceSum(x, axes=axes, keepdims=1) if axes else onnx.Identity(x)
    return onnx.Squeeze(y, axes=list(range(more))) if more else y
