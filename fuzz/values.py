"""Arguments as data: what a case is made of, as text that Python runs and as a form that can be changed.

A value is a `TensorValue`, an `ArrayValue`, an `Again` (a tensor of the same case once more), `Code` (text that is kept
as it is), a list, a tuple, a slice, or a plain number, bool, text or None. `text` writes one, `parse` reads what `text`
writes.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from typing import Any

LAYOUTS = (
    "plain",
    "transposed",
    "strided",
    "reversed",
    "expanded",
    "overlapping",
    "offset",
    "channels_last",
    "uninitialised",
    "row_sparse",
)
DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "bool",
    "uint8",
    "int8",
    "int16",
    "complex64",
    "complex128",
)
FLOATING = ("float32", "float64", "float16", "bfloat16")


@dataclasses.dataclass(frozen=True)
class TensorValue:
    """`values`: None for random ones, (low, high) for integers below high, or a name of `replay.tensor`."""

    dtype: str
    dims: tuple[int, ...]
    layout: str = "plain"
    grad: bool = False
    values: Any = None

    def with_(self, **changes) -> "TensorValue":
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass(frozen=True)
class ArrayValue:
    """A NumPy array."""

    dtype: str
    dims: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Again:
    """The tensor number `index` of the case, itself or a view of it."""

    index: int
    view: str = ""


@dataclasses.dataclass(frozen=True)
class Code:
    text: str


def text(v: Any) -> str:
    if isinstance(v, TensorValue):
        more = "" if v.layout == "plain" else f", layout={v.layout!r}"
        more += ", grad=True" if v.grad else ""
        more += "" if v.values is None else f", values={v.values!r}"
        return f"tensor({v.dtype!r}, {list(v.dims)}{more})"
    if isinstance(v, ArrayValue):
        return f"array({v.dtype!r}, {list(v.dims)})"
    if isinstance(v, Again):
        return f"again({v.index}, {v.view!r})" if v.view else f"again({v.index})"
    if isinstance(v, Code):
        return v.text
    if isinstance(v, list):
        return "[" + ", ".join(map(text, v)) + "]"
    if isinstance(v, tuple):
        return "(" + ", ".join(map(text, v)) + ("," if len(v) == 1 else "") + ")"
    if isinstance(v, slice):
        return f"slice({text(v.start)}, {text(v.stop)}, {text(v.step)})"
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    if v is Ellipsis:
        return "..."
    return repr(v)


def parse(node: ast.expr) -> Any:
    """The value of an expression; `Code` where it is none that has a form of its own."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [parse(e) for e in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(parse(e) for e in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = parse(node.operand)
        if isinstance(inner, (int, float, complex)):
            return -inner
    if isinstance(node, ast.Name) and node.id in ("nan", "inf"):
        return float(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        args = [parse(a) for a in node.args]
        kwargs = {k.arg: parse(k.value) for k in node.keywords}
        if node.func.id == "tensor":
            return TensorValue(args[0], tuple(args[1]), **kwargs)
        if node.func.id == "array":
            return ArrayValue(args[0], tuple(args[1]))
        if node.func.id == "again":
            return Again(*args)
        if node.func.id == "slice":
            return slice(*args)
    return Code(ast.unparse(node))


def walk(v: Any):
    """The value and all that are in it."""
    yield v
    if isinstance(v, (list, tuple)):
        for e in v:
            yield from walk(e)


def rebuild(v: Any, change) -> Any:
    """The value with each leaf replaced by `change(leaf)`."""
    if isinstance(v, list):
        return [rebuild(e, change) for e in v]
    if isinstance(v, tuple):
        return tuple(rebuild(e, change) for e in v)
    return change(v)
