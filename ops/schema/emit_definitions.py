"""Generates `<family>_definitions.cc`: the OpDefinition of each op, boxed calls and inference.

What an op says about itself, and where it stands, is in `<family>_docs.cc`.
"""

from __future__ import annotations

from ops.schema import cpp, flops, formula, model

_DOCS = f"{cpp.NAMESPACE}::doc"


def emit(ops: list[model.Op], family: str, index: dict[str, model.Op], has_infer: bool) -> dict[str, str]:
    includes = [
        f"ops/{family}/{family}_ops.h",
        "ops/boxing.h",
        "ops/definition.h",
        "ops/flops.h",
        "ops/infer.h",
        "ops/value.h",
    ]
    if has_infer:
        includes.append(f"ops/{family}/{family}_infer.h")
    docs = {op.name: op.doc for op in ops} | {f"{op.name}_source": str(op.location) for op in ops}
    out = [cpp.head(ops, includes), cpp.declared_texts(_DOCS, list(docs))]
    out += [f"namespace {cpp.NAMESPACE} {{", "namespace {\n"]
    for op in ops:
        out += [_params(op), _call(op, inplace=False)]
        if op.inplace:
            out.append(_call(op, inplace=True))
        if op.kernel:
            out.append(_infer(op))
        if op.flops:
            out.append(_flops(op))
        if op.elements:
            out.append(_elements(op))
        if op.inference:
            out.append(_inference(op, index))
    out.append("}  // namespace\n")
    names = []
    for op in ops:
        out.append(_definition(op, inplace=False))
        names.append(f"&op::{op.cpp_struct}::definition")
        if op.inplace:
            out.append(_definition(op, inplace=True))
            names.append(f"&op::{op.cpp_struct}::inplace_definition")
    out += [
        "namespace {",
        f"constexpr const OpDefinition* kDefinitions[] = {{\n    {', '.join(names)}}};",
        "const OpRegistration registration(kDefinitions);",
        "}  // namespace",
        f"}}  // namespace {cpp.NAMESPACE}\n",
    ]
    return {f"{family}_definitions.cc": "\n".join(out), f"{family}_docs.cc": cpp.texts(_DOCS, docs)}


def _params(op: model.Op) -> str:
    rows = []
    for p in op.params:
        default, text = "nullptr", "nullptr"
        if p.default is not None or p.optional:
            text = cpp.quote(p.default or "none")
            value = formula.cpp_default(p)
            if p.default in (None, "none") and not p.type.name.endswith("[]"):
                default = "+[] { return Value(); }"
            elif value == "{}":
                default = f"+[] {{ return Value({p.type.stored}()); }}"
            elif p.type.name == "str":
                default = f"+[] {{ return Value(std::string({value})); }}"
            elif p.type.name == "float":
                default = f"+[] {{ return Value(static_cast<double>({value})); }}"
            elif p.type.name == "int":
                default = f"+[] {{ return Value(int64_t{{{value}}}); }}"
            elif value == "IntArray()":
                # g++ 12 takes moving an empty one for a read of memory that is not set.
                default = "+[] { return Value(std::in_place_type<IntArray>); }"
            else:
                default = f"+[] {{ return Value({value}); }}"
        rows.append(
            f'    {{"{p.name}", ParamType::{p.type.enum}, {"true" if p.optional else "false"}, {text}, {default}}},'
        )
    lines = []
    if rows:
        lines += [f"const ParamInfo k{op.cpp_struct}Params[] = {{", *rows, "};"]
    index = {p.name: i for i, p in enumerate(op.params)}
    if op.outputs:
        outs = ", ".join(
            f'{{"{o.name}", {"true" if o.is_list else "false"}, {index[o.aliases] if o.aliases else -1}}}'
            for o in op.outputs
        )
        lines.append(f"constexpr OutputInfo k{op.cpp_struct}Outputs[] = {{{outs}}};")
    return "\n".join(lines)


def _unbox(op: model.Op, i: int, p: model.Param) -> str:
    kind = p.type.enum[1:]
    optional = "Optional" if p.optional and not p.is_tensor else ""
    if p.is_tensor:
        return f'Unbox{"OptionalTensor" if p.optional else "Tensor"}(kOp, "{p.name}", args[{i}])'
    return f'Unbox{optional}{kind}(kOp, "{p.name}", args[{i}])'


def _arguments(op: model.Op) -> list[str]:
    return [f"  decltype(auto) {p.name} = {_unbox(op, i, p)};" for i, p in enumerate(op.params)]


def _call(op: model.Op, inplace: bool) -> str:
    n = op.name + ("_" if inplace else "")
    lines = [
        f"void Call{op.cpp_struct}{'Inplace' if inplace else ''}(std::span<const Value> args, "
        "std::span<Value> results) {",
        f'  static constexpr const char* kOp = "{n}";',
        f"  CheckCount(kOp, {len(op.params)}, args, {len(op.outputs)}, results);",
    ]
    lines += _arguments(op)
    call = f"ops::{n}({cpp.args(op)})"
    if not op.outputs:
        lines.append(f"  {call};")
    elif len(op.outputs) == 1:
        lines.append(f"  results[0] = {call};")
    else:
        lines.append(f"  auto out = {call};")
        lines += [f"  results[{i}] = std::get<{i}>(std::move(out));" for i in range(len(op.outputs))]
    lines.append("}")
    return "\n".join(lines)


def _infer(op: model.Op) -> str:
    from ops.schema import emit_ops

    lines = [
        f"void Infer{op.cpp_struct}(std::span<const Value> args, [[maybe_unused]] std::span<std::vector<TensorMeta>> results) {{",
        f'  static constexpr const char* kOp = "{op.name}";',
        f"  CheckCount(kOp, {len(op.params)}, args);",
    ]
    body = emit_ops._inferred(op) + emit_ops._places(op)
    text = "\n".join(body)
    for i, p in enumerate(op.params):
        lines.append(f"  [[maybe_unused]] decltype(auto) {p.name} = {_unbox(op, i, p)};")
    lines.append(text.replace("MergePlace(kOp, ", "InferPlace("))
    for i, o in enumerate(op.outputs):
        lines.append(f"  SetMeta(shape_{o.name}, dtype_{o.name}, run_place, &results[{i}]);")
    lines.append("}")
    return "\n".join(lines)


def _flops(op: model.Op) -> str:
    return "\n".join(
        (
            f"double Flops{op.cpp_struct}([[maybe_unused]] std::span<const Value> args, "
            "[[maybe_unused]] std::span<const Value> results) {",
            f"  return {flops.compile_formula(op.flops, op.params, op.outputs)};",
            "}",
        )
    )


def _elements(op: model.Op) -> str:
    return "\n".join(
        (
            f"Shape Elements{op.cpp_struct}(std::span<const Value> args) {{",
            f'  static constexpr const char* kOp = "{op.name}";',
            f"  CheckCount(kOp, {len(op.params)}, args);",
            *(f"  [[maybe_unused]] decltype(auto) {p.name} = {_unbox(op, i, p)};" for i, p in enumerate(op.params)),
            f"  return {cpp.rule(op, op.elements, 'shape')};",
            "}",
        )
    )


def _inference(op: model.Op, index: dict[str, model.Op]) -> str:
    """The call as it is in a test. Results that mean nothing there stay None."""
    types = {p.name: p.type.name + ("?" if p.optional and not p.is_tensor else "") for p in op.params}
    compiler = formula.Compiler(op, index, {n: formula.Expr(n, t) for n, t in types.items()})
    codes = {}
    for name, f in op.inference.items():
        expr = compiler.compile(f)
        if expr.type != types.get(name, "Tensor").rstrip("?"):
            raise model.SchemaError(f.location, f"{op.name}: `inference` of {name} has type {expr.type}")
        codes[name] = expr.code
    for name in compiler.use.ops:
        if index[name].family != op.family:
            raise model.SchemaError(op.location, f"{op.name}: `inference` calls {name}, which is of another family")
    lines = [
        f"void Inference{op.cpp_struct}(std::span<const Value> args, std::span<Value> results) {{",
        f'  static constexpr const char* kOp = "{op.name}";',
        f"  CheckCount(kOp, {len(op.params)}, args, {len(op.outputs)}, results);",
        *(f"  [[maybe_unused]] decltype(auto) {p.name} = {_unbox(op, i, p)};" for i, p in enumerate(op.params)),
    ]
    if set(codes) <= set(types):
        lines.append(f"  auto out = ops::{op.name}({', '.join(codes.get(p.name, p.name) for p in op.params)});")
        if len(op.outputs) == 1:
            lines.append("  results[0] = std::move(out);")
        else:
            lines += [f"  results[{i}] = std::get<{i}>(std::move(out));" for i in range(len(op.outputs))]
    else:
        lines += [f"  results[{i}] = Tensor({codes[o.name]});" for i, o in enumerate(op.outputs) if o.name in codes]
    return "\n".join((*lines, "}"))


def _changed_bits(op: model.Op, inplace: bool) -> str:
    """A bit for each parameter that the op changes."""
    changed = {op.inplace} if inplace else set(op.mutates)
    return hex(sum(1 << i for i, p in enumerate(op.params) if p.name in changed))


def _definition(op: model.Op, inplace: bool) -> str:
    s = op.cpp_struct
    traits = []
    if op.is_view:
        traits.append("kTraitView")
    if inplace or (op.mutates and op.params[0].name in op.mutates):
        traits.append("kTraitInplace")
    if op.random:
        traits.append("kTraitRandom")
    if op.data_dependent:
        traits.append("kTraitDataDependent")
    if op.grad:
        traits.append("kTraitDifferentiable")
    if op.composite is not None:
        traits.append("kTraitComposite")
    enum = lambda kind, v: f"{kind}::k{v.capitalize()}"
    n = op.name + ("_" if inplace else "")
    signature = op.signature.replace(op.name, n, 1)
    params = f"k{s}Params" if op.params else "{}"
    outputs = f"k{s}Outputs" if op.outputs else "{}"
    infer = f"&Infer{s}" if op.kernel and not inplace else "nullptr"
    return "\n".join(
        (
            f"const OpDefinition op::{s}::{'inplace_' if inplace else ''}definition = {{",
            f'    "{n}", {op.version}, {cpp.quote(signature)},',
            f"    doc::{op.name}, doc::{op.name}_source,",
            f"    {params}, {outputs},",
            f"    {' | '.join(traits) or '0'}, {enum('AmpClass', op.amp)}, "
            f"{enum('FuseClass', op.fuse)}, {cpp.dtype_bits(op)}, {_changed_bits(op, inplace)},",
            f"    &Call{s}{'Inplace' if inplace else ''}, {infer},",
            f"    {f'&op::{s}::kernels' if op.kernel else 'nullptr'}, {f'&Flops{s}' if op.flops else 'nullptr'},",
            f"    {f'&Inference{s}' if op.inference and not inplace else 'nullptr'}, "
            f"{f'&Elements{s}' if op.elements and not inplace else 'nullptr'}}};\n",
        )
    )
