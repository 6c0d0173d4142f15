"""Formulas of the key `flops`: what a call costs, in floating point operations.

Numbers, `+ - * /` (a division by zero gives zero), `a if flag else b` over a bool parameter or a tensor that may be
None, and functions of tensors by name (ops/flops.h):
`numel(x)`, 0 for None; `size(x, i)`, negative `i` from the end; `rows(x)` and `columns(x)`, the last two dims
of a matrix, of a vector both its length.
"""

from __future__ import annotations

import ast

from ops.schema import model

_FUNCTIONS = {"numel": 1, "rows": 1, "columns": 1, "size": 2}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def compile_formula(formula: model.Formula, params: tuple[model.Param, ...], outputs: tuple[model.Output, ...]) -> str:
    """C++ of type double, over `args` and `results` of a boxed call."""
    tensors = {p.name: f"args[{i}]" for i, p in enumerate(params) if p.is_tensor}
    tensors |= {o.name: f"results[{i}]" for i, o in enumerate(outputs) if not o.is_list}
    flags = {p.name: f"std::get<bool>(args[{i}])" for i, p in enumerate(params) if p.type.name == "bool"}
    flags |= {p.name: f"flops::IsGiven(args[{i}])" for i, p in enumerate(params) if p.is_tensor and p.optional}

    def fail(what: str):
        raise model.SchemaError(formula.location, f"flops '{formula.text}': {what}")

    def visit(e: ast.expr) -> str:
        if isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) and not isinstance(e.value, bool):
            return str(float(e.value))
        if isinstance(e, ast.BinOp) and type(e.op) in _OPERATORS:
            return f"({visit(e.left)} {_OPERATORS[type(e.op)]} {visit(e.right)})"
        if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Div):
            return f"flops::Quotient({visit(e.left)}, {visit(e.right)})"
        if isinstance(e, ast.IfExp):
            if not isinstance(e.test, ast.Name) or e.test.id not in flags:
                fail(f"'{ast.unparse(e.test)}' is neither a bool nor an optional tensor parameter")
            return f"({flags[e.test.id]} ? {visit(e.body)} : {visit(e.orelse)})"
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id in _FUNCTIONS:
            return call(e)
        fail(f"cannot say '{ast.unparse(e)}'; see ops/schema/flops.py")

    def call(e: ast.Call) -> str:
        name = e.func.id
        if len(e.args) != _FUNCTIONS[name] or e.keywords:
            fail(f"{name} takes {_FUNCTIONS[name]} arguments")
        if not isinstance(e.args[0], ast.Name) or e.args[0].id not in tensors:
            fail(f"'{ast.unparse(e.args[0])}' is no tensor")
        texts = [tensors[e.args[0].id]]
        if name == "size":
            try:
                texts.append(str(int(ast.literal_eval(e.args[1]))))
            except (TypeError, ValueError):
                fail(f"'{ast.unparse(e.args[1])}' is no dim")
        return f"flops::{name.capitalize()}({', '.join(texts)})"

    return visit(formula.tree)
