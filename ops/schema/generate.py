"""Generates the C++ of one op family from its schema files.

    generate.py --family elementwise --out DIR ops/elementwise/binary.yaml ... ops/elementwise/binary_samples.py ...

reads every schema named (formulas are checked against all of them) and writes the
files of the family into DIR. An op of the family without a reference in the samples
file beside its schema is an error. Run by the op_family macro, one action a family.
"""

from __future__ import annotations

import argparse
import os
import re
import sys

from ops.schema import alias, emit_bindings, emit_definitions, emit_grad, emit_kernels, emit_ops, model
from ops.schema import parser as schema_parser


def mutants(family: str, index: dict[str, model.Op]) -> dict[str, str]:
    """`<family>_grad_mutants.cc` and `<family>_mutants.json`, for ops/conformance/mutation.py."""
    return emit_grad.emit_mutants(_ops_of(family, index), family, index)


def _ops_of(family: str, index: dict[str, model.Op]) -> list[model.Op]:
    return sorted((op for op in index.values() if op.family == family), key=lambda op: (op.stem, op.location.line))


def generate(family: str, index: dict[str, model.Op], has_infer: bool) -> dict[str, str]:
    """All generated texts of a family by file name."""
    ops = _ops_of(family, index)
    for op in ops:
        if op.stem == family:
            raise model.SchemaError(
                op.location, f"a schema file may not have the name of its family: {family}_ops.h includes all"
            )
    files: dict[str, str] = {}
    files |= emit_ops.emit(ops, family, index, has_infer)
    files |= emit_definitions.emit(ops, family, index, has_infer)
    files |= emit_kernels.emit(ops, family)
    files |= emit_grad.emit(ops, family, index)
    files |= emit_bindings.emit(ops, family)
    return files


def check_references(family: str, index: dict[str, model.Op], samples: list[str]) -> None:
    """Raises SchemaError for an op of the family that no `<stem>_samples.py` has a reference (or check) for."""
    texts = {}
    for path in samples:
        with open(path, encoding="utf-8") as f:
            texts[os.path.basename(path)] = f.read()
    for op in index.values():
        if op.family != family or op.mutates or not op.samples:
            continue
        name = f"{op.stem}_samples.py"
        if not re.search(rf"\b(reference|check)_{op.name}\b", texts.get(name, "")):
            raise model.SchemaError(op.location, f"{op.name}: no reference_{op.name} or check_{op.name} in {name}")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", help="without it: the table of all aliases")
    parser.add_argument("--out", required=True)
    parser.add_argument("--has_infer", action="store_true")
    parser.add_argument(
        "--mutants", action="store_true", help="only the grad nodes, with mutants, and the list of these"
    )
    parser.add_argument("files", nargs="+")
    args = parser.parse_args(argv)
    try:
        index = schema_parser.parse_files([f for f in args.files if f.endswith(".yaml")])
        if args.family is None:
            files = {"alias_table.cc": alias.emit_table(list(index.values()))}
            return write(files, args.out)
        check_references(args.family, index, [f for f in args.files if f.endswith("_samples.py")])
        files = mutants(args.family, index) if args.mutants else generate(args.family, index, args.has_infer)
    except model.SchemaError as e:
        print(e, file=sys.stderr)
        return 1
    return write(files, args.out)


def write(files: dict[str, str], folder: str) -> int:
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
