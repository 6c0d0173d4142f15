"""Generates the front doors of a family: `<stem>_ops.h`, `<family>_ops.h` with all of these, and `<family>_ops.cc`.

A front door checks for None, reads the flag word, and either hands the call to the
first active interpreter or infers the outputs, prepares the inputs and runs the
kernel. docs/walk_of_an_op.md follows one call through this text.
"""

from __future__ import annotations

from ops.schema import cpp, formula, model


def emit(ops: list[model.Op], family: str, index: dict[str, model.Op], has_infer: bool) -> dict[str, str]:
    """Texts of the headers and the source by file name."""
    files = {
        f"{family}_ops.h": cpp.umbrella(ops, family, "ops"),
        f"{family}_ops.cc": _source(ops, family, index, has_infer),
    }
    for stem in cpp.stems(ops):
        files[f"{stem}_ops.h"] = _header([op for op in ops if op.stem == stem], family, stem)
    return files


# Header ------------------------------------------------------------------------


def _header(ops: list[model.Op], family: str, stem: str) -> str:
    guard = f"PROA_OPS_{family.upper()}_{stem.upper()}_OPS_H_"
    out = [
        cpp.head(
            ops,
            [
                "<limits>",
                "<optional>",
                "<span>",
                "<string_view>",
                "<tuple>",
                "<vector>",
                "ops/definition.h",
                "ops/int_array.h",
                "ops/kernel.h",
                "tensor/scalar.h",
                "tensor/tensor.h",
            ],
            guard,
        )
    ]
    out.append(f"namespace {cpp.NAMESPACE} {{\n")
    for op in ops:
        out.append(f"// {op.signature}\n{op.cpp_return} {op.name}({cpp.params(op, defaults=True)});\n")
        if op.inplace:
            out.append(
                f"// In place: {op.inplace} holds the result.\nTensor {op.name}_({cpp.params(op, defaults=True)});\n"
            )
    out.append(
        "// What is attached to each op: kernels, the differentiating interpreter, definition.\nnamespace op {\n"
    )
    for op in ops:
        out.append(_struct(op))
    out.append("}  // namespace op\n")
    out.append(f"}}  // namespace {cpp.NAMESPACE}\n")
    out.append(f"#endif  // {guard}\n")
    return "\n".join(out)


def _struct(op: model.Op) -> str:
    lines = [f"struct {op.cpp_struct} {{"]
    if op.kernel:
        lines.append(f"  using Kernel = void (*)({cpp.kernel_params(op, names=False)});")
        lines.append("  static constinit KernelTable kernels;")
        lines.append(f"  using Differentiate = {op.cpp_return} (*)({cpp.type_list(op)});")
        lines.append("  static constinit Differentiate differentiate;")
    lines.append("  static const OpDefinition definition;")
    if op.inplace:
        if op.kernel:
            lines.append(f"  using DifferentiateInplace = Tensor (*)({cpp.type_list(op)});")
            lines.append("  static constinit DifferentiateInplace differentiate_inplace;")
        lines.append("  static const OpDefinition inplace_definition;")
    lines.append("};\n")
    return "\n".join(lines)


# Source ------------------------------------------------------------------------


def _source(ops: list[model.Op], family: str, index: dict[str, model.Op], has_infer: bool) -> str:
    bodies, used = [], set()
    for op in ops:
        body, ops_used = _front_door(op, index)
        bodies.append(body)
        used |= ops_used
    includes = [
        f"ops/{family}/{family}_ops.h",
        "<utility>",
        "ops/definition.h",
        "ops/front_door.h",
        "ops/infer.h",
        "ops/interpreter.h",
        "ops/kernel.h",
        "ops/kernel_used.h",
        "ops/rethrow.h",
        "ops/value.h",
        "tensor/interpreters.h",
        "tensor/tensor.h",
    ]
    if any(op.reuses for op in ops):
        includes += ["ops/boxed_call.h", "tensor/memory_order.h"]
    if has_infer:
        includes.append(f"ops/{family}/{family}_infer.h")
    includes += cpp.doors(used, family, index)
    out = [cpp.head(ops, includes), f"namespace {cpp.NAMESPACE} {{\n"]
    for op in ops:
        if isinstance(op.composite, str):
            out.append(f"{op.cpp_return} {op.composite}({cpp.params(op)});  // in {op.stem}.cc")
    for form in sorted({(op.rows_form, cpp.params(op), op.outputs[0].name) for op in ops if op.rows_form}):
        out.append("bool {}({}, Tensor* {});".format(*form))
    out += bodies
    out.append(f"}}  // namespace {cpp.NAMESPACE}\n")
    return "\n".join(out)


def _front_door(op: model.Op, index: dict[str, model.Op]) -> tuple[str, set[str]]:
    lines = [f"// {op.name}"]
    used: set[str] = set()
    if op.kernel:
        s = op.cpp_struct
        lines += [
            f"constinit KernelTable op::{s}::kernels;",
            f"constinit op::{s}::Differentiate op::{s}::differentiate = nullptr;",
        ]
        if op.inplace:
            lines.append(f"constinit op::{s}::DifferentiateInplace op::{s}::differentiate_inplace = nullptr;")
        lines += ["namespace {", _interpreted(op), _execute(op, inplace=False)]
        if op.inplace:
            lines.append(_execute(op, inplace=True))
        lines.append("}  // namespace\n")
        lines.append(_door(op))
        if op.inplace:
            lines.append(_inplace_door(op))
    else:
        names = {
            p.name: formula.Expr(p.name, p.type.name + ("?" if p.optional and not p.is_tensor else ""))
            for p in op.params
        }
        lines.append(f"{op.cpp_return} {op.name}({cpp.params(op)}) try {{")
        lines.append(_checks(op))
        if isinstance(op.composite, str):
            lines.append(f"  return {op.composite}({cpp.args(op)});")
        else:
            compiler = formula.Compiler(op, index, names)
            lines.append(f"  return {compiler.compile(op.composite).code};")
            used = compiler.use.ops
        lines += _end_of_try(op.name)
        if op.inplace:
            lines += [
                f"Tensor {op.name}_({cpp.params(op)}) try {{",
                f"  const Tensor result = ops::{op.name}({cpp.args(op)});",
                "  return AssignInto(" + f'"{op.name}_", {op.inplace}, result);',
                *_end_of_try(op.name),
            ]
    return "\n".join(l for l in lines if l) + "\n", used


def _end_of_try(name: str) -> list[str]:
    """Errors begin with the op that was called, whichever part of it noticed them."""
    return ["} catch (const Error& error) {", f'  RethrowFrom("{name}", error);', "}"]


def _checks(op: model.Op) -> str:
    return "\n".join(
        f'  RequireDefined("{op.name}", "{p.name}", {p.name});' for p in op.tensor_params if not p.optional
    )


def _flags(op: model.Op) -> str:
    flagged = [p for p in op.params if p.type.is_tensor or p.type.name == "IntArray"]
    return " | ".join(f"FlagsOf({p.name})" for p in flagged) or "Interpreters{0}"


def box(p: model.Param) -> str:
    """C++ that makes a Value of a parameter."""
    if p.is_tensor:
        return f"Value({p.name})"
    if p.optional:
        return f"BoxOptional({p.name})"
    if p.is_tensor_list or p.type.name.endswith("[]"):
        return f"Value({p.stored}({p.name}.begin(), {p.name}.end()))"
    if p.type.name == "str":
        return f"Value(std::string({p.name}))"
    return f"Value({p.name})"


def _returned(op: model.Op) -> str:
    get = {True: "std::get<std::vector<Tensor>>", False: "std::get<Tensor>"}
    items = [f"{get[o.is_list]}(std::move(results[{i}]))" for i, o in enumerate(op.outputs)]
    if not items:
        return ""
    return f"  return {items[0]};" if len(items) == 1 else f"  return {{{', '.join(items)}}};"


def _interpreted(op: model.Op) -> str:
    boxed = ", ".join(box(p) for p in op.params)
    return "\n".join(
        (
            "__attribute__((noinline, cold))",
            f"{op.cpp_return} Interpreted{op.cpp_struct}(Interpreters active, const OpDefinition& definition"
            f"{''.join(', ' + p.cpp + ' ' + p.name for p in op.params)}) {{",
            f"  const Value args[] = {{{boxed}}};" if boxed else "  const std::span<const Value> args;",
            f"  Value results[{max(1, len(op.outputs))}];",
            f"  Interpret(active, definition, args, std::span(results, {len(op.outputs)}));",
            _returned(op),
            "}",
        )
    )


def _inferred(op: model.Op) -> list[str]:
    lines = []
    if op.compute is not None:
        lines.append(f"  [[maybe_unused]] const DType compute = {cpp.rule(op, op.compute, 'dtype')};")
    for o in op.outputs:
        r = op.infer[o.name]
        kind = "std::vector<Shape>" if o.is_list else "Shape"
        lines.append(f"  [[maybe_unused]] const {kind} shape_{o.name} = {cpp.rule(op, r.shape, 'shape')};")
        if op.compute is not None and r.dtype.text == op.compute.text:
            text = "compute"
        else:
            text = cpp.rule(op, r.dtype, "dtype")
        lines.append(f"  [[maybe_unused]] const DType dtype_{o.name} = {text};")
    return lines


def kernel_dtype(op: model.Op) -> str:
    """The dtype that picks the kernel."""
    if op.compute is not None:
        return "compute"
    for p in op.tensor_params:
        if p.optional:
            continue
        if p.is_tensor_list:
            return f"({p.name}.empty() ? DType::kFloat32 : {p.name}[0].dtype())"
        return f"{p.name}.dtype()"
    return f"dtype_{op.outputs[0].name}" if op.outputs else "DType::kFloat32"


def _places(op: model.Op) -> list[str]:
    given = [p for p in op.params if p.type.name == "Place"]
    tensors = op.tensor_params
    if given and not tensors:
        p = given[0]
        text = f"{p.name}.value_or(infer::DefaultPlace())" if p.optional else p.name
        return [f"  const Place run_place = {text};"]
    if not tensors:
        return ["  const Place run_place = infer::DefaultPlace();"]
    lines = ["  Place run_place;", "  bool found_place = false;"]
    for p in tensors:
        if p.is_tensor_list:
            lines.append(f"  for (const Tensor& t : {p.name}) MergePlace(kOp, t, &run_place, &found_place);")
        else:
            lines.append(f"  MergePlace(kOp, {p.name}, &run_place, &found_place);")
    if given:
        lines.append(f"  if ({given[0].name}.has_value()) run_place = *{given[0].name};")
    return lines


def _prepare(op: model.Op, inplace: bool) -> tuple[list[str], list[str]]:
    """Statements, and the kernel's arguments for the parameters."""
    promoted = cpp.promoted(op)
    lines, call = [], []
    contiguous = "false" if op.strided else "true"
    for p in op.params:
        if not p.type.is_tensor:
            call.append(p.name)
            continue
        if p.name in op.mutates or (inplace and p.name == op.inplace):
            call.append(p.name)
            continue
        dtype = "compute" if p.name in promoted else f"{p.name}.dtype()"
        if p.is_tensor_list:
            cast = "true" if p.name in promoted else "false"
            list_dtype = "compute" if p.name in promoted else "DType::kFloat32"
            lines.append(f"  std::vector<Tensor> {p.name}_buffer;")
            lines.append(
                f"  const std::span<const Tensor> {p.name}_in = PrepareInputs({p.name}, {cast}, {list_dtype}, run_place, "
                f"{contiguous}, &{p.name}_buffer{', true' if p.name in op.rows_params else ''});"
            )
        else:
            lines.append(f"  Tensor {p.name}_buffer;")
            prepared = f"PrepareInput({p.name}, {dtype}, run_place, {contiguous}, &{p.name}_buffer)"
            if op.kernel.elementwise:
                prepared = f"PrepareOperand({p.name}, {dtype}, run_place, &{p.name}_buffer)"
            if op.channels_last:
                prepared = f"PrepareImage({p.name}, {dtype}, run_place, &{p.name}_buffer)"
            if p.name in op.rows_params:
                prepared = f"HasRows({p.name}) ? {p.name} : {prepared}"
            if p.optional:
                prepared = f"{p.name}.defined() ? {prepared} : {p.name}"
            lines.append(f"  const Tensor& {p.name}_in = {prepared};")
        call.append(f"{p.name}_in")
    return lines, call


def _allocated(op: model.Op, o: model.Output) -> str:
    """C++ that makes an output."""
    meta = f"shape_{o.name}, dtype_{o.name}, run_place"
    order = op.infer[o.name].order
    if op.reuses:
        x, order = op.reuses, cpp.rule(op, order, "order") if order is not None else "MemoryOrder::kRowMajor"
        return f"IsGiven(kOp, {x}, {meta}) && LiesIn({x}, {order}) ? {x} : EmptyInOrder({meta}, {order})"
    if order is not None:
        return f"EmptyInOrder({meta}, {cpp.rule(op, order, 'order')})"
    if op.kernel.elementwise and all(p.is_tensor for p in op.tensor_params):
        return f"EmptyAmong({meta}{''.join(f', {p.name}_in' for p in op.tensor_params)})"
    return f"Tensor::Empty({meta})"


def _rows_form(op: model.Op, inplace: bool) -> list[str]:
    """The way out for row-sparse arguments; without it, or where it does not apply, they are made dense."""
    if not op.rows_form:
        return []
    x, out = op.inplace, op.outputs[0].name
    lines, tensors = [], [p.name for p in op.tensor_params]
    if inplace:
        # A row-sparse tensor has no elements to write into: its handle gets a new value.
        lines += [
            f"  if (HasRows({x})) [[unlikely]] {{",
            f"    Rebind({x}, Execute{op.cpp_struct}({cpp.args(op)}));",
            f"    return {x};",
            "  }",
        ]
        tensors.remove(x)
    if tensors:
        lines += [
            f"  if ({' || '.join(f'HasRows({t})' for t in tensors)}) [[unlikely]] {{",
            f"    Tensor {out}{f' = {x}' if inplace else ''};",
            f"    if ({op.rows_form}({cpp.args(op)}, &{out})) {{",
            *([f"      MarkWritten(kOp, {x});"] if inplace else []),
            f"      return {out};",
            "    }",
            "  }",
        ]
    return lines


def _execute(op: model.Op, inplace: bool) -> str:
    s, n = op.cpp_struct, op.name + ("_" if inplace else "")
    ret = "Tensor" if inplace else op.cpp_return
    lines = [
        f"{ret} Execute{'Inplace' if inplace else ''}{s}({cpp.params(op)}) try {{",
        f'  static constexpr const char* kOp = "{n}";',
    ]
    lines += _inferred(op)
    lines += _places(op)
    fresh = {o.name for o in op.outputs if not (o.aliases or op.data_dependent)}
    if inplace:
        x, o = op.inplace, op.outputs[0]
        if o.aliases:
            lines += [
                f"  const Tensor result = Execute{s}({cpp.args(op)});",
                f"  Rebind({x}, result);",
                f"  MarkWritten(kOp, {x});",
                f"  return {x};",
                *_end_of_try(op.name),
            ]
            return "\n".join(lines)
        lines.append(
            f"  CheckInplaceTarget(kOp, {x}, shape_{o.name}, dtype_{o.name}{', true' if op.rows_form else ''});"
        )
        lines += _rows_form(op, inplace)
        condition = [f"{x}.place() != run_place"]
        if x in cpp.promoted(op):
            condition.append(f"{x}.dtype() != compute")
        if not op.strided:
            condition.append(f"!{x}.is_contiguous()")
        if op.data_dependent:
            condition = ["true"]
        lines += [
            f"  if ({' || '.join(condition)}) {{",
            f"    WriteInto({x}, Execute{s}({cpp.args(op)}));",
            f"    MarkWritten(kOp, {x});",
            f"    return {x};",
            "  }",
        ]
    else:
        lines += _rows_form(op, inplace)
        lines += [f'  RequireElements(kOp, "{m}", {m});' for m in op.mutates]
    dtype = kernel_dtype(op)
    # A view only describes, which is the same on every device.
    kind = "DeviceKind::kCPU" if op.is_view else "run_place.kind"
    lines.append(f"  const AnyKernel kernel = op::{s}::kernels.Find({kind}, {dtype});")
    lines.append("  if (kernel == nullptr) [[unlikely]] {")
    if inplace:
        lines += [
            f"    WriteInto({op.inplace}, Execute{s}({cpp.args(op)}));",
            f"    MarkWritten(kOp, {op.inplace});",
            f"    return {op.inplace};",
        ]
    else:
        lines.append(f"    if (!RunsOnHost(run_place)) FailNoKernel(kOp, {cpp.dtype_bits(op)}, {dtype}, run_place);")
        boxed = ", ".join(box(p) for p in op.params)
        lines += [
            f"    const Value args[] = {{{boxed}}};" if boxed else "    const std::span<const Value> args;",
            f"    Value results[{max(1, len(op.outputs))}];",
            f"    CallOnHost(op::{s}::definition, run_place, args, std::span(results, {len(op.outputs)}));",
            "  " + _returned(op),
        ]
        if not op.outputs:
            lines.append("    return;")
    lines.append("  }")
    prepared, call = _prepare(op, inplace)
    lines += prepared
    if inplace:
        for p in op.tensor_params:
            if p.is_tensor and p.name != op.inplace:
                lines.append(f"  const Tensor {p.name}_free = ResolveOverlap({op.inplace}, {p.name}_in);")
                call = [f"{p.name}_free" if c == f"{p.name}_in" else c for c in call]
        lines.append(f"  Tensor {op.outputs[0].name} = {op.inplace};")
    else:
        for o in op.outputs:
            if o.is_list:
                lines.append(f"  std::vector<Tensor> {o.name};")
                if o.name in fresh:
                    lines.append(f"  {o.name}.reserve(shape_{o.name}.size());")
                    lines.append(
                        f"  for (const Shape& s : shape_{o.name}) "
                        f"{o.name}.push_back(Tensor::Empty(s, dtype_{o.name}, run_place));"
                    )
            elif o.name in fresh:
                lines.append(f"  Tensor {o.name} = {_allocated(op, o)};")
            else:
                lines.append(f"  Tensor {o.name};")
    call += [f"&{o.name}" for o in op.outputs]
    comma = ", " if call else ""
    lines.append(
        f"  reinterpret_cast<op::{s}::Kernel>(kernel)(StartKernel(op::{s}::kernels, run_place, {dtype}){comma}{', '.join(call)});"
    )
    if inplace:
        lines += [f"  MarkWritten(kOp, {op.inplace});", f"  return {op.inplace};"]
    else:
        for m in op.mutates:
            if op.by_name[m].is_tensor_list:
                lines.append(f"  for (const Tensor& t : {m}) MarkWritten(kOp, t);")
            else:
                lines.append(f"  if ({m}.defined()) MarkWritten(kOp, {m});")
        if op.reuses:
            lines.append(f"  if ({op.outputs[0].name}.is_same({op.reuses})) MarkWritten(kOp, {op.reuses});")
        if op.outputs:
            items = ", ".join(f"std::move({o.name})" for o in op.outputs)
            lines.append(f"  return {op.outputs[0].name};" if len(op.outputs) == 1 else f"  return {{{items}}};")
    lines += _end_of_try(op.name)
    return "\n".join(lines)


def _door(op: model.Op) -> str:
    s = op.cpp_struct
    a = ", " + cpp.args(op) if op.params else ""
    lines = [
        f"{op.cpp_return} {op.name}({cpp.params(op)}) {{",
        _checks(op),
        f"  const Interpreters active = ActiveInterpreters({_flags(op)});",
        "  if (active != 0) [[unlikely]] {",
        "    if (DifferentiateIsNext(active)) {",
    ]
    if op.mutates:
        lines.append(f'      CheckMayChange("{op.name}", {" | ".join("FlagsOf(" + m + ")" for m in op.mutates)});')
    if not op.mutates or op.differentiable_params:
        lines.append(f"      if (op::{s}::differentiate != nullptr) return op::{s}::differentiate({cpp.args(op)});")
    lines += [
        "      const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);",
        f"      return ops::{op.name}({cpp.args(op)});",
        "    }",
        f"    return Interpreted{s}(active, op::{s}::definition{a});",
        "  }",
    ]
    if op.is_view:
        lines += [
            f"  {op.cpp_return} result = Execute{s}({cpp.args(op)});",
            f"  LinkViews(result, {op.outputs[0].aliases});",
            "  return result;",
            "}",
        ]
    else:
        lines += [f"  return Execute{s}({cpp.args(op)});", "}"]
    return "\n".join(l for l in lines if l)


def _inplace_door(op: model.Op) -> str:
    s, x = op.cpp_struct, op.inplace
    a = ", " + cpp.args(op)
    lines = [
        f"Tensor {op.name}_({cpp.params(op)}) {{",
        _checks(op),
        f"  const Interpreters active = ActiveInterpreters({_flags(op)});",
        "  if (active != 0) [[unlikely]] {",
        "    if ((active & kRecord) != 0) {",
        f'      RecordWrite("{op.name}_", {x}, ops::{op.name}({cpp.args(op)}));',
        f"      return {x};",
        "    }",
        f"    if ((active & kProfile) != 0) return Interpreted{s}(kProfile, op::{s}::inplace_definition{a});",
        f"    if ((active & kDifferentiate) != 0 && op::{s}::differentiate_inplace != nullptr)",
        f"      return op::{s}::differentiate_inplace({cpp.args(op)});",
        "  }",
        f"  return ExecuteInplace{s}({cpp.args(op)});",
        "}",
    ]
    return "\n".join(l for l in lines if l)
