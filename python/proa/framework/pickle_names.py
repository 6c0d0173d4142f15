"""What the names in a pickle do that are read: how arrays, their types and plain containers are written.

Nothing is imported or called by name: each function here gives what the one of that name would.
"""

import collections

import numpy as np

from proa.framework.pickle_values import Array, DType, Global, kind_of

__all__ = ["GLOBALS"]

_DTYPES = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())


def _reconstruct(machine, kind, shape, code):
    if not isinstance(kind, Global) or kind.name != "numpy.ndarray":
        machine.fail(f"makes an array of the class {kind_of(kind)}")
    return Array()


def _ndarray(machine, *arguments):
    return machine.fail("calls numpy.ndarray, which arrays are not written with")


def _frombuffer(machine, raw, dtype, shape, order):
    if order not in ("C", "F"):
        machine.fail("makes an array of unknown order")
    return machine.array(raw, dtype, shape, order)


def _dtype(machine, code, align=False, copy=True):
    if not isinstance(code, str) or code not in _DTYPES:
        machine.fail(f"makes an array of the element type {str(code)[:40]!r}, which is not read")
    return DType(code)


def _scalar(machine, dtype, raw):
    return machine.array(raw, dtype, (), "C")[()]


def _encode(machine, text, encoding):
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        machine.fail("encodes otherwise than bytes are written")
    machine.spend(len(text))
    return text.encode("latin-1")


def _copy_of(kind, accepts):
    def make(machine, items=()):
        if not isinstance(items, accepts):
            machine.fail(f"makes a {kind.__name__} of a {kind_of(items)}")
        machine.spend(16 * len(items))
        return kind(items)

    return make


def _set_of(kind):
    def make(machine, items=()):
        if not isinstance(items, (list, tuple)):
            machine.fail(f"makes a {kind.__name__} of a {kind_of(items)}")
        machine.spend(64 * len(items))
        return kind(machine.key(item) for item in items)

    return make


def _ordered_dict(machine, pairs=()):
    if not isinstance(pairs, (list, tuple)):
        machine.fail(f"makes an OrderedDict of a {kind_of(pairs)}")
    machine.spend(128 * len(pairs))
    return collections.OrderedDict((machine.key(key), value) for key, value in pairs)


def _bytes(machine, text="", encoding="latin-1"):
    if encoding not in ("latin1", "latin-1"):
        machine.fail("encodes otherwise than bytes are written")
    return bytes(machine.data(text))


def _bytearray(machine, text="", encoding="latin-1"):
    return bytearray(_bytes(machine, text, encoding))


def _complex(machine, real=0.0, imaginary=0.0):
    if not all(isinstance(part, (int, float)) for part in (real, imaginary)):
        machine.fail("makes a complex number of what are no numbers")
    return complex(real, imaginary)


def _named_data(machine, text, names):
    """How the reference writes an array of a static program: eval("data", {"data": array})."""
    if (
        text != "data"
        or not isinstance(names, dict)
        or list(names) != ["data"]
        or not isinstance(names["data"], (Array, np.ndarray))
    ):
        machine.fail("calls eval")
    return names["data"]


GLOBALS = {
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _ordered_dict,
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _dtype,
}
for _core in ("numpy.core", "numpy._core"):
    GLOBALS[_core + ".multiarray", "_reconstruct"] = _reconstruct
    GLOBALS[_core + ".multiarray", "scalar"] = _scalar
    GLOBALS[_core + ".numeric", "_frombuffer"] = _frombuffer
for _builtins in ("builtins", "__builtin__"):
    GLOBALS[_builtins, "tuple"] = _copy_of(tuple, (list, tuple))
    GLOBALS[_builtins, "list"] = _copy_of(list, (list, tuple))
    GLOBALS[_builtins, "set"] = _set_of(set)
    GLOBALS[_builtins, "frozenset"] = _set_of(frozenset)
    GLOBALS[_builtins, "bytes"] = _bytes
    GLOBALS[_builtins, "bytearray"] = _bytearray
    GLOBALS[_builtins, "complex"] = _complex
    GLOBALS[_builtins, "eval"] = _named_data
