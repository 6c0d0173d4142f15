"""Renews the third column of reference_signatures.tsv: parameters in the release that is installed as `paddle`.

    python reference_signatures.py reference_signatures.tsv

The first two columns are the names and parameters that the documentation of 2.3 has; `self` is left out.
"""

import ast
import importlib
import inspect
import sys


def find(root, name):
    """What `root.name` is; modules are imported as programs import them."""
    value, path = root, root.__name__
    for part in name.split("."):
        path += f".{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(path)
    return value


def parameters(value, name):
    """The parameters of a function, method or class without `self`; None if they cannot be known."""
    try:
        found = list(inspect.signature(value.__init__ if isinstance(value, type) else value).parameters.values())
    except (TypeError, ValueError):
        return None
    if isinstance(value, type):
        return found[1:] if found and found[0].name in ("self", "args", "cls") else found
    method = name.startswith("Tensor.") or found and found[0].name == "self"
    return found[1:] if method else found


def read(path):
    """(name, parameters of 2.3, parameters of a later release or None) of each row."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                name, *columns = line.rstrip("\n").split("\t")
                yield name, columns[0] if columns else "", columns[1] if len(columns) > 1 else None


def _text(found):
    """Parameters as a row has them; None if there is nothing to compare with."""
    if found is None or [p.kind for p in found] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return None
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    texts = []
    for p in found:
        if p.kind != inspect.Parameter.KEYWORD_ONLY:
            default = "" if p.default is p.empty else f"={p.default!r}"
            try:
                ast.parse(f"def f(a{default}): pass")
            except SyntaxError:
                default = "=None"
            texts.append(marks.get(p.kind, "") + p.name + default)
    return ", ".join(texts)


def main(path):
    import paddle

    lines = [
        "# Parameters of public functions, classes and methods: as documented for 2.3, and in 3.3.1 where these are "
        "others (reference_signatures.py)."
    ]
    for name, old, _ in read(path):
        try:
            new = _text(parameters(find(paddle, name), name))
        except (ImportError, AttributeError):
            new = None
        lines.append(f"{name}\t{old}\t{new}" if new not in (None, old) else f"{name}\t{old}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
