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
    lines += [f"#include {i}" if i.startswith("<") else _quoted_include(i) for i in includes]
    return "\n".join(lines) + "\n\n"


def _quoted_include(text: str) -> str:
    path, _, comment = text.partition("  ")
    return f'#include "{path}"' + (f"  {comment}" if comment else "")


def stems(ops: list[model.Op]) -> list[str]:
    """The schema files of ops, by name."""
    return sorted({op.stem for op in ops})


def umbrella(ops: list[model.Op], family: str, kind: str) -> str:
    """The header of a family, which includes those of its stems: `nn_ops.h`. Sources include what they use."""
    guard = f"PROA_OPS_{family.upper()}_{family.upper()}_{kind.upper()}_H_"
    includes = [f"ops/{family}/{stem}_{kind}.h  // IWYU pragma: export" for stem in stems(ops)]
    return head(ops, includes, guard) + f"#endif  // {guard}\n"


def doors(used: set[str], family: str, index: dict[str, model.Op]) -> list[str]:
    """The headers of the front doors of ops that are not of `family`."""
    return sorted({f"ops/{index[n].family}/{index[n].stem}_ops.h" for n in used if index[n].family != family})


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


def dtype_bits(of: model.Op | model.DeviceKernel) -> str:
    """The bit set of the declared dtypes, as a literal."""
    bits = sum(1 << param_types.DTYPES.index(d) for d in of.dtypes)
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


def quote(text: str) -> str:
    """A string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def texts(space: str, items: dict[str, str]) -> str:
    """A source that holds nothing but texts: `extern const char <name>[]` of namespace `space`.

    What is said about ops, and where, stands apart from what they do: a word of documentation
    compiles one of these files, which includes nothing.
    """
    rows = [f"extern const char {name}[] = {quote(text)};" for name, text in items.items()]
    lines = ["// Generated from the schemas by ops/schema; do not edit.", f"namespace {space} {{", *rows]
    return "\n".join([*lines, f"}}  // namespace {space}\n"])


def declared_texts(space: str, names: list[str]) -> str:
    """The declarations of what `texts` defines."""
    rows = [f"extern const char {name}[];" for name in names]
    return "\n".join([f"namespace {space} {{", *rows, f"}}  // namespace {space}"])
