"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

from proa import _C
from proa.onnx.import_rule import flat, is_float, numbers, opset, scalar, to

ops = _C.ops


def _reduced(function):
    """A reduction along axes, all of them if there are none."""

    def rule(x, axes: numbers = None, *, keepdims=1, noop_with_empty_axes=0):
        chosen = [] if axes is None else flat(axes)
        if not chosen and noop_with_empty_axes:
            return x
        return to(function(x, chosen, bool(keepdims)), x.dtype)

    return rule


def _sum(x, axis, keepdim):
    return ops.sum(x, axis, None, keepdim)


def _extreme(function):
    def rule(x, axis, keepdim):
        if x.dtype.name == "bool":
            return to(function(to(x, "int32"), axis, keepdim), "bool")
        return function(x, axis, keepdim)

    return rule


from_ReduceSum = _reduced(_sum)
from_ReduceMean = _reduced(lambda x, axis, keepdim: ops.mean(x if is_float(x) else to(x, "float64"), axis, keepdim))
from_ReduceProd = _reduced(lambda x, axis, keepdim: ops.prod(x, axis, keepdim, None))
from_ReduceMax = _reduced(_extreme(ops.amax))
from_ReduceMin = _reduced(_extreme(ops.amin))
from_ReduceL1 = _reduced(lambda x, axis, keepdim: _sum(ops.abs(x), axis, keepdim))
from_ReduceL2 = _reduced(
    lambda x, axis, keepdim: ops.sqrt(_sum(ops.square(x if is_float(x) else to(x, "float64")), axis, keepdim))
)
from_ReduceSumSquare = _reduced(lambda x, axis, keepdim: _sum(x * x, axis, keepdim))
from_ReduceLogSum = _reduced(lambda x, axis, keepdim: ops.log(_sum(x, axis, keepdim)))
from_ReduceLogSumExp = _reduced(lambda x, axis, keepdim: ops.logsumexp(x, axis, keepdim))


def _place(function):
    def rule(x, *, axis=0, keepdims=1, select_last_index=0):
        if not select_last_index:
            return function(x, axis, bool(keepdims), "int64")
        found = function(ops.flip(x, [axis]), axis, bool(keepdims), "int64")
        return x.shape[axis] - 1 - found

    return rule


from_ArgMax = _place(ops.argmax)
from_ArgMin = _place(ops.argmin)


def from_CumSum(x, axis: numbers, *, exclusive=0, reverse=0):
    a = int(scalar(axis))
    y = ops.flip(x, [a]) if reverse else x
    made = to(ops.cumsum(y, a), x.dtype)
    made = made - y if exclusive else made
    return ops.flip(made, [a]) if reverse else made


def from_Hardmax(x, *, axis=None):
    if opset() >= 13:
        a = -1 if axis is None else axis
        best = ops.argmax(x, a, True, "int64")
        places = ops.arange(0, x.shape[a], 1, "int64")
        a = a % len(x.shape)
        places = ops.reshape(places, [-1 if d == a else 1 for d in range(len(x.shape))])
        return to(ops.equal(places, best), x.dtype)
    a = (1 if axis is None else axis) % len(x.shape)
    flat_x = ops.flatten(ops.unsqueeze(x, [0]), 0, a) if a else ops.unsqueeze(x, [0])
    flat_x = ops.flatten(flat_x, 1, -1)
    best = ops.argmax(flat_x, 1, True, "int64")
    places = ops.unsqueeze(ops.arange(0, flat_x.shape[1], 1, "int64"), [0])
    return ops.reshape(to(ops.equal(places, best), x.dtype), list(x.shape))
