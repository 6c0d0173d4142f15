"""Generates the C++ of one op family from its schema files.

    generate.py --family elementwise --out DIR ops/elementwise/binary.yaml ...

reads every schema named (formulas are checked against all of them) and writes the
files of the family into DIR. Run by the op_family macro, one action a family.
"""

from __future__ import annotations

import argparse
import os
import sys

from ops.schema import emit_bindings
from ops.schema import emit_definitions
from ops.schema import emit_grad
from ops.schema import emit_kernels
from ops.schema import emit_ops
from ops.schema import model
from ops.schema import parser as schema_parser


def generate(family: str, index: dict[str, model.Op], has_infer: bool) -> dict[str, str]:
  """All generated texts of a family by file name."""
  ops = sorted((op for op in index.values() if op.family == family), key=lambda op: (op.stem, op.location.line))
  files: dict[str, str] = {}
  files |= emit_ops.emit(ops, family, index, has_infer)
  files |= emit_definitions.emit(ops, family, has_infer)
  files |= emit_kernels.emit(ops, family)
  files |= emit_grad.emit(ops, family, index)
  files |= emit_bindings.emit(ops, family)
  return files


def main(argv: list[str]) -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--family', required=True)
  parser.add_argument('--out', required=True)
  parser.add_argument('--has_infer', action='store_true')
  parser.add_argument('schemas', nargs='+')
  args = parser.parse_args(argv)
  try:
    files = generate(args.family, schema_parser.parse_files(args.schemas), args.has_infer)
  except model.SchemaError as e:
    print(e, file=sys.stderr)
    return 1
  for name, text in files.items():
    with open(os.path.join(args.out, name), 'w', encoding='utf-8') as f:
      f.write(text)
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
