"""Writes the generated Python of the package: public functions, their stubs, the stub of _C.

    generate_python.py --template python/core/_C.pyi.in --out DIR --modules root,nn_functional ops/*/*.yaml \
        python/proa/tensor/*.py

The modules are named so that a build rule knows its outputs: a schema that names
another is an error, a module without functions becomes an empty file. Functions of the Python files that are decorated
with `@method` (proa.tensor.method) stand in the stub of Tensor too.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys

from ops.schema import alias, emit_python, model
from ops.schema import parser as schema_parser

_MARK = "    # GENERATED METHODS\n"


def python_methods(paths: list[str]) -> list[str]:
    """Stubs of the methods that Python files add to Tensor, a line each."""
    out = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read(), path)
        for node in tree.body:
            decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
            if isinstance(node, ast.FunctionDef) and decorators[:1] in (["_method"], ["method"]):
                if not node.args.args:  # the tensor is the first of *inputs
                    node.args.args = [ast.arg("self")]
                node.args.args[0].arg = "self"
                if len(node.args.defaults) == len(node.args.args):
                    node.args.defaults = node.args.defaults[1:]
                for a in [
                    *node.args.args[1:],
                    *node.args.kwonlyargs,
                    *([node.args.vararg] if node.args.vararg else []),
                ]:
                    a.annotation = ast.Name("Any")
                out.append(f"    def {node.name}({ast.unparse(node.args)}) -> Any: ...\n")
    return out


def extension_stub(template: str, ops: list[model.Op], paths: list[str]) -> str:
    """The stub of _C: the template with the generated methods that it does not write itself."""
    written = set(re.findall(r"^    def (\w+)\(", template, re.MULTILINE))
    methods = {}
    for line in emit_python.tensor_methods(ops).splitlines(keepends=True) + python_methods(paths):
        name = re.match(r"    def (\w+)\(", line)[1]
        if name not in written:
            methods[name] = line
    return template.replace(_MARK, "".join(methods[name] for name in sorted(methods)))


def generate(ops: list[model.Op], modules: list[str], template: str, paths: list[str] = ()) -> dict[str, str]:
    """Texts by file name."""
    files = emit_python.emit(ops)
    for op in ops:
        if op.python and op.python.function and op.python.module not in modules:
            raise model.SchemaError(
                op.location,
                f"module {op.python.module!r} is not among {', '.join(modules)}; "
                "add it to GENERATED_MODULES in python/core/generated.bzl",
            )
    for module in modules:
        files.setdefault(f"{module}.py", '"""No op has its function here yet."""\n\n__all__ = []\n')
        files.setdefault(f"{module}.pyi", "__all__: list[str] = []\n")
    files["aliases.py"] = alias.emit(ops)
    files["_C.pyi"] = extension_stub(template, ops, paths)
    return files


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--template", required=True)
    parser.add_argument("--modules", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args(argv)
    with open(args.template, encoding="utf-8") as f:
        template = f.read()
    try:
        ops = list(schema_parser.parse_files([p for p in args.sources if p.endswith(".yaml")]).values())
        files = generate(ops, args.modules.split(","), template, [p for p in args.sources if p.endswith(".py")])
    except model.SchemaError as e:
        print(e, file=sys.stderr)
        return 1
    for name, text in files.items():
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
