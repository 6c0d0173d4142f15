"""Examples for docstrings, made from the samples of the schemas."""

from __future__ import annotations

import re

from ops.schema import commas, model, param_types, python_signature

_NAMES = {"root": "proa"}


def public_name(module: str) -> str:
    """'nn_functional' -> 'proa.nn.functional'."""
    return _NAMES.get(module, "proa." + module.replace("nn_functional", "nn.functional"))


def example(op: model.Op, inplace: bool = False) -> str | None:
    """A call of the public function with a sample that Python writes in short; None if there is none."""
    function = python_signature.function_name(op, inplace)
    for sample in op.samples:
        args = [_argument(a) for a in commas.split(sample)]
        if function and None not in args:
            return f"{public_name(op.python.module)}.{function}({', '.join(_renamed(op, a) for a in args)})"
    return None


def _renamed(op: model.Op, arg: str) -> str:
    m = re.match(r"(\w+)=(?!=)", arg)
    if m and m[1] in op.by_name:
        return python_signature.name_of(op, op.by_name[m[1]]) + arg[m.end(1) :]
    return arg


def _argument(text: str) -> str | None:
    """Python of one argument of a sample."""
    text = text.strip()
    tensor = _tensor(text)
    if tensor:
        return tensor
    if text.startswith("("):
        items = [_argument(t) for t in commas.split(text[1:-1])]
        return None if None in items else f"[{', '.join(items)}]"
    return text if re.fullmatch(r'(\w+=)?[-\w\[\], .\'"]+', text) else None


def _tensor(text: str) -> str | None:
    m = re.fullmatch(r"([a-z]+\d*|N)\[([\d, ]*)\](.*)", text)
    if not m or m[1] not in (*param_types.DTYPE_CODES, "N"):
        return None
    dtype = "float32" if m[1] == "N" else param_types.DTYPE_CODES[m[1]]
    if m[3].strip() in ("hermitian", "definite"):
        sizes = m[2].replace(" ", "").split(",")
        return f"proa.eye({sizes[0]})" if dtype == "float32" and len(sizes) == 2 else None
    shape = "[" + ", ".join(m[2].replace(" ", "").split(",")) + "]"
    # Indices start at zero; every other sample takes ones.
    function = "zeros" if dtype.startswith("int") and "=" in m[3] else "ones"
    return f"proa.{function}({shape})" if dtype == "float32" else f'proa.{function}({shape}, "{dtype}")'
