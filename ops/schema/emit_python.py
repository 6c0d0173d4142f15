"""Generates the public Python functions of all ops, and their type stubs.

`<module>.py` (root.py, nn_functional.py, ...: `python: {module: ...}` of the schemas)
holds a real function for each op: Paddle's signature, a docstring, and a body that
hands its arguments to `_C.ops`. `<module>.pyi` has the same with types; the methods of
Tensor are C functions, whose stubs `tensor_methods` writes.
"""

from __future__ import annotations

import textwrap

from ops.schema import model, python_example, python_signature

_HEAD = '"""{title}\n\nGenerated from the schemas by ops/schema; do not edit.\n"""\n'


def emit(ops: list[model.Op]) -> dict[str, str]:
    """Texts of all modules and stubs by file name; `ops` is the whole registry."""
    modules: dict[str, list[tuple[model.Op, bool]]] = {}
    for op in sorted(ops, key=lambda o: o.name):
        for inplace in (False, True):
            if python_signature.function_name(op, inplace):
                modules.setdefault(op.python.module, []).append((op, inplace))
    files = {"__init__.py": _HEAD.format(title="The functions that are ops, one module for each public namespace.")}
    for module, entries in modules.items():
        _check_names(module, entries)
        files[f"{module}.py"] = _module(module, entries)
        files[f"{module}.pyi"] = _stub(module, entries)
    return files


def _check_names(module: str, entries: list[tuple[model.Op, bool]]) -> None:
    seen: dict[str, model.Op] = {}
    for op, inplace in entries:
        name = python_signature.function_name(op, inplace)
        if name in seen:
            raise model.SchemaError(op.location, f"function {name} of module {module} is already op {seen[name].name}")
        seen[name] = op


def _module(module: str, entries: list[tuple[model.Op, bool]]) -> str:
    out = [_HEAD.format(title=f"Functions of {python_example.public_name(module)} that are ops.")]
    out.append("from proa._C import ops as _ops\n")
    out.append(_all(entries))
    out += [_function(op, inplace) for op, inplace in entries]
    return "\n".join(out)


def _all(entries: list[tuple[model.Op, bool]]) -> str:
    names = sorted(python_signature.function_name(op, inplace) for op, inplace in entries)
    return "__all__ = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n"


def _function(op: model.Op, inplace: bool) -> str:
    name = python_signature.function_name(op, inplace)
    kernel = f"_ops_{op.name}{'_' if inplace else ''}"
    params = python_signature.parameters(op)
    second = python_signature.second_names(op)
    if second:  # A renamed one, and what follows it, has a default; the core says what is missing.
        first = next(i for i, (n, _) in enumerate(params) if n in second)
        params = [(n, d if i < first else d or "None") for i, (n, d) in enumerate(params)]
        params += [("*", None), *((n, "None") for n in second.values())]
    signature = ", ".join(n if d is None else f"{n}={d}" for n, d in params)
    names = [python_signature.name_of(op, p) for p in op.params]
    passed = ", ".join(f"{n} if {second[n]} is None else {second[n]}" if n in second else n for n in names)
    doc = textwrap.indent(_docstring(op, inplace), "    ").replace("\\", "\\\\").replace('"""', "'''")
    return (
        f"\n{kernel} = _ops.{op.name}{'_' if inplace else ''}\n\n\n"
        f'def {name}({signature}):\n    """{doc.strip()}\n    """\n    return {kernel}({passed})\n'
    )


def _docstring(op: model.Op, inplace: bool) -> str:
    out = [op.doc.strip()]
    if inplace:
        first = python_signature.name_of(op, op.params[0])
        out.append(f"In place: {first} holds the result, and is returned.")
    rows = []
    n = python_signature.num_required(op)
    for i, p in enumerate(op.params):
        kind = PYTHON_TYPES[p.type.name] + (", optional" if i >= n else "")
        default = python_signature.default_of(p)
        rows.append(
            f"    {python_signature.name_of(op, p)} ({kind})"
            + (f": default {default}" if i >= n and default != "None" else "")
        )
    if rows:
        out.append("Args:\n" + "\n".join(rows))
    returns = ", ".join(f"{o.name} (list of Tensor)" if o.is_list else f"{o.name} (Tensor)" for o in op.outputs)
    if returns:
        out.append(f"Returns:\n    {returns}")
    example = python_example.example(op, inplace)
    if example:
        out.append(f"Examples:\n    >>> out = {example}")
    return "\n\n".join(out)


# What docstrings and stubs say about the types of the schema language.
PYTHON_TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "list of Tensor",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "int[]": "int or list of int",
    "float[]": "float or list of float",
    "IntArray": "list of int, or integer Tensor",
    "Scalar": "number",
    "DType": "dtype",
    "Place": "place",
}

# Stubs ---------------------------------------------------------------------------


def _annotation(op: model.Op, p: model.Param) -> str:
    from ops.schema import emit_bindings

    text = p.type.python
    if p.type.name in emit_bindings.MAY_BE_LATE:
        text = text.replace("Sequence[int]", "Sequence[int | Tensor]").replace(
            "Sequence[float]", "Sequence[float | Tensor]"
        )
        text = f"{text.removesuffix(' | None')} | Tensor" + (" | None" if text.endswith("None") else "")
    if p.is_tensor and emit_bindings.promotes(op, False) >> op.params.index(p) & 1:
        text = "Tensor | Number"
    optional = p.optional or p.default == "none" or (p.default is not None and python_signature.default_of(p) == "None")
    return text if not optional or text.endswith("None") else f"{text} | None"


def _returned(op: model.Op) -> str:
    kinds = ["list[Tensor]" if o.is_list else "Tensor" for o in op.outputs]
    return "None" if not kinds else kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def _stub_params(op: model.Op, method: bool) -> str:
    n = python_signature.num_required(op)
    out = []
    for i, p in enumerate(op.params):
        if method and i == 0:
            out.append("self")
            continue
        default = python_signature.default_of(p)
        out.append(f"{python_signature.name_of(op, p)}: {_annotation(op, p)}" + ("" if i < n else f" = {default}"))
    if "name" not in {python_signature.name_of(op, p) for p in op.params}:
        out.append("name: str | None = None")
    return ", ".join(out)


def _stub(module: str, entries: list[tuple[model.Op, bool]]) -> str:
    out = [
        "# Generated from the schemas by ops/schema; do not edit.",
        "from collections.abc import Sequence\n",
        "from proa._C import Bool, DTypeLike, Number, PlaceLike, Tensor\n",
        _all(entries),
    ]
    for op, inplace in entries:
        out.append(
            f"def {python_signature.function_name(op, inplace)}({_stub_params(op, False)}) -> {_returned(op)}: ..."
        )
    return "\n".join(out) + "\n"


def tensor_methods(ops: list[model.Op]) -> str:
    """The generated methods of class Tensor, as the body of its stub."""
    out = []
    for op in sorted(ops, key=lambda o: o.name):
        for inplace in (False, True):
            name = python_signature.method_name(op, inplace)
            if name:
                out.append(f"    def {name}({_stub_params(op, True)}) -> {_returned(op)}: ...\n")
    return "".join(out)
