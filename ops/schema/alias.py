"""Names that the reference gives an op (`aliases` of a schema), and the Python functions that are called by them.

An alias says how the reference's op is called and what that is here:

    aliases:
      "matmul_v2(x, y, trans_x=false, trans_y=false)": matmul(x, y, trans_x, trans_y)
      "reshape2(x, tensor=none, shape=none)": "[reshape(x, shape), none]"
      mul:

The value is a formula (formula.py) whose calls are ops by name and parameters of the alias, and the two
functions of `FORMS`; a list gives several results. Without a value the name is one of the op (lists of
`auto_cast`, say) and its arguments are read elsewhere.
"""

from __future__ import annotations

import ast

from ops.schema import commas, cpp, formula, model

# Functions of a formula beside ops, defined in python/proa/framework/reference_ops.py.
FORMS = {
    "align": "y with dims of one behind, so that it meets x from an axis on",
    "axes": "axes of the reference, which are all of them if it says so",
}
_NAMES = {"none": "None", "true": "True", "false": "False"}


def parse(text: str, value, location: model.Location) -> model.Alias:
    """One entry of `aliases`. Raises SchemaError."""
    head, bracket, rest = str(text).strip().partition("(")
    if not head.isidentifier() or bool(bracket) != rest.endswith(")"):
        raise model.SchemaError(location, f"alias {text!r} is neither a name nor `name(x, attribute=default)`")
    params = []
    for part in commas.split(rest[:-1]):
        name, equals, default = (p.strip() for p in part.partition("="))
        if not name.isidentifier() or name in [n for n, _ in params]:
            raise model.SchemaError(location, f"alias {head}: parameter {part!r}")
        if params and params[-1][1] is not None and not equals:
            raise model.SchemaError(location, f"alias {head}: a required parameter follows one with a default")
        params.append((name, default if equals else None))
    if bool(bracket) != (value is not None):
        raise model.SchemaError(location, f"alias {head}: a call needs its parameters and what it is here, or neither")
    return model.Alias(head, tuple(params), formula.parse(value, location) if value is not None else None, location)


def check(op: model.Op, alias: model.Alias, index: dict[str, model.Op]) -> None:
    """Raises SchemaError for a formula that calls or names what is not there."""
    if alias.formula is None:
        return
    known = {n for n, _ in alias.params} | set(_NAMES)
    for node in ast.walk(alias.formula.tree):
        if isinstance(node, ast.Call):
            other = index.get(node.func.id)
            if other is None and node.func.id not in FORMS:
                raise model.SchemaError(alias.location, f"alias {alias.name}: there is no op {node.func.id!r}")
            if other is not None:
                _check_call(alias, node, other)
        elif isinstance(node, ast.Name) and node.id not in known | set(index) | set(FORMS):
            raise model.SchemaError(alias.location, f"alias {alias.name}: unknown name {node.id!r}")


def _check_call(alias: model.Alias, node: ast.Call, op: model.Op) -> None:
    names = [p.name for p in op.params]
    wrong = [k.arg for k in node.keywords if k.arg not in names[len(node.args) :]]
    if len(node.args) > len(names) or wrong:
        raise model.SchemaError(alias.location, f"alias {alias.name}: {ast.unparse(node)} does not fit {op.signature}")


def emit(ops: list[model.Op]) -> str:
    """The Python module of all aliases."""
    entries = sorted(((a, op) for op in ops for a in op.aliases), key=lambda pair: pair[0].name)
    out = [
        '"""Ops as the reference calls them.\n\nGenerated from `aliases` of the schemas by ops/schema; do not edit.\n"""\n',
        "from proa._C import ops as _ops\nfrom proa.framework.reference_ops import align as _align",
        "from proa.framework.reference_ops import axes as _axes\n",
        "# From each of the reference's names to the op.",
        "NAMES = {",
        *(f'    "{a.name}": "{op.name}",' for a, op in entries),
        "}\n",
    ]
    out += [_function(a) for a, _ in entries if a.formula is not None]
    return "\n".join(out)


def emit_table(ops: list[model.Op]) -> str:
    """The C++ table of all names (ops/alias.h)."""
    rows = sorted((a.name, op.name) for op in ops for a in op.aliases if a.name != op.name)
    out = ["// Generated from `aliases` of the schemas by ops/schema; do not edit.", '#include "ops/alias.h"\n']
    out += [f"namespace {cpp.NAMESPACE} {{\n", "extern const OpAlias kAliases[] = {"]
    out += [f'    {{"{name}", "{op}"}},' for name, op in rows]
    out += ["};", f"extern const int kNumAliases = {len(rows)};\n", f"}}  // namespace {cpp.NAMESPACE}\n"]
    return "\n".join(out)


def _function(alias: model.Alias) -> str:
    params = ", ".join(n if d is None else f"{n}={_python_default(d)}" for n, d in alias.params)
    tree = alias.formula.tree
    results = tree.elts if isinstance(tree, ast.List) else [tree]
    text = ", ".join(ast.unparse(_Python().visit(r)) for r in results)
    return f"\ndef {alias.name}({params}):\n    return {text}\n"


def _python_default(text: str) -> str:
    return _NAMES.get(text, text)


class _Python(ast.NodeTransformer):
    """A formula as Python says it."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id
        path = f"_{name}" if name in FORMS else f"_ops.{name}"
        return ast.Call(ast.parse(path, mode="eval").body, node.args, node.keywords)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if any(isinstance(c, ast.Name) and c.id == "None" for c in node.comparators):
            node.ops = [ast.Is() if isinstance(o, ast.Eq) else ast.IsNot() for o in node.ops]
        return node

    def visit_Name(self, node):
        return ast.Name(_NAMES.get(node.id, node.id))
