"""Quantized operators of ONNX in float ops. The language: python/proa/onnx/import_rule.py."""

from proa import _C
from proa.onnx.import_rule import dtype_named, refuse, to

ops = _C.ops
_BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-32768, 32767), "int32": (0, 65535)}


def _like_dim(v, x, axis, block=0):
    """A scale or a zero point as it lies over `x`: one number, one for each element of a dim, or for blocks of it."""
    if v is None or not v.shape:
        return v
    axis = axis % max(len(x.shape), 1)
    if len(v.shape) == 1:
        if len(x.shape) == 0 or v.shape[0] == 1:
            return ops.reshape(v, [1] * len(x.shape))
        return ops.reshape(v, [-1 if d == axis else 1 for d in range(len(x.shape))])
    if not block:
        refuse("a scale of several dims needs block_size")
    return ops.slice(ops.repeat_interleave(v, [block], axis), [axis], [0], [x.shape[axis]])


def _bounds(dtype):
    if dtype not in _BOUNDS:
        refuse(f"numbers are not quantized to {dtype} here")
    return _BOUNDS[dtype]


def _quantized(x, scale, zero, dtype):
    """Of numbers of float64: rounded to even, moved, cut at the bounds."""
    low, high = _bounds(dtype)
    moved = ops.round(x / to(scale, "float64")) + (0.0 if zero is None else to(zero, "float64"))
    return to(ops.clip(moved, float(low), float(high)), dtype)


def from_QuantizeLinear(x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0, saturate=1, precision=0):
    dtype = zero.dtype.name if zero is not None else dtype_named(output_dtype) if output_dtype else "uint8"
    scale, zero = (_like_dim(v, x, axis, block_size) for v in (scale, zero))
    low, high = _bounds(dtype)
    # Numbers of 8 bits have no gradient: what lies before is not trained.
    y = x / to(scale, x.dtype)
    moved = ops.round(to(y, "float32")) + (0.0 if zero is None else to(zero, "float32"))
    return to(ops.clip(moved, float(low), float(high)), dtype)


def from_DequantizeLinear(x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0):
    scale, zero = (_like_dim(v, x, axis, block_size) for v in (scale, zero))
    away = to(x, "float32") if zero is None else to(to(x, "int32") - to(zero, "int32"), "float32")
    return to(to(away, scale.dtype) * scale, dtype_named(output_dtype) if output_dtype else scale.dtype)


def from_DynamicQuantizeLinear(x):
    zero = ops.full([], 0.0, x.dtype)
    low, high = ops.minimum(ops.amin(x), zero), ops.maximum(ops.amax(x), zero)
    scale = (high - low) / 255.0
    safe = ops.where(ops.equal(scale, zero), ops.full([], 1.0, x.dtype), scale)
    moved = ops.clip(ops.round(0.0 - low / safe), 0.0, 255.0)
    y = ops.clip(ops.round(x / safe) + moved, 0.0, 255.0)
    return to(y, "uint8"), scale, to(moved, "uint8")


def _rows(v, x):
    """A zero point or scale for each row of the last two dims."""
    return v if v is None or not v.shape or v.shape[0] == 1 else ops.unsqueeze(v, [-1]) if len(v.shape) == 1 else v


def _whole(x, zero):
    x = to(x, "float64")
    return x if zero is None else x - to(zero, "float64")


def from_MatMulInteger(a, b, a_zero=None, b_zero=None):
    return to(ops.matmul(_whole(a, _rows(a_zero, a)), _whole(b, b_zero)), "int32")


def from_QLinearMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    product = ops.matmul(_whole(a, _rows(a_zero, a)), _whole(b, b_zero))
    product = product * to(_rows(a_scale, a), "float64") * to(b_scale, "float64")
    return _quantized(product, y_scale, y_zero, y_zero.dtype.name)


def from_QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None, *, auto_pad="NOTSET", dilations=None,
                     group=1, kernel_shape=None, pads=None, strides=None):  # fmt: skip
    from proa._generated.onnx_import.nn import from_Conv

    def of_weight(v):
        return ops.reshape(v, [-1, *[1] * (len(w.shape) - 1)]) if v.shape and v.shape[0] > 1 else ops.reshape(v, [])

    scale = to(ops.reshape(x_scale, []), "float64") * to(w_scale, "float64")
    made = from_Conv(_whole(x, ops.reshape(x_zero, [])), _whole(w, of_weight(w_zero)), None if b is None else to(b, "float64"),
                     auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads,
                     strides=strides)  # fmt: skip
    scale = ops.reshape(scale, [1, -1, *[1] * (len(x.shape) - 2)]) if scale.shape else scale
    return _quantized(made * scale, y_scale, y_zero, y_zero.dtype.name)
