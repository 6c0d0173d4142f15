"""Operators on numbers that are known while a model is recorded: what exporters compute shapes with.

Open sizes stay numbers, so that `Shape`, `Gather`, `Concat`, `Reshape` are what they were: a reshape to sizes.
"""

import numpy as np

from proa import _C
from proa.onnx.import_rule import Known

# More elements than this are no shapes.
_MOST = 256
_EXACT = ("int64", "int32")


def _axes(node, inputs, at=1):
    given = inputs[at].array if len(inputs) > at and inputs[at] is not None else node.attributes.get("axes")
    return None if given is None else [int(a) for a in np.asarray(given).reshape(-1)]


def _gather(node, inputs):
    x, index = inputs
    return np.take(x.array, index.array.astype(np.int64), axis=node.attributes.get("axis", 0))


def _concat(node, inputs):
    return np.concatenate([x.array for x in inputs], axis=node.attributes.get("axis", 1))


def _unsqueeze(node, inputs):
    axes = _axes(node, inputs)
    return np.expand_dims(inputs[0].array, tuple(axes))


def _squeeze(node, inputs):
    axes = _axes(node, inputs)
    return np.squeeze(inputs[0].array, None if axes is None else tuple(axes))


def _slice(node, inputs):
    def part(name, at):
        given = inputs[at].array if len(inputs) > at and inputs[at] is not None else node.attributes.get(name)
        return None if given is None else [int(n) for n in np.asarray(given).reshape(-1)]

    x = inputs[0].array
    starts, ends, axes, steps = (part(n, i) for i, n in enumerate(("starts", "ends", "axes", "steps"), 1))
    chosen = [slice(None)] * x.ndim
    axes = list(range(len(starts))) if axes is None else axes
    for i, a in enumerate(axes):
        step = steps[i] if steps else 1
        end = None if step < 0 and ends[i] < -x.shape[a] else ends[i]
        chosen[a] = slice(starts[i], end, step)
    return x[tuple(chosen)]


def _reshape(node, inputs):
    sizes = [int(n) for n in inputs[1].array.reshape(-1)]
    if not node.attributes.get("allowzero", 0):
        sizes = [inputs[0].array.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return inputs[0].array.reshape(sizes)


def _divide(node, inputs):
    a, b = (x.array for x in inputs)
    if b.dtype == object or (b <= 0).any() or (a.dtype != object and (a < 0).any()):
        raise _C.located(ValueError("sizes are divided by positive numbers"))
    return a // b


def _modulo(node, inputs):
    a, b = (x.array for x in inputs)
    if object in (a.dtype, b.dtype) or (b <= 0).any() or (a < 0).any():
        raise _C.located(ValueError("rests of known numbers that are not negative"))
    return a % b


def _where(node, inputs):
    condition, a, b = (x.array for x in inputs)
    if condition.dtype == object:
        raise _C.located(ValueError("the condition must be known"))
    return np.where(condition, a, b)


def _equal(node, inputs):
    a, b = (x.array for x in inputs)
    # An open size is no -1, which is what exporters ask for.
    pairs = np.broadcast(a, b)
    made = []
    for left, right in pairs:
        if any(hasattr(n, "tensor") and not (isinstance(m, (int, np.integer)) and m < 0)
               for n, m in ((left, right), (right, left))):  # fmt: skip
            raise _C.located(ValueError("open sizes are compared with negative numbers only"))
        made.append(not (hasattr(left, "tensor") or hasattr(right, "tensor")) and left == right)
    return np.array(made, bool).reshape(pairs.shape)


def _constant_of_shape(node, inputs):
    shape = [int(n) for n in inputs[0].array.reshape(-1)]
    value = node.attributes.get("value")
    if value is None or np.prod(shape, dtype=object) > _MOST:
        raise _C.located(ValueError("no integers, or many"))
    return np.full(shape, value.array.reshape(-1)[0])


def _range(node, inputs):
    start, limit, step = (int(x.array.reshape(-1)[0]) for x in inputs)
    if len(range(start, limit, step)) > _MOST:
        raise _C.located(ValueError("many"))
    return np.arange(start, limit, step, dtype=inputs[0].dtype)


def _cast(node, inputs):
    from proa.onnx.model_file import dtype_of

    if dtype_of(node.attributes["to"]) not in _EXACT:
        raise _C.located(ValueError("no integers"))
    return inputs[0].array


def _arithmetic(function):
    return lambda node, inputs: function(inputs[0].array, inputs[1].array)


_OPERATORS = {
    "Add": _arithmetic(np.add),
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Div": _divide,
    "Equal": _equal,
    "Gather": _gather,
    "Identity": lambda node, inputs: inputs[0].array,
    "Mod": _modulo,
    "Mul": _arithmetic(np.multiply),
    "Range": _range,
    "ReduceProd": lambda node, inputs: (
        np.prod(inputs[0].array, keepdims=bool(node.attributes.get("keepdims", 1)))
        if len(inputs) == 1 and "axes" not in node.attributes
        else _not_here()
    ),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _arithmetic(np.subtract),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}


def _not_here():
    raise _C.located(ValueError("left to the rule"))


def computed(node, inputs):
    """The value of a node whose inputs are all known integers, or None where the node is left to its rule."""
    function = _OPERATORS.get(node.op_type) if node.domain == "" else None
    if function is None or not inputs or not all(x is None or isinstance(x, Known) for x in inputs):
        return None
    if inputs[0] is None or any(
        x is not None and (x.array.size > _MOST or x.dtype not in (*_EXACT, "bool")) for x in inputs
    ):
        return None
    dtype = "bool" if node.op_type == "Equal" else inputs[-1 if node.op_type == "Where" else 0].dtype
    if node.op_type == "ConstantOfShape":
        value = node.attributes.get("value")
        if value is None or value.dtype not in _EXACT:
            return None
        dtype = value.dtype
    try:
        made = np.asarray(function(node, inputs))
        if node.op_type == "Cast":
            from proa.onnx.model_file import dtype_of

            dtype = dtype_of(node.attributes["to"])
        if made.dtype != object:
            made = made.astype(dtype)
        return Known(made, dtype)
    except (ValueError, IndexError, TypeError, KeyError, RuntimeError, OverflowError):
        return None
