"""Rules: what an op is in PaddlePaddle's format. They stand beside the ops, in `ops/<family>/pdmodel.py`.

Most ops need none: where a line of `reference.rules` says that an op of the format is one op here, it is read backwards
(inverse.py). Others are functions `pdmodel_<op>` with the parameters of the op. Tensors are variables (`Value`),
attributes are Python's; they give a value for each output of the op, or None for one that the format cannot give:

    def pdmodel_linear(x, weight, bias):
        found = op("matmul_v2", {"X": x, "Y": weight})
        return op("elementwise_add", {"X": found, "Y": bias}, {"axis": -1})
"""

import functools

from proa import _C
from proa.jit.reference import wire
from proa.jit.reference.graph import NotInReference, Value, current
from proa.jit.reference.wire import CODES, Floats, Long, Longs

__all__ = [
    "CODES", "STEP_SCOPES", "Floats", "Long", "Longs", "Value", "blank", "block", "cast", "constant", "known", "op", "promoted", "refuse", "regions",
    "result", "results", "shape_tensor", "sizes_of", "to_result", "variable", "wanted",
]  # fmt: skip


def refuse(why, instead=None):
    """Ends the rule: the format cannot say this; `instead` is a way out."""
    raise NotInReference(why + (f"; {instead}" if instead else ""))


def result(i=0):
    """Output `i` of the op as inference knows it: a Value without a name."""
    return current().operation.results[i]


def results():
    """All outputs of the op, those of lists in a row."""
    return current().operation.results


def wanted(i):
    """Whether anything uses output `i` of the op."""
    return current().operation.wanted[i]


def regions():
    """The regions of the op, functions `(values of its arguments) -> values it gives`, that add to the graph."""
    return current().operation.regions


def block():
    """A context: operations made meanwhile go to a block of their own, whose number it gives."""
    return current().block()


def variable(like, wish="carried"):
    """A variable of the dtype and shape of `like`, that operations may write."""
    return current().variable(wish, like.dtype, like.shape)


def op(kind, inputs, attributes=None, outputs=("Out",), dtype=None, shape=None, into=None):
    """Adds an operation and returns its outputs: a value, or a list where there are several.

    Args:
        kind (str): its type.
        inputs (dict): a Value or a list by slot; None for one that is left out.
        attributes (dict, optional): by name; an attribute that is None is left out.
        outputs (tuple): slots, each with one output; or pairs of a slot and how many it has.
        dtype (str, optional): of outputs; that of the first input.
        shape (tuple, optional): of outputs.
        into (Value, optional): the variable that the only output is.
    """
    graph = current()
    given = {slot: v if isinstance(v, (list, tuple)) else [v] for slot, v in inputs.items() if v is not None}
    first = next((v for values in given.values() for v in values), None)
    dtype = dtype or (first.dtype if first is not None else result().dtype)
    made, slots = [], {}
    for slot in outputs:
        slot, count = slot if isinstance(slot, tuple) else (slot, 1)
        values = [into or graph.variable(f"{kind}.tmp", dtype, shape) for _ in range(count)]
        slots[slot] = [v.name for v in values]
        made += values
    attributes = {k: v for k, v in (attributes or {}).items() if v is not None}
    graph.op(kind, {slot: [v.name for v in values] for slot, values in given.items()}, slots, attributes)
    return made[0] if len(made) == 1 else made


def constant(values, dtype):
    """A value of these numbers."""
    return current().constant(values, dtype)


def cast(x, dtype):
    """`x` with elements of this dtype."""
    if x is None or x.dtype == dtype:
        return x
    return op("cast", {"X": x}, {"in_dtype": CODES[x.dtype], "out_dtype": CODES[dtype]}, dtype=dtype, shape=x.shape)


def to_result(*xs):
    """Tensors in the dtype of the result: what promotion does. One alone is given as it is."""
    found = [cast(x, result().dtype) for x in xs]
    return found[0] if len(found) == 1 else found


def promoted(*xs):
    """Tensors in the dtype that arithmetic with them has."""
    dtype = functools.reduce(_promote, [x.dtype for x in xs])
    return [cast(x, dtype) for x in xs]


@functools.cache
def _promote(a, b):
    """As the op `add` promotes."""
    return a if a == b else (_C.ops.full([0], 0, a) + _C.ops.full([0], 0, b)).dtype.name


def known(value, what):
    """A number or list of the program, which the format wants as an attribute.

    Raises:
        NotInReference: it is known only when the program runs.
    """
    if isinstance(value, Value) or (isinstance(value, list) and any(isinstance(v, Value) for v in value)):
        refuse(f"{what} is known only when the program runs; the format wants the number")
    return value


def shape_tensor(shape):
    """Sizes that a value holds, as the int32 or int64 that ops take."""
    return shape if shape.dtype in ("int32", "int64") else cast(shape, "int64")


def sizes_of(shape, *sources):
    """Sizes of which more than one is open (negative), as a vector of int64, found in the shapes of `sources`."""
    parts = []
    for d in shape:
        if d >= 0:
            parts.append(constant([d], "int64"))
            continue
        at = next(((x, x.shape.index(d)) for x in sources if x.shape is not None and d in x.shape), None)
        if at is None:
            refuse("more than one size is open", "give sizes in input_spec")
        x, axis = at
        whole = op("shape", {"Input": x}, dtype="int32", shape=(x.rank,))
        part = {"axes": [0], "starts": [axis], "ends": [axis + 1], "decrease_axis": [], "infer_flags": [1]}
        parts.append(cast(op("slice", {"Input": whole}, part, shape=(1,)), "int64"))
    return op("concat", {"X": parts}, {"axis": 0}, dtype="int64", shape=(len(parts),))


def blank(name, kind):
    """The name of a variable that is no tensor: scopes of steps."""
    return current().special(name, kind, persistable=False)


STEP_SCOPES = wire.STEP_SCOPES
