"""Writes the generated Python of the package: public functions, their stubs, the stub of _C.

    generate_python.py --template python/core/_C.pyi.in --out DIR --modules root,nn_functional ops/*/*.yaml

The modules are named so that a build rule knows its outputs: a schema that names
another is an error, a module without functions becomes an empty file.
"""

from __future__ import annotations

import argparse
import os
import re
import sys

from ops.schema import emit_python, model
from ops.schema import parser as schema_parser

_MARK = "    # GENERATED METHODS\n"


def extension_stub(template: str, ops: list[model.Op]) -> str:
    """The stub of _C: the template with the generated methods that it does not write itself."""
    written = set(re.findall(r"^    def (\w+)\(", template, re.MULTILINE))
    methods = [
        line
        for line in emit_python.tensor_methods(ops).splitlines(keepends=True)
        if re.match(r"    def (\w+)\(", line)[1] not in written
    ]
    return template.replace(_MARK, "".join(methods))


def generate(ops: list[model.Op], modules: list[str], template: str) -> dict[str, str]:
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
    files["_C.pyi"] = extension_stub(template, ops)
    return files


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--template", required=True)
    parser.add_argument("--modules", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("schemas", nargs="+")
    args = parser.parse_args(argv)
    with open(args.template, encoding="utf-8") as f:
        template = f.read()
    try:
        ops = list(schema_parser.parse_files(args.schemas).values())
        files = generate(ops, args.modules.split(","), template)
    except model.SchemaError as e:
        print(e, file=sys.stderr)
        return 1
    for name, text in files.items():
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
