"""Text of C++ that several generators write: file heads, parameter lists, rule calls."""

from __future__ import annotations

import ast

from ops.schema import model, param_types

NAMESPACE = "proa::inline v0::ops"


def head(ops: list[model.Op], includes: list[str], guard: str | None = None) -> str:
    """The beginning of a generated file."""
    sources = sorted({o.location.file for o in ops})
    lines = [f"// Generated from {', '.join(sources)} by ops/schema; do not edit."]
    if guard:
        lines += [f"#ifndef {guard}", f"#define {guard}"]
    lines.append("")
    lines += [f"#include {i}" if i.startswith("<") else f'#include "{i}"' for i in includes]
    return "\n".join(lines) + "\n\n"


def params(op: model.Op, defaults: bool = False) -> str:
    """'const Tensor& x, double eps = 1e-5'."""
    from ops.schema import formula

    out = []
    for p in op.params:
        text = f"{p.cpp} {p.name}"
        if defaults and p.default is not None:
            text += f" = {formula.cpp_default(p)}"
        out.append(text)
    return ", ".join(out)


def type_list(op: model.Op) -> str:
    return ", ".join(p.cpp for p in op.params)


def args(op: model.Op) -> str:
    return ", ".join(p.name for p in op.params)


def kernel_params(op: model.Op, names: bool = True) -> str:
    """Parameters of the kernel function."""
    out = ["const KernelContext& ctx" if names else "const KernelContext&"]
    for p in op.params:
        out.append(f"{p.cpp} {p.name}" if names else p.cpp)
    for o in op.outputs:
        kind = "std::vector<Tensor>*" if o.is_list else "Tensor*"
        out.append(f"{kind} {o.name}" if names else kind)
    return ", ".join(out)


def dtype_bits(op: model.Op) -> str:
    """The bit set of the declared dtypes, as a literal."""
    bits = sum(1 << param_types.DTYPES.index(d) for d in op.dtypes)
    return f"0x{bits:03x}u"


def rule(op: model.Op, f: model.Formula, kind: str, aliases: dict[str, str] | None = None) -> str:
    """C++ of a rule; `kind` is 'shape', 'dtype' or 'order'."""
    return _Rule(op, f, kind, aliases or {}).text(f.tree, top=True)


class _Rule:
    def __init__(self, op: model.Op, f: model.Formula, kind: str, aliases: dict[str, str]):
        self._op, self._formula, self._kind, self._aliases = op, f, kind, aliases

    def _fail(self, message: str):
        raise model.SchemaError(self._formula.location, f"{self._op.name}: rule {self._formula.text!r}: {message}")

    def text(self, node: ast.expr, top: bool = False) -> str:
        if isinstance(node, ast.Call):
            rest = "".join(", " + self.text(a) for a in node.args)
            if node.keywords:
                self._fail("rules take positional arguments")
            return f"infer::{node.func.id}(kOp{rest})"
        if isinstance(node, ast.Name):
            return self._name(node.id, top)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return repr(node.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return '"' + node.value + '"'
        if isinstance(node, ast.List):
            body = ", ".join(self.text(e) for e in node.elts)
            return f"Shape{{{body}}}" if self._kind == "shape" and top else f"std::vector<int64_t>{{{body}}}"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return "-" + self.text(node.operand)
        if isinstance(node, ast.IfExp):
            return f"({self.text(node.test)} ? {self.text(node.body, top)} : {self.text(node.orelse, top)})"
        self._fail("only rules, parameters, numbers and lists")

    def _name(self, name: str, top: bool) -> str:
        p = self._op.by_name.get(name)
        if p is not None:
            text = self._aliases.get(name, name)
            if top and p.is_tensor and self._kind == "order":
                return f"OrderOf({text})"
            if top and p.is_tensor:
                return f"{text}.shape()" if self._kind == "shape" else f"{text}.dtype()"
            if top and p.type.name in ("IntArray",) and self._kind == "shape":
                return f"Shape({text}.values())"
            return text
        if name in param_types.DTYPE_CPP:
            return f"DType::{param_types.DTYPE_CPP[name][0]}"
        if name in ("true", "false"):
            return name
        if name == "none":
            return "std::nullopt"
        self._fail(f"unknown name {name!r}")


def called_rules(f: model.Formula | None) -> set[str]:
    if f is None:
        return set()
    return {n.func.id for n in ast.walk(f.tree) if isinstance(n, ast.Call)}


def promoted(op: model.Op) -> set[str]:
    """Names of the tensor parameters that are cast to the compute dtype."""
    if op.compute is None:
        return set()
    return {
        n.id
        for n in ast.walk(op.compute.tree)
        if isinstance(n, ast.Name) and n.id in op.by_name and op.by_name[n.id].type.is_tensor
    }


def comment(text: str) -> str:
    return "\n".join(("// " + line).rstrip() for line in text.strip().splitlines())
