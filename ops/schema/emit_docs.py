"""The page of all ops, a table a family.

`bazel build //docs:ops` writes bazel-bin/docs/ops.md, and ./dev docs has it on the site.
"""

from __future__ import annotations

import argparse
import sys

from ops.schema import model, param_types, python_example, python_signature
from ops.schema import parser as schema_parser

_HEAD = """# Ops

Made from the schemas; [the schema language](schema.md) explains the signatures.
"""


def emit(ops: list[model.Op]) -> str:
    """The text of the page."""
    out = [_HEAD]
    out.append(f"{len(ops)} ops, {sum(bool(o.inplace) for o in ops)} of them also in place.\n")
    for family in sorted({o.family for o in ops}):
        out.append(f"## {family}\n")
        out.append("| op | Python | dtypes | gradient | what it does |\n|---|---|---|---|---|")
        out += [_row(o) for o in sorted(ops, key=lambda o: o.name) if o.family == family]
        out.append("")
    return "\n".join(out)


def _row(op: model.Op) -> str:
    first = op.doc.strip().splitlines()[0].replace("|", "\\|")
    if op.aliases:
        first += f" In the reference: {', '.join(f'`{a.name}`' for a in op.aliases)}."
    return f"| `{op.signature}` | {_python(op)} | {_dtypes(op)} | {_gradient(op)} | {first} |"


def _python(op: model.Op) -> str:
    out = []
    function = python_signature.function_name(op, False)
    if function:
        out.append(f"`{python_example.public_name(op.python.module)}.{function}`")
    method = python_signature.method_name(op, False)
    if method:
        out.append(f"`.{method}`")
    if op.python and op.python.operator:
        out.append("`" + op.python.operator.replace("|", "\\|") + "`")
    return " ".join(out)


def _dtypes(op: model.Op) -> str:
    if op.composite is not None:
        return "as its parts"
    for name, members in param_types.DTYPE_SETS.items():
        if members == op.dtypes:
            return name
    return ", ".join(op.dtypes)


def _gradient(op: model.Op) -> str:
    if op.composite is not None:
        return "as its parts"
    return ", ".join(p.name for p in op.differentiable_params) or "none"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("schemas", nargs="+")
    args = parser.parse_args(argv)
    index = schema_parser.parse_files(args.schemas)
    with open(args.out, "w", encoding="utf-8") as f:
        f.write(emit(list(index.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
