"""Generates `<family>_grad.cc`: the grad nodes of a family (grad_node.py), with what they include."""

from __future__ import annotations

import json

from ops.schema import cpp, model, mutate
from ops.schema.grad_node import GradNode


def emit(ops: list[model.Op], family: str, index: dict[str, model.Op]) -> dict[str, str]:
    return {f"{family}_grad.cc": _text(ops, family, index, None)}


def emit_mutants(ops: list[model.Op], family: str, index: dict[str, model.Op]) -> dict[str, str]:
    """The same with all mutants of the formulas (mutate.py) to choose from, and the list of these."""
    mutants = mutate.MutantList(family, index)
    text = _text(ops, family, index, mutants)
    return {f"{family}_grad_mutants.cc": text, f"{family}_mutants.json": json.dumps(mutants.entries, indent=1)}


def _text(ops: list[model.Op], family: str, index: dict[str, model.Op], mutants: mutate.MutantList | None) -> str:
    bodies, used, shares, wider, copies = [], set(), False, False, False
    for op in ops:
        if op.inplace and op.kernel and not op.grad:
            bodies.append(_constant_inplace(op))
        if op.grad:
            node = GradNode(op, index, mutants)
            bodies.append(node.text())
            used |= node.used_ops
            shares |= node.shares
            wider |= node.knows_wider_grads
            copies |= node.copies
    includes = [
        f"ops/{family}/{family}_ops.h",
        "<string>",
        "<utility>",
        "autograd/ops/formula_support.h",
        "autograd/grad_state.h",
        "autograd/inplace.h",
        "autograd/node.h",
        "autograd/recomputing_node.h",
        "autograd/saved_tensor.h",
        "ops/front_door.h",
        "tensor/interpreters.h",
    ]
    if shares:
        includes += ["<optional>", "<tuple>"]
    if copies:
        includes.append("autograd/ops/before_change.h")
    if wider:
        includes.append("autograd/grad_dtype.h")
    if mutants:
        includes.append("autograd/ops/active_mutant.h")
    includes += cpp.doors(used, family, index)
    text = [
        cpp.head(ops, includes),
        "namespace proa::inline v0::autograd {",
        "namespace {",
        "using namespace ops;  // formulas are calls of ops\n",
    ]
    text += bodies
    text += ["}  // namespace", "}  // namespace proa::inline v0::autograd\n"]
    return "\n".join(text)


def _constant_inplace(op: model.Op) -> str:
    """The interpreter of an op in place that has no gradient: its result is a constant, as out of place."""
    name, x = f"{op.name}_", op.inplace
    return "\n".join(
        (
            f"// {op.name}",
            f"Tensor DifferentiateInplace{op.cpp_struct}({cpp.params(op)}) {{",
            f'  if (RequiresGrad({x})) CheckInplace("{name}", {x});',
            "  Tensor result;",
            "  {",
            "    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);",
            f"    result = ops::{name}({cpp.args(op)});",
            "  }",
            f"  if (RequiresGrad({x})) AssignHistory({x}, Detach({x}));",
            "  return result;",
            "}",
            f"const bool installed_{op.name} = [] {{",
            f"  op::{op.cpp_struct}::differentiate_inplace = &DifferentiateInplace{op.cpp_struct};",
            "  return true;",
            "}();",
            "",
        )
    )
