"""What these ops are in ONNX. The language: python/proa/onnx/rule.py.

Those of known arguments are constants of the program by the time that rules run.
"""

from proa.onnx.rule import Value, cast, constant, filled, ints, late, onnx, refuse, result, sizes


def onnx_full(shape: late, value: late, dtype, place):
    kind = result().dtype
    if isinstance(value, Value):
        return onnx.Expand(cast(value, kind), ints(shape))
    return filled(value, kind, ints(shape))


def onnx_full_like(x, value: late, dtype):
    kind = result().dtype
    if isinstance(value, Value):
        return onnx.Expand(cast(value, kind), sizes(x))
    return filled(value, kind, sizes(x))


def _number(v, dtype):
    return onnx.Reshape(cast(v, dtype), constant([], "int64")) if isinstance(v, Value) else constant(v, dtype)


def onnx_arange(start: late, end: late, step: late, dtype, place):
    kind = result().dtype
    start, end = (0, start) if end is None else (start, end)
    return onnx.Range(_number(start, kind), _number(end, kind), _number(step, kind))


def onnx_uniform(shape: late, dtype, min, max, seed, place):
    like = filled(0.0, result().dtype, ints(shape))
    return onnx.RandomUniformLike(
        like, dtype=like.dtype, low=float(min), high=float(max), seed=float(seed) if seed else None
    )


def onnx_gaussian(shape: late, dtype, mean, std, seed, place):
    like = filled(0.0, result().dtype, ints(shape))
    return onnx.RandomNormalLike(like, dtype=like.dtype, mean=mean, scale=std, seed=float(seed) if seed else None)


def onnx_linspace(start: late, stop: late, num, dtype, place):
    kind = result().dtype
    if not kind.startswith("float"):
        refuse(f"linspace of {kind} between numbers that are open")
    start, stop = _number(start, kind), _number(stop, kind)
    return start + constant([i / max(num - 1, 1) for i in range(num)], kind) * (stop - start)
