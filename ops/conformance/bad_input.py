"""What every op says to bad input: the kind of the error and its content, by the op's signature alone.

`cases(proa, op)` spoils one argument of the op's first samples in every way that makes sense for its type; `judge`
says what is wrong with an answer. An answer is a result, or an exception of the kind that Python users expect, whose
message begins with the op and names the argument and what it is.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np

from ops.conformance import samples as samples_lib
from ops.conformance import suite
from ops.schema import model, param_types, python_signature

_BIG = (2**63 - 1, -(2**63))
# What says how large things are: "[2, 3] float32", "a tensor of 1 dims", "holds 3 elements".
_SHAPE = re.compile(r"\[[\d, ?-]*[\])]|\d+ x \d+|row \d+|\d+ (dims|elements|axes|values|tensors)|\d+-d|rank \d+")
_DTYPE = re.compile("|".join(param_types.DTYPES))


@dataclasses.dataclass
class BadCall:
    """A call with one spoiled argument, and what its error must be like.

    `must_fail`: a result is wrong. `kinds`: exceptions that are right. `says`: what the message has to contain.
    """

    what: str
    param: str
    values: dict[str, Any]
    kinds: tuple[type, ...]
    says: tuple[str, ...] = ()
    must_fail: bool = True
    shapes: bool = False  # the message says what shapes there are
    kind_says: dict[type, re.Pattern] = dataclasses.field(default_factory=dict)


# The reference's word for the kind of mistake, before everything else.
_WORD = re.compile(r"\((InvalidArgument|OutOfRange|NotFound|PreconditionNotMet|Unimplemented|ResourceExhausted)\) ")


def _public(case: suite.Case, p: model.Param) -> str:
    return python_signature.name_of(case.op, p)


def _sample_cases(proa, op: model.Op) -> list[suite.Case]:
    cases = []
    for text in op.samples[:3]:
        for sample in samples_lib.parse(text, op.dtypes[-1:])[:1]:
            cases.append(suite.Case(proa, op, sample))
    return cases


def cases(proa, op: model.Op) -> list[BadCall]:
    out: list[BadCall] = []
    samples = _sample_cases(proa, op)
    for case in samples[:1]:
        for p in op.params:
            out += _wrong_types(case, p)
        out += _wrong_counts(case)
    for case in samples:
        for p in op.params:
            if p.name not in case.values and p.default is None:
                continue
            if p.is_tensor or p.is_tensor_list:
                out += _wrong_tensors(proa, case, p)
            else:
                out += _wrong_numbers(case, p)
    return out


def _spoiled(case: suite.Case, p: model.Param, value) -> dict[str, Any]:
    return {**case.values, p.name: value}


class _Odd:
    """An object that is nothing that an op takes."""


def _wrong_types(case, p):
    bad: list[tuple[str, Any]] = [("an object", _Odd())]
    # None stands for a default.
    if not p.optional and p.default is None and not p.type.name.endswith("[]") and p.type.name != "IntArray":
        bad.append(("None", None))
    if p.is_tensor:
        bad.append(("a text", "text"))
    elif p.is_tensor_list:
        bad += [("a number", 3), ("a list with None", [None]), ("a list with a text", ["x"])]
    elif p.type.name in ("int", "int[]", "IntArray"):
        bad += [("a float", 1.5), ("a text", "1")]
    elif p.type.name == "float":
        bad.append(("a text", "1"))
    elif p.type.name == "bool":
        bad.append(("a text", "yes"))
    elif p.type.name == "str":
        bad.append(("a number", 3))
    for what, value in bad:
        yield BadCall(f"{p.name} is {what}", p.name, _spoiled(case, p, value), (TypeError,), (_public(case, p),))
    if p.type.name in ("DType", "Place"):
        yield BadCall(
            f"{p.name} is no such name", p.name, _spoiled(case, p, "float37"), (TypeError, ValueError), ("float37",)
        )


def _wrong_counts(case):
    required = [p for p in case.op.params if p.default is None and not p.optional]
    if required:
        values = {k: v for k, v in case.values.items() if k != required[-1].name}
        name = required[-1].name
        yield BadCall(f"{name} is missing", name, values, (TypeError,), (_public(case, required[-1]),))
    yield BadCall("an unknown keyword", "", {**case.values, "no_such": 1}, (TypeError,), ("no_such",))


def _wrong_tensors(proa, case, p):
    value = case.values.get(p.name)
    if p.is_tensor_list:
        yield BadCall(
            f"{p.name} is an empty list", p.name, _spoiled(case, p, []), (ValueError, TypeError), (), must_fail=False
        )
        if not value:
            return
        x = value[0]
        wrap = lambda t: [t, *value[1:]]
    else:
        if value is None:
            return
        x, wrap = value, lambda t: t
    numbers = suite.to_numpy(x)
    spoil = {
        "has a dim more": numbers[None],
        "has two dims more": numbers[None, :, None] if numbers.ndim else numbers[None, None],
        "is 0-d": numbers.reshape(-1)[:1].reshape(()) if numbers.size else np.zeros((), numbers.dtype),
        "is empty": np.zeros((0,) * numbers.ndim, numbers.dtype),
    }
    if numbers.ndim:
        spoil["has a dim less"] = numbers.reshape(-1)[: numbers.shape[-1]]
        for axis in {0, numbers.ndim - 1}:
            pad = [(0, 0)] * numbers.ndim
            pad[axis] = (0, 1)
            spoil[f"is longer along dim {axis}"] = np.pad(numbers, pad)
    for what, array in spoil.items():
        t = proa.to_tensor(np.ascontiguousarray(array)).astype(x.dtype)
        yield BadCall(
            f"{p.name} {what} {list(array.shape)}",
            p.name,
            _spoiled(case, p, wrap(t)),
            (ValueError, IndexError),
            must_fail=False,
            shapes=True,
        )
    for dtype in ("bool", "uint8", "int32", "int64", "float16", "float64", "complex64"):
        if dtype == x.dtype.name:
            continue
        with np.errstate(all="ignore"):
            t = proa.to_tensor(np.ones(numbers.shape, dtype))
        yield BadCall(
            f"{p.name} is {dtype}",
            p.name,
            _spoiled(case, p, wrap(t)),
            (TypeError, ValueError),
            must_fail=False,
            kind_says={TypeError: _DTYPE},
        )


def _first_rank(case):
    for v in case.values.values():
        if hasattr(v, "shape"):
            return len(v.shape)
        if isinstance(v, list) and v and hasattr(v[0], "shape"):
            return len(v[0].shape)
    return None


def _wrong_numbers(case, p):
    kind = p.type.name
    is_list = kind in ("int[]", "IntArray")
    wrap = (lambda v: [v]) if is_list else (lambda v: v)
    if kind in ("int", "int[]", "IntArray"):
        yield BadCall(
            f"{p.name} is 2^63",
            p.name,
            _spoiled(case, p, wrap(2**63)),
            (OverflowError,),
            (_public(case, p),),
            must_fail=True,
        )
        for value in (*_BIG, -1):
            yield BadCall(
                f"{p.name} is {wrap(value)}",
                p.name,
                _spoiled(case, p, wrap(value)),
                (ValueError, IndexError, OverflowError, MemoryError),
                must_fail=False,
            )
    rank = _first_rank(case)
    if p.name in ("axis", "axes", "dim") and kind in ("int", "int[]") and rank is not None:
        for value in (-rank - 1, rank, 2**31, *_BIG):
            if rank == 0 and value in (-1, 0):
                continue
            yield BadCall(
                f"{p.name} is {value} of rank {rank}",
                p.name,
                _spoiled(case, p, wrap(value)),
                # Something else may be wrong as well: the length of a list, a gradient of another shape.
                (IndexError, ValueError),
                must_fail=False,
                kind_says={IndexError: re.compile(rf"(?<!\d){value}(?!\d)")},
            )
    if is_list:
        for value in ([2**62, 4], [2**40, 2**40], [-5, 2], [2] * 70):
            yield BadCall(
                f"{p.name} is {value}",
                p.name,
                _spoiled(case, p, value),
                (ValueError, IndexError, MemoryError, OverflowError),
                must_fail=False,
            )
        if kind == "int[]":
            yield BadCall(
                f"{p.name} is empty", p.name, _spoiled(case, p, []), (ValueError, IndexError), must_fail=False
            )
    if kind == "str":
        yield BadCall(
            f"{p.name} is 'no such'",
            p.name,
            _spoiled(case, p, "no such"),
            (ValueError,),
            must_fail=False,
            kind_says={ValueError: re.compile("no such|do not broadcast")},
        )


def judge(proa, op: model.Op, bad: BadCall) -> str | None:
    """Calls, and says what is wrong with the answer; None if nothing is."""
    where = f"{op.name}: {bad.what}"
    try:
        suite.flatten(getattr(proa._C.ops, op.name)(**bad.values))
    except bad.kinds as e:
        error, text = e, str(e)
    except Exception as e:  # pylint: disable=broad-except
        return f"{where}: {type(e).__name__} ({e}); expected {' or '.join(k.__name__ for k in bad.kinds)}"
    else:
        return f"{where}: did not fail" if bad.must_fail else None
    # Both of Python's kind and of the reference's, which raises ValueError for these.
    if isinstance(error, (TypeError, IndexError)) and "()" not in text and not isinstance(error, ValueError):
        return f"{where}: {type(error).__name__} is not also a ValueError: {text}"
    if "()" not in text and not isinstance(error, OverflowError):
        word = _WORD.match(text)
        if word is None:
            return f"{where}: does not open with the kind of the mistake: {text}"
        text = text[word.end() :]
    # A place is read before the op is known.
    begins = (f"{op.name}:", f"{op.name}()", f"{op.name}_:", "place:" if "place" in bad.param else f"{op.name}:")
    if not text.startswith(begins):
        return f"{where}: does not begin with the op: {text}"
    for part in bad.says:
        if part not in text:
            return f"{where}: does not say {part!r}: {text}"
    for kind, pattern in bad.kind_says.items():
        if isinstance(error, kind) and not pattern.search(text):
            return f"{where}: does not say {pattern.pattern!r}: {text}"
    if bad.shapes and not _SHAPE.search(text):
        return f"{where}: does not say which shapes: {text}"
    return None
