"""Rules: what an op is in ONNX. They stand beside the ops, in `ops/<family>/onnx.py`.

A rule is a function `onnx_<op>` with the parameters of the op. Tensors are values of the graph (`Value`), attributes
are Python's; it gives a value for each output of the op, or None for one that ONNX cannot give:

    def onnx_softmax(x, axis):
        return onnx.Softmax(x, axis=axis)

`onnx.<Operator>(...)` adds a node, in the version of the operator set that is written: what is an attribute in one
and an input in another is given by name. A parameter annotated `late` may be a value where the program knows the
number only when it runs; all others are known. Composites have no rules, since programs hold their parts.
"""

import functools
import math
from typing import Annotated, Any

from proa import _C
from proa.onnx import opset
from proa.onnx.graph import Body, Element, Value, current

__all__ = [
    "Value", "axes_of", "block", "cast", "constant", "filled", "highest", "ints", "known_size", "late", "like", "lowest", "onnx", "opset_version", "promoted",
    "refuse", "regions", "renaming", "reshaped", "result", "results", "size", "sizes", "to_result", "wanted",
]  # fmt: skip

late = Annotated[Any, "late"]  # of a parameter


class _Operators:
    """`onnx.Relu(x)`: a node of the graph that is built."""

    def __getattr__(self, name):
        def node(*inputs, **named):
            return current().node(name, *inputs, **named)

        return node


onnx = _Operators()


def refuse(why, instead=None):
    """Ends the rule: ONNX cannot say this; `instead` is a way out."""
    raise opset.NotInOnnx(why + (f"; {instead}" if instead else ""))


def result(i=0):
    """Output `i` of the op as inference knows it: a Value without a name."""
    return current().operation.results[i]


def results():
    """All outputs of the op, those of lists in a row."""
    return current().operation.results


def regions():
    """The regions of the op, functions `(values of its arguments) -> values it gives`, that add to the graph."""
    return current().operation.regions


def block(function, arguments=()):
    """A graph as an attribute: what `function` makes of values like `arguments` (values, or pairs of dtype and shape)."""
    graph = current()
    described = [(a.dtype, None) if isinstance(a, Value) else a for a in arguments]
    values = [Value(graph.free_name("argument"), *of) for of in described]
    with graph.block() as nodes:
        made = [onnx.Identity(v) for v in function(*values)]
    return Body(graph.free_name("block"), values, made, nodes)


def opset_version():
    """The version of the operator set that is written, for operators whose meaning changed with it."""
    return current().version


def wanted(i):
    """Whether anything uses output `i` of the op."""
    return current().operation.wanted[i]


def constant(values, dtype):
    """A value of these numbers."""
    return current().constant(values, dtype)


def cast(x, dtype):
    """`x` with elements of this dtype."""
    if x.dtype == dtype:
        return x
    out = onnx.Cast(x, to=dtype)
    out.shape = x.shape
    return out


def like(y, x):
    """`y`, of which the rule knows that it has the shape of `x`."""
    y.shape = x.shape
    return y


def to_result(*xs):
    """Tensors in the dtype of the result: what promotion does. One alone is given as it is."""
    found = [None if x is None else cast(x, result().dtype) for x in xs]
    return found[0] if len(found) == 1 else found


def promoted(*xs):
    """Tensors in the dtype that arithmetic with them has."""
    dtype = functools.reduce(_promote, [x.dtype for x in xs])
    return [cast(x, dtype) for x in xs]


@functools.cache
def _promote(a, b):
    """As the op `add` promotes."""
    return a if a == b else (_C.ops.full([0], 0, a) + _C.ops.full([0], 0, b)).dtype.name


def ints(values):
    """Integers of an attribute, or a value of such, as a vector of int64."""
    if isinstance(values, Value):
        values = cast(values, "int64")
        return onnx.Reshape(values, [1]) if values.shape == () else values
    return constant([int(v) for v in values], "int64")


def sizes(x):
    """The shape of `x` as a value: a constant where it is known."""
    if x.shape is not None and all(d >= 0 for d in x.shape):
        return constant(list(x.shape), "int64")
    return onnx.Shape(x)


def size(x, axis):
    """The size of one dim, a vector of one element."""
    if x.shape[axis] >= 0:
        return constant([x.shape[axis]], "int64")
    return onnx.Gather(onnx.Shape(x), [axis % x.rank], axis=0)


def known_size(x, axis, what):
    """The size of one dim as a number.

    Raises:
        NotInOnnx: it is open; `what` needs it.
    """
    if x.shape[axis] < 0:
        refuse(f"{what} needs the size of dim {axis % x.rank}, which is open", "give it in input_spec")
    return x.shape[axis]


def reshaped(x, shape):
    """`x` in a shape of Python's, with at most one open size (negative), or of a value."""
    if isinstance(shape, Value):
        return onnx.Reshape(x, shape)
    open_ones = [i for i, d in enumerate(shape) if d < 0]
    if len(open_ones) > 1:
        same = x.shape is not None and {d: i for i, d in enumerate(x.shape)}
        parts = [onnx.Gather(onnx.Shape(x), [same[d]], axis=0) if same and d in same else [d] for d in shape]
        if sum(1 for p in parts if isinstance(p, list) and p[0] < 0) > 1:
            refuse("reshape has more than one size that is open", "give sizes in input_spec")
        parts = [constant([max(p[0], -1)], "int64") if isinstance(p, list) else p for p in parts]
        out = onnx.Reshape(x, onnx.Concat(*parts, axis=0))
    else:
        whole = [max(d, -1) for d in shape]
        out = onnx.Reshape(x, whole, allowzero=1 if 0 in whole and -1 not in whole else None)
    out.shape = tuple(shape)
    return out


def filled(value, dtype, shape):
    """A tensor of one number; `shape` as `ints` gives it or a list."""
    return onnx.ConstantOfShape(shape if isinstance(shape, Value) else ints(shape), value=Element(value, dtype))


def axes_of(axis, x):
    """Axes as numbers from 0 on; none stands for all."""
    return sorted({a % max(x.rank, 1) for a in axis}) if len(axis) else list(range(x.rank))


def lowest(dtype):
    """The lowest number of a dtype."""
    if dtype.startswith(("float", "bfloat")):
        return -math.inf
    return 0 if dtype in ("bool", "uint8") else -(2 ** (int(dtype[3:]) - 1))


def highest(dtype):
    """The highest number of a dtype."""
    if dtype.startswith(("float", "bfloat")):
        return math.inf
    return {"bool": 1, "uint8": 255}.get(dtype) or 2 ** (int(dtype[3:]) - 1) - 1


def renaming(operator, function):
    """`function`, a rule that adds this operator alone: for import it says that the operator is the op."""
    function.operator = operator
    return function
