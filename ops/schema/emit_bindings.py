"""Generates `<family>_bindings.cc`: the Python functions, methods and operators of a family.

One C function an op, called by vectorcall: arguments are put into the order of the
parameters without a tuple, converted one by one (python/core/convert.h), and handed to
the front door. The same function is a function of `_C.ops` and a method of Tensor. A
parameter that is renamed (`python: {params: ...}`) answers to both of its names. The texts
that help() shows are in `<family>_binding_docs.cc`.
"""

from __future__ import annotations

from ops.schema import cpp, formula, model, python_signature

BINARY_OPERATORS = {
    "+": "kAdd",
    "-": "kSubtract",
    "*": "kMultiply",
    "/": "kDivide",
    "//": "kFloorDivide",
    "%": "kRemainder",
    "**": "kPower",
    "@": "kMatmul",
    "&": "kAnd",
    "|": "kOr",
    "^": "kXor",
    "<<": "kLeftShift",
    ">>": "kRightShift",
    "<": "kLess",
    "<=": "kLessEqual",
    "==": "kEqual",
    "!=": "kNotEqual",
    ">": "kGreater",
    ">=": "kGreaterEqual",
}
UNARY_OPERATORS = {"-": "kNegative", "~": "kInvert", "abs": "kAbsolute"}


_DOCS = "proa::inline v0::python::doc"


def emit(ops: list[model.Op], family: str) -> dict[str, str]:
    """The texts of the sources by file name."""
    docs: dict[str, str] = {}
    calls, signatures, functions, methods, unary, binary = [], [], [], [], [], []
    for op in ops:
        for inplace in (False, True) if op.inplace else (False,):
            name = op.name + ("_" if inplace else "")
            calls.append(_call(op, inplace))
            signatures.append(f"&signature_{name}")
            functions.append(_row(op, name, inplace, False, docs))
            method = python_signature.method_name(op, inplace)
            if method is not None:
                methods.append(_row(op, method, inplace, True, docs))
        if op.python and op.python.operator:
            row, is_binary = _operator(op)
            (binary if is_binary else unary).append(row)
    out = [
        cpp.head(
            ops,
            [
                f"ops/{family}/{family}_ops.h",
                "<optional>",
                "<string_view>",
                "<vector>",
                "python/core/arguments.h",
                "python/core/bindings.h",
                "python/core/convert.h",
                "python/core/error.h",
                "python/core/gil.h",
                "python/core/late_call.h",
                "python/core/tensor_object.h",
                "python/core/tensor_operators.h",
            ],
        ),
        cpp.declared_texts(_DOCS, list(docs)),
        "namespace proa::inline v0::python {",
        "namespace {\n",
    ]
    out += calls
    tables = [
        ("Signature* const", "kSignatures", "signatures", signatures),
        ("Binding", "kFunctions", "functions", functions),
        ("Binding", "kMethods", "methods", methods),
        ("UnaryBinding", "kUnary", "unary", unary),
        ("BinaryBinding", "kBinary", "binary", binary),
    ]
    members = [f'.family = "{family}"']
    for kind, name, member, rows in tables:
        if rows:
            const = "" if kind.endswith("const") else "const "
            out.append(f"{const}{kind} {name}[] = {{")
            out += [f"    {row}," for row in rows]
            out.append("};")
            members.append(f".{member} = {name}")
    out += [
        f"const BindingRegistration registration({{{', '.join(members)}}});",
        "",
        "}  // namespace",
        "}  // namespace proa::inline v0::python\n",
    ]
    return {f"{family}_bindings.cc": "\n".join(out), f"{family}_binding_docs.cc": cpp.texts(_DOCS, docs)}


# Calls -------------------------------------------------------------------------


def _call(op: model.Op, inplace: bool) -> str:
    name = op.name + ("_" if inplace else "")
    function, signature = f"Call_{name}", f"signature_{name}"
    names = [python_signature.name_of(op, p) for p in op.params]
    n = len(op.params)
    lines = [f"// {name}"]
    bits = promotes(op, inplace)
    more = f", {bits:#x}" if bits else ""
    if n:
        lines.append(f"constexpr const char* {signature}_names[] = {{{_quoted(names)}}};")
        of_schema = [p.name for p in op.params]
        if of_schema != names:
            lines.append(f"constexpr const char* {signature}_also[] = {{{_quoted(of_schema)}}};")
            more = f", {bits:#x}, {signature}_also"
    lines += [
        f'constinit Signature {signature}("{name}", {f"{signature}_names" if n else "nullptr"}, {n}, '
        f"{python_signature.num_required(op)}{more});",
        f"PyObject* {function}(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {{",
        "  return Guarded([&]() -> PyObject* {",
        f"    [[maybe_unused]] PyObject* a[{max(n, 1)}];",
        f"    Bind({signature}, self, args, nargs, kwnames, a);",
    ]
    late = op.kernel is not None and any(p.type.name in MAY_BE_LATE for p in op.params)
    if late:
        lines.append(f"    return OrLate({signature}, a, [&]() -> PyObject* {{")
    lines += ["    " + _convert(p, i, signature) for i, p in enumerate(op.params)]
    passed = ", ".join(_passed(p) for p in op.params)
    call = f"ops::{name}({passed})"
    work = _work(op)
    if work:
        call = f"WithoutGil({work}, [&] {{ return {call}; }})"
    if op.outputs:
        lines.append(f"    return Wrap({call});")
    else:
        lines += [f"    {call};", "    return Py_NewRef(Py_None);"]
    if late:
        lines.append("    });")
    lines += ["  });", "}\n"]
    return "\n".join(lines)


# Attributes that may be tensors of a program (python/core/late_call.h).
MAY_BE_LATE = ("bool", "int", "float", "int[]", "float[]", "Scalar")


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{n}"' for n in names)


def promotes(op: model.Op, inplace: bool) -> int:
    """The bit set of the parameters for which a number may stand: operands that are promoted beside others."""
    if op.compute is not None and any(r.startswith("promote") for r in cpp.called_rules(op.compute)):
        names = cpp.promoted(op)
    elif op.composite is not None and sum(p.is_tensor for p in op.params) > 1:
        names = {p.name for p in op.params if p.is_tensor}
    else:
        names = set()
    if len(names) < 2:
        return 0
    bits = sum(1 << i for i, p in enumerate(op.params) if p.is_tensor and p.name in names)
    return bits & ~1 if inplace else bits


_CONVERSIONS = {
    "bool": ("bool", "ToBool"),
    "int": ("int64_t", "ToInt"),
    "float": ("double", "ToFloat"),
    "str": ("std::string_view", "ToString"),
    "int[]": ("DimVector", "ToIntList"),
    "float[]": ("std::vector<double>", "ToFloatList"),
    "IntArray": ("IntArray", "ToIntArray"),
    "Scalar": ("Scalar", "ToScalar"),
    "DType": ("DType", "ToDType"),
    "Place": ("Place", "ToPlace"),
    "Tensor[]": ("std::vector<Tensor>", "ToTensorList"),
}


def _convert(p: model.Param, i: int, signature: str) -> str:
    """The statement that converts argument i. None asks for the default where there is one."""
    if p.is_tensor:
        kind = "OptionalTensorArg" if p.optional or p.default == "none" else "TensorArg"
        return f"const {kind} {p.name}_({signature}, {i}, a);"
    kind, function = _CONVERSIONS[p.type.name]
    value = f"{function}({signature}, {i}, a[{i}])"
    default = _default(p, kind)
    if not p.optional:
        if default is None:
            return f"const {kind} {p.name}_ = {value};"
        return f"const {kind} {p.name}_ = Given(a[{i}]) ? {value} : {default};"
    some = f"std::optional<{kind}>"
    text = f"Given(a[{i}]) ? {some}({value}) : std::nullopt"
    if default is not None:
        text = f"a[{i}] == nullptr ? {some}({default}) : {text}"
    return f"const {some} {p.name}_ = {text};"


def _default(p: model.Param, kind: str) -> str | None:
    if p.default is None:
        return None
    if p.default == "none":
        return None if p.optional else f"{kind}()"
    if p.type.name == "int[]":
        return f"DimVector{{{p.default.strip()[1:-1]}}}"
    text = formula.cpp_default(p)
    return f"{kind}()" if text == "{}" else text if p.type.name != "str" else f"std::string_view({text})"


def _passed(p: model.Param) -> str:
    if p.is_tensor:
        return f"{p.name}_.get()"
    if p.type.name == "int[]":
        return f"std::span<const int64_t>({p.name}_.data(), {p.name}_.size())"
    return f"{p.name}_"


def _work(op: model.Op) -> str:
    """C++ that estimates the work of a call in elements; empty for views, which have none."""
    if op.is_view:
        return ""
    parts = []
    for p in op.params:
        if p.type.is_tensor or (p.type.name == "IntArray" and not p.optional):
            parts.append(f"Elements({p.name}_{'.get()' if p.is_tensor else ''})")
    return " + ".join(parts)


# Tables ------------------------------------------------------------------------


def _row(op: model.Op, name: str, inplace: bool, method: bool, docs: dict[str, str]) -> str:
    """A row of a table of functions or methods; its text goes to `docs`."""
    function = f"Call_{op.name}{'_' if inplace else ''}"
    signature = python_signature.text_signature(op, method)
    doc = op.doc if not inplace else op.doc.rstrip() + f"\nIn place: {op.inplace} holds the result."
    text = f"{'method' if method else 'function'}_{name}"
    docs[text] = f"{name}({signature})\n--\n\n{doc}"
    return f'{{"{name}", &{function}, doc::{text}}}'


def _operator(op: model.Op) -> tuple[str, bool]:
    """A row of the table of operators, and whether it takes two operands."""
    symbol = op.python.operator
    required = [p for p in op.params if p.default is None and not p.optional]
    table = {1: UNARY_OPERATORS, 2: BINARY_OPERATORS}.get(len(required), {})
    if symbol not in table or not all(p.is_tensor for p in required) or len(op.outputs) != 1:
        raise model.SchemaError(
            op.location,
            f"{op.name}: operator {symbol!r} does not fit an op of {len(required)} required parameters; "
            f"binary are {' '.join(BINARY_OPERATORS)}, unary {' '.join(UNARY_OPERATORS)}",
        )
    kind = "BinaryOperator" if len(required) == 2 else "UnaryOperator"
    names = [p.name for p in required]
    params = ", ".join(f"const Tensor& {n}" for n in names)
    lambda_ = f"+[]({params}) {{ return ops::{op.name}({', '.join(names)}); }}"
    return f"{{{kind}::{table[symbol]}, {lambda_}}}", len(required) == 2
