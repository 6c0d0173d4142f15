"""Mutants of gradient formulas: each formula with one small mistake made in it.

The mistakes are made in the typed syntax tree and are chosen by type, never by the
names of ops: a call becomes one of its arguments (drops a term, a factor, conj, sum_to),
or a call of a sibling (an op beside it in its schema file with the same signature), or
loses an optional argument; two arguments of one type change places; a literal, an
attribute or a tensor becomes another one; the gradient is negated, doubled or missing.
What no longer type-checks against the schemas is no mutant. A call that several formulas
of an op share for its outputs (`f(...)[0]`, `f(...)[1]`) is made once, and is mistaken once:
in the first of them.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator

from ops.schema import formula as formula_lib
from ops.schema import model

_OPERATOR_SIBLINGS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
}
_COMPARISON_SIBLINGS = {
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_SWAPPED_OPERATORS = {ast.Sub: "subtract", ast.Div: "divide"}  # where the order matters
_ROUNDS_ONLY = "grad_dtype"
_OTHER_TENSORS = 1  # that the formula does not name, tried in the place of one it names


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One mutated formula.

    Attributes:
      formula: None where the mistake is to give no gradient.
      kind: which mistake it is, in a word or two.
      swapped: the op whose operands changed places, '' if none did; no mistake if it commutes.
    """

    formula: model.Formula | None
    kind: str
    swapped: str = ""

    @property
    def text(self) -> str:
        return self.formula.text if self.formula else "no gradient"


def mutants_of(
    original: model.Formula, op: model.Op, index: dict[str, model.Op], compiler: formula_lib.Compiler
) -> list[Mutant]:
    """The mutants of a formula of `op`, most of which type-check.

    Args:
      original: the formula.
      op: the op it belongs to.
      index: all ops by name.
      compiler: the one that has compiled `original`; knows the types.
    """
    out = [Mutant(None, "no gradient")]
    seen = {ast.unparse(original.tree)}
    maker = _Maker(op, index, compiler)
    for node, new, kind, swapped in maker.all(original.tree, _calls_before(original, op)):
        tree = _with(original.tree, node, new)
        text = ast.unparse(tree)
        if text not in seen:
            seen.add(text)
            out.append(Mutant(model.Formula(text, tree, original.location), kind, swapped))
    return out


_Change = tuple[ast.expr, ast.expr, str, str]  # node, what takes its place, kind, swapped op


class _Maker:
    """Makes the changes of one formula."""

    def __init__(self, op: model.Op, index: dict[str, model.Op], compiler: formula_lib.Compiler):
        self._op, self._index, self._compiler = op, index, compiler
        self._by_class: dict[type, Callable] = {
            ast.Name: self._name,
            ast.Constant: self._constant,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.IfExp: self._choice,
            ast.Compare: self._comparison,
            ast.BoolOp: self._bool,
            ast.Call: self._call,
            ast.List: self._list,
            ast.Subscript: self._output,
        }

    def all(self, tree: ast.expr, done: set[str]) -> Iterator[_Change]:
        """The changes of `tree`, but for calls of several outputs whose texts are in `done`."""
        self._named = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        if self._type(tree) == "Tensor":
            yield tree, ast.UnaryOp(ast.USub(), tree), "sign", ""
            yield tree, ast.BinOp(tree, ast.Mult(), ast.Constant(2)), "scaled", ""
        for node in _sites(tree, done):
            for change in self._by_class[type(node)](node):
                yield (node, *change)

    def _type(self, node: ast.expr) -> str:
        return self._compiler.types.get(node, "")

    # Leaves ----------------------------------------------------------------------

    def _name(self, node: ast.Name):
        kind = self._type(node)
        if node.id in ("true", "false"):
            yield ast.Name("false" if node.id == "true" else "true"), "literal", ""
        if kind == "Tensor" and (node.id == "g" or node.id.startswith("g_")):
            yield ast.UnaryOp(ast.USub(), node), "sign", ""
            yield ast.BinOp(node, ast.Mult(), ast.Constant(2)), "scaled", ""
        if kind in ("Tensor", "Tensor[]"):
            for other in self._others(node.id, kind):
                yield ast.Name(other), "other tensor", ""
        elif node.id in self._op.by_name:
            yield from self._attribute(node, kind)

    def _others(self, name: str, kind: str) -> list[str]:
        """Names of the type: those in the formula, and the next ones that are not."""
        names = [n for n, e in self._compiler.names.items() if e.type == kind]
        at = names.index(name)
        ring = names[at + 1 :] + names[:at]
        unnamed = [n for n in ring if n not in self._named]
        return [n for n in ring if n in self._named] + unnamed[:_OTHER_TENSORS]

    def _attribute(self, node: ast.Name, kind: str):
        for p in self._op.params:
            if p.name != node.id and self._compiler.names[p.name].type == kind:
                yield ast.Name(p.name), "other attribute", ""
        if kind == "bool":
            yield ast.UnaryOp(ast.Not(), node), "attribute", ""
        if kind == "int":
            yield ast.BinOp(node, ast.Add(), ast.Constant(1)), "attribute", ""
        if kind == "float":
            yield ast.BinOp(node, ast.Mult(), ast.Constant(2)), "attribute", ""

    def _constant(self, node: ast.Constant):
        v = node.value
        if isinstance(v, bool) or not isinstance(v, (int, float)):
            return
        yield ast.Constant(v + 1 if isinstance(v, int) else v * 2 or 1.0), "literal", ""
        if v:
            yield ast.Constant(type(v)(0)), "literal", ""

    def _list(self, node: ast.List):
        if node.elts and self._type(node) != "Tensor[]":
            yield ast.List([], ast.Load()), "empty list", ""

    # Operators -------------------------------------------------------------------

    def _unary(self, node: ast.UnaryOp):
        yield node.operand, "sign" if isinstance(node.op, ast.USub) else "condition", ""

    def _binary(self, node: ast.BinOp):
        for sibling in _OPERATOR_SIBLINGS[type(node.op)]:
            yield ast.BinOp(node.left, sibling(), node.right), "sibling", ""
        for part in (node.left, node.right):
            yield part, "dropped", ""
        if type(node.op) in _SWAPPED_OPERATORS:
            yield ast.BinOp(node.right, node.op, node.left), "swapped", _SWAPPED_OPERATORS[type(node.op)]

    def _choice(self, node: ast.IfExp):
        yield node.body, "condition", ""
        yield node.orelse, "condition", ""
        yield ast.IfExp(node.test, node.orelse, node.body), "condition", ""

    def _comparison(self, node: ast.Compare):
        for sibling in _COMPARISON_SIBLINGS[type(node.ops[0])]:
            yield ast.Compare(node.left, [sibling()], node.comparators), "sibling", ""

    def _bool(self, node: ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values), "condition", ""
        for v in node.values:
            yield v, "condition", ""

    # Calls -----------------------------------------------------------------------

    def _call(self, node: ast.Call):
        if node.func.id in formula_lib.META_FUNCTIONS:
            yield from self._meta(node)
            return
        callee = self._index[node.func.id]
        mine = self._type(node)
        for a in (*node.args, *(k.value for k in node.keywords)):
            if self._type(a) == mine:
                yield a, "dropped", ""
        yield from self._swaps(node)
        for name in self._siblings(callee):
            yield ast.Call(ast.Name(name), node.args, node.keywords), "sibling", ""
        yield from self._omissions(node, callee)

    def _output(self, node: ast.Subscript):
        for k in range(len(self._index[node.value.func.id].outputs)):
            if k != node.slice.value:
                yield ast.Subscript(node.value, ast.Constant(k)), "other output", ""

    def _meta(self, node: ast.Call):
        """`shape(x)` becomes `shape(y)`; what more it is asked stays, for it is asked in the forward call."""
        if node.func.id == _ROUNDS_ONLY:
            return
        target = node.args[0]
        if isinstance(target, ast.Name):
            kind = self._compiler.names[target.id].type
            for other in self._others(target.id, kind):
                yield ast.Call(node.func, [ast.Name(other), *node.args[1:]], []), "other tensor", ""

    def _swaps(self, node: ast.Call):
        places = {}
        for i, a in enumerate(node.args):
            places.setdefault(self._type(a), []).append(i)
        for same in places.values():
            for i, j in zip(same, same[1:]):
                args = list(node.args)
                args[i], args[j] = args[j], args[i]
                only = node.func.id if len(node.args) == 2 else ""
                yield ast.Call(node.func, args, node.keywords), "swapped", only

    def _siblings(self, callee: model.Op) -> list[str]:
        """The ops before and behind it in its schema file that are called alike."""
        like = [
            o.name
            for o in sorted(self._index.values(), key=lambda o: o.location.line)
            if (o.family, o.stem) == (callee.family, callee.stem) and _signature(o) == _signature(callee)
        ]
        at = like.index(callee.name)
        return [n for n in dict.fromkeys((like[at - 1], like[(at + 1) % len(like)])) if n != callee.name]

    def _omissions(self, node: ast.Call, callee: model.Op):
        """Without one of the arguments that may be left out."""
        given = list(zip((p for p in callee.params), node.args))
        for i, (p, a) in enumerate(given):
            if p.default is not None and not _rounds_only(a):
                rest = [ast.keyword(q.name, a) for q, a in given[i + 1 :]]
                yield ast.Call(node.func, node.args[:i], rest + node.keywords), "argument omitted", ""
        for k in node.keywords:
            if callee.by_name[k.arg].default is not None and not _rounds_only(k.value):
                yield ast.Call(node.func, node.args, [q for q in node.keywords if q is not k]), "argument omitted", ""


def _rounds_only(node: ast.expr) -> bool:
    """Whether an argument decides how a gradient is rounded, and nothing else: no mistake shows but in 16 bits."""
    return isinstance(node, ast.Call) and node.func.id == _ROUNDS_ONLY


def _signature(op: model.Op):
    return [(p.type.name, p.optional) for p in op.params], [o.is_list for o in op.outputs]


def _calls_before(formula: model.Formula, op: model.Op) -> set[str]:
    """The calls of which earlier formulas of the op take an output, as text."""
    calls = set()
    for other in (op.grad or {}).values():
        if other is formula:
            break
        if other is not None:
            calls |= {ast.unparse(n.value) for n in ast.walk(other.tree) if isinstance(n, ast.Subscript)}
    return calls


def _sites(tree: ast.expr, done: set[str]) -> Iterator[ast.expr]:
    """The expressions in a formula; of a meta function on a name only the call itself."""
    yield tree
    if isinstance(tree, ast.Call):
        if tree.func.id in formula_lib.META_FUNCTIONS and isinstance(tree.args[0], ast.Name):
            return
        for a in (*tree.args, *(k.value for k in tree.keywords)):
            yield from _sites(a, done)
        return
    if isinstance(tree, ast.Subscript):
        if ast.unparse(tree.value) not in done:
            yield from _sites(tree.value, done)
        return
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr):
            yield from _sites(child, done)


def _with(tree, old: ast.AST, new: ast.AST):
    """A tree with `new` in the place of the node `old`."""
    if tree is old:
        return new
    if isinstance(tree, list):
        return [_with(t, old, new) for t in tree]
    if not isinstance(tree, ast.AST):
        return tree
    return type(tree)(**{name: _with(value, old, new) for name, value in ast.iter_fields(tree)})


class MutantList:
    """Numbers the mutants; a number stands for one in all families."""

    def __init__(self, family: str, index: dict[str, model.Op]):
        self.family = family
        self._next = 1 + 100_000 * sorted({op.family for op in index.values()}).index(family)
        self.entries: list[dict] = []

    def add(self, op: model.Op, p: model.Param, m: Mutant) -> int:
        self.entries.append(
            {
                "id": self._next,
                "family": self.family,
                "op": op.name,
                "input": p.name,
                "kind": m.kind,
                "swapped": m.swapped,
                "original": " ".join(op.grad[p.name].text.split()),
                "mutant": m.text,
                "location": str(op.grad[p.name].location),
            }
        )
        self._next += 1
        return self._next - 1
