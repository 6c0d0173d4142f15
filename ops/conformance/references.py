"""What `<stem>_samples.py` beside a schema provides: references, more samples, tolerances.

A module may hold, for an op `f`:
  reference_f(...)   the result over NumPy arrays, with the op's parameters; floating-point
                     arrays arrive as float64 (complex as complex128)
  samples_f()        yields more Sample objects
  gradients_f()      yields (arguments by name, gradient of sum(first output) by name) for kinks and ties, where
                     differences are of no use; and third, if wanted, the gradient of the sum of that
  check_f(ops, ...)  for ops whose result is no function of the inputs (random numbers):
                     checks properties, given the namespace of ops
and TOLERANCE = {'f': {'float32': (rtol, atol), 'float32 of bfloat16': (rtol, atol)}}, by the dtype of a result and, if
wanted, of an operand.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import types as python_types

from ops.schema import model


@functools.lru_cache(maxsize=None)
def load(folder: str, stem: str) -> python_types.ModuleType | None:
    path = os.path.join(folder, f"{stem}_samples.py")
    if not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location(f"{os.path.basename(folder)}_{stem}_samples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of(op: model.Op, kind: str):
    """The function `<kind>_<op>` beside the op's schema, or None."""
    module = load(os.path.dirname(op.location.file), op.stem)
    return getattr(module, f"{kind}_{op.name}", None) if module else None


def setting(op: model.Op, name: str):
    """The op's entry in a dict of the module, or None."""
    module = load(os.path.dirname(op.location.file), op.stem)
    return getattr(module, name, {}).get(op.name) if module else None
