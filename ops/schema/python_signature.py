"""The Python side of an op's signature: names, defaults and texts that several generators write."""

from __future__ import annotations

from ops.schema import model


def name_of(op: model.Op, p: model.Param) -> str:
    """The name of a parameter in Python, after the renames of `python: {params: ...}`."""
    return op.python.params.get(p.name, p.name) if op.python else p.name


def second_names(op: model.Op) -> dict[str, str]:
    """Renamed parameters, public name to that of the schema, by which a keyword may call them too."""
    pairs = {name_of(op, p): p.name for p in op.params}
    return {public: name for public, name in pairs.items() if public != name and name not in pairs}


def function_name(op: model.Op, inplace: bool) -> str | None:
    """The public function, or None."""
    if op.python is None or op.python.function is None or (inplace and not op.inplace):
        return None
    return op.python.function + ("_" if inplace else "")


def method_name(op: model.Op, inplace: bool) -> str | None:
    """The method of Tensor, or None."""
    if op.python is None or op.python.method is None or (inplace and not op.inplace):
        return None
    if not op.params or not op.params[0].is_tensor:
        raise model.SchemaError(op.location, f"{op.name}: a method needs a Tensor as first parameter")
    return op.python.method + ("_" if inplace else "")


def num_required(op: model.Op) -> int:
    """How many leading parameters a call must give."""
    required = [i for i, p in enumerate(op.params) if p.default is None and not p.optional]
    return required[-1] + 1 if required else 0


def default_of(p: model.Param) -> str:
    """The default as Python writes it."""
    text = p.default
    if text is None or text == "none":
        return "None"
    kind = p.type.name
    if kind.endswith("[]") or kind == "IntArray":
        # Python shows the empty list, for "all axes" and the like, as None.
        return "None" if text.strip() == "[]" else text
    if kind == "bool" or text in ("true", "false"):
        return {"true": "True", "false": "False"}[text]
    if kind in ("DType", "str", "Place"):
        return repr(text.strip("\"'"))
    # Written so that both Python and inspect.signature of C functions read them.
    return {"inf": "1e999", "-inf": "-1e999", "nan": "None"}.get(text, text)


def parameters(op: model.Op) -> list[tuple[str, str | None]]:
    """Name and default (None if required) of each parameter, `name=None` last."""
    n = num_required(op)
    out = [(name_of(op, p), default_of(p) if i >= n else None) for i, p in enumerate(op.params)]
    if "name" not in {name for name, _ in out}:
        out.append(("name", "None"))
    return out


def text_signature(op: model.Op, method: bool) -> str:
    """'x, y, name=None': what `inspect.signature` reads from the docstring of a C function or a method."""
    out = []
    renamed = [name for name, _ in parameters(op)]
    schema = [p.name for p in op.params]
    for i, (_, default) in enumerate(parameters(op)):
        # Functions of `_C.ops` keep the names of the schema.
        text = renamed[i] if method or i >= len(schema) else schema[i]
        out.append(text if default is None else f"{text}={default}")
    return ", ".join(out)
