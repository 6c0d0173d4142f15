"""A grad node and a differentiating interpreter for one op, as C++.

The node keeps exactly what the formulas of the inputs that need a gradient name:
a SavedTensor for a bare tensor, an IntArray for `shape(x)`, plain values for
attributes. Backward calls front doors, so that formulas are differentiated or
recorded like any other code.
"""

from __future__ import annotations

import ast
import dataclasses
import re

from ops.schema import cpp, formula, model, mutate


def _call_text(f: model.Formula) -> str | None:
    """The call of which formula `f` chooses an output, as text; None if it does not."""
    return ast.unparse(f.tree.value) if isinstance(f.tree, ast.Subscript) else None


@dataclasses.dataclass
class _Field:
    """A member of the node: declaration, how it is set, and for which inputs."""

    declaration: str
    name: str
    set: str
    users: set[str]
    after: bool  # set after the forward (it names an output)
    release: bool
    kept: str = ""  # the argument that it keeps


class GradNode:
    """The node of one op, and the function that makes it: `text()`."""

    def __init__(self, op: model.Op, index: dict[str, model.Op], mutants: mutate.MutantList | None):
        self._op = op
        self._mutants = mutants
        self._fields: dict[str, _Field] = {}
        self._blocks: dict[str, str] = {}
        self.used_ops: set[str] = set()
        self.copies = False  # whether the op in place keeps copies
        self._used_grads: set[str] = set()  # of outputs, as formulas call them
        self._inputs = op.differentiable_params
        # Calls that several formulas choose outputs of, by their text: made once.
        calls = [_call_text(f) for f in op.grad.values() if f is not None]
        self._shared = {c: f"shared_{i}" for i, c in enumerate(dict.fromkeys(calls)) if c and calls.count(c) > 1}
        self._shared_types: dict[str, str] = {}
        self._multi = len(op.outputs) > 1
        for p in self._inputs:
            self._compile(p, index)
        self._recompute = self._compile_recompute(index) if op.recompute else []

    @property
    def shares(self) -> bool:
        return bool(self._shared_types)

    @property
    def knows_wider_grads(self) -> bool:
        """Whether it takes or gives gradients of another dtype than that of what they are gradients of."""
        return self._op.takes_wider_grads or any("GradDType(" in b for b in self._blocks.values())

    # Compiling -------------------------------------------------------------------

    def _compile(self, p: model.Param, index: dict[str, model.Op]) -> None:
        op = self._op
        original, compiler = self._assignment(p, op.grad[p.name], index)
        body = original
        if self._mutants:
            body = self._choice(p, original, compiler, index)
        self._blocks[p.name] = self._block(p, body)

    def _assignment(self, p: model.Param, text: model.Formula, index: dict[str, model.Op]):
        """Statements that compute the gradient of p by a formula; and the compiler, which knows its types."""
        op = self._op
        names = self._names()
        for o in op.outputs:
            g = f"g_{o.name}" if self._multi else "g"
            names[g] = formula.Expr(g, "Tensor[]" if o.is_list else "Tensor")
        compiler = formula.Compiler(op, index, names, lambda f, n, rest: self._meta(p, f, n, rest))
        expr = compiler.compile(text)
        if expr.type != p.type.name:
            raise model.SchemaError(
                text.location, f"{op.name}: gradient of {p.name} is {expr.type}, the input is {p.type.name}"
            )
        self.used_ops |= compiler.use.ops
        grads = {f"g_{o.name}" if self._multi else "g" for o in op.outputs}
        self._used_grads |= {g for g in grads if re.search(rf"\b{g}\b", expr.code)}
        lines, promoted = [], self._gradient_of_promoted()
        if promoted and compiler.use.bare & cpp.promoted(op):
            self._used_grads.add(promoted)
        code, shared = expr.code, self._shared.get(_call_text(text))
        asked = [name for function, name, *_ in sorted(compiler.use.meta) if function == "grad_dtype"]
        if asked:
            lines.append(f"const DType grad_dtype = {self._wanted_dtype(op.by_name[asked[0]])};")
        if shared:
            self._shared_types[shared] = index[text.tree.value.func.id].cpp_return
            code = f"std::get<{text.tree.slice.value}>(*{shared})"
        for name in sorted(compiler.use.bare - grads):
            self._keep(p, name)
            lines.append(self._get(name, promoted))
        for name in sorted(compiler.use.attributes):
            self._keep_attribute(p, name)
        dtype = ""
        if self._may_differ(p) and not p.is_tensor_list:
            self._keep_dtype(p)
            dtype = f"{p.name}_dtype_"
            if asked:
                dtype = "grad_dtype" if p.name in asked else self._wanted_dtype(p)
        elif self._may_differ(p):
            self._add(
                p,
                f"{p.name}_dtypes_",
                f"  std::vector<DType> {p.name}_dtypes_;",
                f"node->{p.name}_dtypes_ = DTypesOf({p.name});",
                after=False,
            )
            dtype = f"{p.name}_dtypes_"
        if shared:
            lines.append(f"if (!{shared}) {shared}.emplace({formula.call_of(expr.code)});")
        value = f"Conform({code}, {dtype})" if dtype else code
        if p.is_tensor_list:
            lines.append(f"AssignGrads(*this, {value}, next, {p.name}_count_, input_grads);")
        else:
            lines.append(f"input_grads[{self._position(p)}] = {value};")
        return lines, compiler

    def _may_differ(self, p: model.Param) -> bool:
        """Whether the formula may give a gradient of another dtype than the input's.

        It may where the input was cast to the compute dtype, and where it stood beside tensors of other dtypes (an
        image of bfloat16 and a weight of float32): formulas then promote.
        """
        op = self._op
        return op.takes_wider_grads or p.name in cpp.promoted(op) or sum(q.type.is_tensor for q in op.params) > 1

    def _keep_dtype(self, p: model.Param, of: model.Param | None = None) -> None:
        """Keeps the dtype of `of`, else that of p, for the gradient of p."""
        q = of or p
        self._add(
            p,
            f"{q.name}_dtype_",
            f"  DType {q.name}_dtype_ = DType::kFloat32;",
            f"{f'if ({q.name}.defined()) ' if q.optional else ''}node->{q.name}_dtype_ = {q.name}.dtype();",
            after=False,
        )

    def _wanted_dtype(self, p: model.Param) -> str:
        return f"GradDType(*this, {self._position(p)}, {p.name}_dtype_)"

    def _gradient_of_promoted(self) -> str:
        """The gradient of an output in whose dtype the op computes with the tensors that it promotes; "" if none is."""
        op = self._op
        if len(cpp.promoted(op)) < 2:
            return ""
        for o in op.outputs:
            if not o.is_list and o.name in op.infer and op.infer[o.name].dtype.text == op.compute.text:
                return f"g_{o.name}" if self._multi else "g"
        return ""

    def _names(self) -> dict[str, formula.Expr]:
        """What formulas may name: arguments and outputs."""
        names = {
            q.name: formula.Expr(
                q.name if q.type.is_tensor else f"{q.name}_",
                q.type.name + ("?" if q.optional and not q.is_tensor else ""),
            )
            for q in self._op.params
        }
        names |= {o.name: formula.Expr(o.name, "Tensor[]" if o.is_list else "Tensor") for o in self._op.outputs}
        return names

    def _compile_recompute(self, index: dict[str, model.Op]) -> list[str]:
        """Statements that make the first output again."""
        op = self._op
        compiler = formula.Compiler(op, index, self._names(), lambda f, n, rest: None)
        expr = compiler.compile(op.recompute)
        if expr.type != "Tensor" or compiler.use.meta or op.outputs[0].name in compiler.use.bare:
            raise model.SchemaError(
                op.recompute.location, f"{op.name}: `recompute` is a tensor made of arguments and other outputs"
            )
        self.used_ops |= compiler.use.ops
        if op.recompute_behind:
            inputs = [p.name for p in self._inputs]
            used = [name for name in inputs if name in compiler.use.bare]
            return [f"const Tensor {n} = RecomputedInput({inputs.index(n)});" for n in used] + [f"return {expr.code};"]
        saved = set(self._fields)
        for p in self._inputs:  # whichever needs a gradient
            for name in sorted(compiler.use.bare):
                self._keep(p, name)
            for name in sorted(compiler.use.attributes):
                self._keep_attribute(p, name)
        for field in self._fields.values():
            if field.name not in saved and field.release:
                field.set = f"if (node->recomputes()) {field.set}"
        return [self._get(name) for name in sorted(compiler.use.bare)] + [f"return {expr.code};"]

    def _choice(
        self, p: model.Param, original: list[str], compiler: formula.Compiler, index: dict[str, model.Op]
    ) -> list[str]:
        """Statements that compute the gradient of p by the formula or by its active mutant."""
        op = self._op
        out, seen = ["switch (ActiveMutant()) {"], {tuple(original)}
        for m in mutate.mutants_of(op.grad[p.name], op, index, compiler):
            lines: list[str] = []
            if m.formula:
                fields = {name: dataclasses.replace(f, users=set(f.users)) for name, f in self._fields.items()}
                used_ops = set(self.used_ops)
                try:
                    lines, mutated = self._assignment(p, m.formula, index)
                    fits = self._metas_exist(p, mutated.use.meta - compiler.use.meta)
                except model.SchemaError:
                    fits = False
                if not fits or tuple(lines) in seen:
                    self._fields, self.used_ops = fields, used_ops
                    continue
                seen.add(tuple(lines))
            out += [f"  case {self._mutants.add(op, p, m)}: {{", *(f"    {l}" for l in lines), "    break;", "  }"]
        return out + ["  default: {", *(f"    {l}" for l in original), "  }", "}"]

    def _metas_exist(self, p: model.Param, metas: set[tuple[str, ...]]) -> bool:
        """Whether the forward call can answer, whatever its arguments are, so that it fails for no sleeping mutant."""
        return all(
            len(rest) == 0 and (name == p.name or name not in self._op.by_name or not self._op.by_name[name].optional)
            for _, name, *rest in metas
        )

    def _add(
        self, p: model.Param, name: str, declaration: str, code: str, after: bool, release: bool = False, kept: str = ""
    ) -> None:
        field = self._fields.setdefault(name, _Field(declaration, name, code, set(), after, release, kept))
        field.users.add(p.name)

    def _meta(self, p: model.Param, function: str, name: str, rest: list[str]):
        """The member that stands for `function(name)`; None for a gradient (its meta is at hand)."""
        op = self._op
        if function == "grad_dtype":
            # Formulas that choose outputs of one call ask by one name.
            of = next((q for q in self._inputs if q.name == name), None)
            shares = _call_text(op.grad[p.name]) in self._shared
            if of is None or of.is_tensor_list or p.is_tensor_list or not (of is p or shares):
                raise model.SchemaError(
                    op.location, f"{op.name}: grad_dtype({name}) is not for the gradient of {p.name}"
                )
            self._keep_dtype(p, of)
            return "grad_dtype"
        if name == "g" or name.startswith("g_") and name not in op.by_name:
            return None
        kind, template = formula.META_FUNCTIONS[function]
        stored = {"IntArray": "IntArray", "DType": "DType", "int": "int64_t", "int[]": "std::vector<int64_t>"}[kind]
        suffix = "".join(c if c.isalnum() else "_" for c in "_".join(rest))
        member = f"{function}_{name}{'_' + suffix if suffix else ''}_"
        # Attributes inside a meta function are members in Backward, arguments in the forward.
        arguments = []
        for r in rest:
            if r.endswith("_") and r[:-1] in op.by_name:
                arguments.append(r[:-1])
            else:
                arguments.append(r)
        after = name not in op.by_name
        self._add(
            p, member, f"  {stored} {member}{{}};", f"node->{member} = {template.format(name, *arguments)};", after
        )
        return member

    def _keep_attribute(self, p: model.Param, name: str) -> None:
        q = self._op.by_name[name]
        source = (
            f"{q.stored}({name}.begin(), {name}.end())"
            if q.type.name.endswith("[]")
            else (f"std::string({name})" if q.type.name == "str" else name)
        )
        self._add(p, f"{name}_", f"  {q.stored} {name}_{{}};", f"node->{name}_ = {source};", after=False)

    def _keep(self, p: model.Param, name: str) -> None:
        op, kept = self._op, ""
        is_list = name in op.by_name and op.by_name[name].is_tensor_list
        if name in op.by_name:
            if is_list:
                code = f"node->{name}_ = SaveAll({name});"
            else:
                code = f"node->{name}_ = SavedTensor({name}{self._edge_of(name)});"
                if op.by_name[name].optional:
                    code = f"if ({name}.defined()) {code}"
                # Without an edge a copy would have no history for a second derivative.
                kept = name if self._edge_of(name) else ""
            after = False
        else:
            slot = [o.name for o in op.outputs].index(name)
            if op.outputs[slot].is_list:
                raise model.SchemaError(op.location, f"{op.name}: formulas cannot keep the list output {name}")
            value, after = f"SavedTensor({name}, {slot})", True
            if op.recompute and slot == 0:
                value = f"node->recomputes() ? SavedTensor::OfRecomputedOutput() : {value}"
            code = f"node->{name}_ = {value};"
        kind = "std::vector<SavedTensor>" if is_list else "SavedTensor"
        self._add(p, f"{name}_", f"  {kind} {name}_;", code, after, True, kept)

    def _edge_of(self, name: str) -> str:
        """Where the node has an edge for an input at a place known now, it need not be kept twice."""
        edges = [p.name for p in self._inputs]
        return f", *node, {edges.index(name)}" if name in edges and not self._has_list else ""

    def _get(self, name: str, promoted: str = "") -> str:
        """A statement that takes a kept tensor out, in the dtype that the op computed in: that of gradient `promoted`."""
        op = self._op
        if name in op.by_name and op.by_name[name].is_tensor_list:
            return f"const std::vector<Tensor> {name} = GetAll({name}_, *this);"
        if promoted and name in cpp.promoted(op):
            return f"const Tensor {name} = Promoted({name}_.Get(*this), {promoted}.dtype());"
        return f"const Tensor {name} = {name}_.Get(*this);"

    def _block(self, p: model.Param, body: list[str]) -> str:
        out = []
        if p.is_tensor_list:
            out.append(f"    if (AnyNeeded(*this, next, {p.name}_count_)) {{")
            out += [f"      {l}" for l in body]
            out.append("    }")
            out.append(f"    next += {p.name}_count_;")
        else:
            out.append(f"    if (needs_input_grad({self._position(p)})) {{")
            out += [f"      {l}" for l in body]
            out.append("    }")
            if self._has_list:
                out.append("    ++next;")
        return "\n".join(out)

    @property
    def _has_list(self) -> bool:
        return any(p.is_tensor_list for p in self._inputs)

    def _position(self, p: model.Param) -> str:
        return "next" if self._has_list else str(self._inputs.index(p))

    # Text ------------------------------------------------------------------------

    def text(self) -> str:
        op = self._op
        parts = [f"// {op.name}", self._class(), self._interpreter(inplace=False)]
        if op.inplace:
            parts.append(self._interpreter(inplace=True))
        s = op.cpp_struct
        parts.append(f"const bool installed_{op.name} = [] {{")
        parts.append(f"  op::{s}::differentiate = &Differentiate{s};")
        if op.inplace:
            parts.append(f"  op::{s}::differentiate_inplace = &DifferentiateInplace{s};")
        parts.append("  return true;\n}();\n")
        return "\n".join(parts)

    def _class(self) -> str:
        op = self._op
        bases = f"public {'RecomputingNode' if op.recompute else 'Node'}"
        if op.takes_wider_grads:
            bases += ", public TakesWiderGrads"
        lines = [
            f"class {op.cpp_struct}Node final : {bases} {{",
            " public:",
            "  void Backward(std::span<const Tensor> grads, std::span<Tensor> input_grads) override {",
        ]
        if self._has_list:
            lines.append("    int next = 0;")
        if self._multi or op.outputs[0].is_list:
            offset = "0"
            for i, o in enumerate(op.outputs):
                g = f"g_{o.name}" if self._multi else "g"
                if g not in self._used_grads:
                    continue
                if o.is_list:
                    lines.append(
                        f"    const std::vector<Tensor> {g} = GradsOrZeros(grads.subspan({offset}), outputs_);"
                    )
                else:
                    lines.append(f"    const Tensor {g} = GradOrZeros(grads[{i}], outputs_[{i}]);")
        else:
            lines.append("    const Tensor& g = grads[0];")
        lines += [f"    std::optional<{t}> {name};" for name, t in self._shared_types.items()]
        lines += [self._blocks[p.name] for p in self._inputs]
        if op.recompute:
            lines.append("    ForgetRecomputed();")
        lines.append("  }")
        lines.append(f'  const char* name() const override {{ return "{op.name}"; }}')
        released = [f.name for f in self._fields.values() if f.release]
        if released or op.recompute:
            lines.append("  void ReleaseSaved() override {")
            lines += [f"    Release({n});" for n in released]
            if op.recompute:
                lines.append("    ForgetRecomputed();")
            lines.append("  }")
        if released:
            lines.append("  void VisitSaved(const SavedVisitor& visit) const override {")
            lines += [f'    Visit(visit, "{n.removesuffix("_")}", {n});' for n in released]
            lines.append("  }")
        names = ", ".join(f'{{"{p.name}", {f"{p.name}_count_" if p.is_tensor_list else "-1"}}}' for p in self._inputs)
        if op.recompute:
            lines.append("  Tensor Recompute() override {")
            lines += [f"    {l}" for l in self._recompute]
            lines.append("  }")
            lines.append(f"  using RecomputingNode::AllowRecompute{'Behind' if op.recompute_behind else ''};")
        if op.takes_wider_grads:
            lines.append(f"  DType source_dtype() const override {{ return {self._inputs[0].name}_dtype_; }}")
        lines.append(f"  std::string InputName(int i) const override {{ return NameOf(i, {{{names}}}); }}")
        lines.append("")
        lines += [f.declaration for f in self._fields.values()]
        if self._has_list:
            lines += [f"  int {p.name}_count_ = 0;" for p in self._inputs if p.is_tensor_list]
        if self._multi or op.outputs[0].is_list:
            lines.append("  std::vector<OutputMeta> outputs_;")
        lines.append("};\n")
        return "\n".join(lines)

    def _edges(self) -> list[str]:
        out = []
        for p in self._inputs:
            if p.is_tensor_list:
                out.append(f"  for (const Tensor& t : {p.name}) node->AddEdge(GradEdge(t));")
                out.append(f"  node->{p.name}_count_ = static_cast<int>({p.name}.size());")
            elif p.optional:
                out.append(f"  node->AddEdge({p.name}.defined() ? GradEdge({p.name}) : Edge{{}});")
            else:
                out.append(f"  node->AddEdge(GradEdge({p.name}));")
        return out

    def _need(self, p: model.Param) -> str:
        return f"AnyRequiresGrad({p.name})"

    def _saves(self, after: bool, inplace: bool = False) -> list[str]:
        """Statements that fill the node, grouped by the inputs that need what they keep."""
        groups: dict[frozenset[str], list[str]] = {}
        for f in self._fields.values():
            if f.after == after:
                code = f.set
                if inplace and f.kept and not self._op.is_view:
                    code = code.replace(
                        f"SavedTensor({f.kept},", f"SavedTensor(BeforeChange({f.kept}, {self._op.inplace}),"
                    )
                    self.copies = True
                groups.setdefault(frozenset(f.users), []).append(code)
        out = []
        for users, sets in groups.items():
            if users == {p.name for p in self._inputs}:
                out += [f"  {s}" for s in sets]
            else:
                test = " || ".join(self._need(p) for p in self._inputs if p.name in users)
                out += [f"  if ({test}) {{", *(f"    {s}" for s in sets), "  }"]
        return out

    def _interpreter(self, inplace: bool) -> str:
        op = self._op
        s, kind = op.cpp_struct, "Inplace" if inplace else ""
        name = op.name + ("_" if inplace else "")
        ret = "Tensor" if inplace else op.cpp_return
        lines = [f"{ret} Differentiate{kind}{s}({cpp.params(op)}) {{"]
        needed = " || ".join(f"AnyRequiresGrad({p.name})" for p in self._inputs)
        if inplace:
            check = "CheckInplaceReshape" if op.is_view else "CheckInplace"
            lines.append(f'  {check}("{name}", {op.inplace});')
        call = f"ops::{name}({cpp.args(op)})"
        lines += [
            f"  if (!({needed})) {{",
            "    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);",
            f"    return {call};",
            "  }",
        ]
        make = [f"  IntrusivePtr<{s}Node> node = MakeNode<{s}Node>();"] + self._edges()
        if inplace:
            # What the formulas name of the old value is kept, as a copy, before it is overwritten.
            lines += make + self._saves(after=False, inplace=True)
        out = op.outputs[0].name
        result = out if inplace else "result"
        lines += [
            f"  {ret} {result};",
            "  {",
            "    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);",
            f"    {result} = {call};",
            "  }",
        ]
        if op.recompute_behind:
            make.append(f"  node->AllowRecomputeBehind(result, {', '.join(p.name for p in self._inputs)});")
        elif op.recompute:
            make.append(f"  node->AllowRecompute({'std::get<0>(result)' if self._multi else 'result'});")
        if not inplace:
            lines += make + self._saves(after=False)
            if len(op.outputs) > 1:
                lines += [
                    f"  [[maybe_unused]] const auto& {o.name} = std::get<{i}>(result);"
                    for i, o in enumerate(op.outputs)
                ]
            else:
                lines.append(f"  const auto& {out} = result;")
        if self._multi or op.outputs[0].is_list:
            lines += [f"  AddOutputs({o.name}, &node->outputs_);" for o in op.outputs]
            lines.append("  node->set_num_outputs(static_cast<int>(node->outputs_.size()));")
        lines += self._saves(after=True)
        if self._multi or op.outputs[0].is_list:
            lines.append("  uint32_t slot = 0;")
            lines += [f"  SetHistories({o.name}, node, &slot);" for o in op.outputs]
        elif inplace and not op.is_view:
            lines.append(f"  SetInplaceHistory({out}, std::move(node), 0);")
        else:
            lines.append(f"  SetHistory({out}, std::move(node), 0);")
        if op.is_view and not inplace:
            lines.append(f"  LinkRecordedView({result}, {op.outputs[0].aliases});")
        lines += [f"  return {result};", "}"]
        return "\n".join(lines)
