"""Attributes, which may be given as tensors: numbers where the numbers are known, else what goes to an op as it is.

An eager tensor, and a constant of a program, has its numbers; another tensor of a program gets them when the program
runs. Ops take such tensors wherever they take a number or a list of numbers.

Ops check what they get, and name it. What a function of Python itself computes with goes through one of the checkers
here: an int, a real number, a list of ints, one of several words. A checker answers what is right at once, so that it
costs a call, and says of the rest which argument of which function it is and what belongs there.
"""

import math
import operator

from proa import _C

__all__ = [
    "a_list",
    "an_int",
    "cut_int",
    "function",
    "ints",
    "is_late",
    "known",
    "known_int",
    "known_ints",
    "known_list",
    "known_number",
    "known_real",
    "known_reals",
    "number",
    "numbers",
    "real",
    "reals",
    "within",
    "word",
    "wrong",
]

_PLAIN = (int, float, str, bool, type(None))


def number(value):
    """The number in a tensor of one element, if it is known; the tensor itself if not, and anything else as it is."""
    if isinstance(value, _C.Tensor) and _C.take_elements(value) and value.size == 1:
        return value.item()
    return value


def numbers(values):
    """A list in which tensors of one element are numbers, if these are known; of a tensor its elements.

    A tensor of a program with a known number of elements becomes the list of them; one number stays one.
    """
    if isinstance(values, _C.Tensor):
        if len(values.shape) == 0:
            return number(values)
        if len(values.shape) > 1:
            return values
        if _C.take_elements(values):
            return values.tolist()
        return [values[i] for i in range(values.shape[0])]
    return [number(v) for v in values] if isinstance(values, (list, tuple)) else values


def known(op, parameter, value):
    """`numbers` of what decides which operations are recorded: a value of the program is refused.

    Args:
        op (str): the public function.
        parameter (str): its parameter.
        value: what was given for it.

    Raises:
        ValueError: it is, or holds, a tensor whose number only the run of a program knows.
    """
    if type(value) in _PLAIN:
        return value
    value = numbers(value)
    for v in value if isinstance(value, (list, tuple)) else (value,):
        _require_elements(op, parameter, v)
    return value


def known_number(op, parameter, value):
    """`number` of what decides which operations are recorded; else as `known`."""
    if type(value) in _PLAIN:
        return value
    value = number(value)
    _require_elements(op, parameter, value)
    return value


def _require_elements(op, parameter, value):
    if isinstance(value, _C.Tensor) and not _C.take_elements(value):
        what = f"{list(value.shape)} {value.dtype.name}, a value of the program"
        raise _C.located(ValueError(f"{op}: {parameter} must be known when the program is recorded; it is {what}"))


def is_late(*values):
    """Whether one of these, or of the items of lists among these, is known only when the program runs."""
    for v in values:
        if type(v) in _PLAIN:
            continue
        if isinstance(v, (list, tuple)):
            if is_late(*v):
                return True
            continue
        from proa.framework.size import Size

        if isinstance(v, (_C.Tensor, Size)):
            return True
    return False


# Checkers ------------------------------------------------------------------------


def wrong(op, parameter, wanted, value):
    """The TypeError of an argument: `op: parameter must be <wanted>, not <what it is>`."""
    if isinstance(value, _C.Tensor):
        what = f"a Tensor {list(value.shape)} {value.dtype.name}"
    elif value is None or isinstance(value, (int, float)):
        what = repr(value)
    else:
        what = type(value).__name__
    return _C.located(TypeError(f"{op}: {parameter} must be {wanted}, not {what}"))


def within(op, parameter, value):
    """An int that int64 holds."""
    if -(2**63) <= value < 2**63:
        return value
    raise _C.located(OverflowError(f"{op}: {parameter} is {value}, which int64 does not hold"))


def known_int(op, parameter, value, wanted="an int"):
    """`known_number` that is an int, of Python or NumPy; an open size stays one."""
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if type(value) is not int:
        value = known_number(op, parameter, value)
        if not isinstance(value, _C.Tensor):
            if is_late(value):
                return value
            try:
                value = operator.index(value)
            except TypeError:
                pass
        if not isinstance(value, int):
            raise wrong(op, parameter, wanted, value)
    return within(op, parameter, value)


def an_int(op, parameter, value):
    """`known_int`, or what only the run of a program knows as it is."""
    value = number(value)
    return value if is_late(value) else known_int(op, parameter, value)


def known_ints(op, parameter, value, wanted="a list of ints"):
    """`known` that is a list of ints."""
    return ints(op, parameter, known(op, parameter, value), wanted)


def ints(op, parameter, values, wanted="a list of ints"):
    """`numbers` as a list of ints and of numbers that only the run of a program knows; a tensor of these alone stays one."""
    if type(values) in (list, tuple):
        for v in values:
            if type(v) is not int:
                break
        else:
            return list(values)
    found = numbers(values)
    if isinstance(found, _C.Tensor) and is_late(found) and len(found.shape) < 2:
        return found
    found = a_list(op, parameter, found, wanted)
    for i, v in enumerate(found):
        if type(v) is not int and not is_late(v):
            found[i] = known_int(op, f"element {i} of {parameter}", v)
    return found


def known_real(op, parameter, value, wanted="a number"):
    """`known_number` that is a real number, of Python or NumPy."""
    if type(value) is float:
        return value
    value = known_number(op, parameter, value)
    if isinstance(value, _C.Tensor):
        raise wrong(op, parameter, wanted, value)
    if not isinstance(value, int) and not is_late(value):  # of NumPy: one element
        try:
            float(value)
        except (TypeError, ValueError):
            raise wrong(op, parameter, wanted, value) from None
    return real(op, parameter, value, wanted)


def real(op, parameter, value, wanted="a number"):
    """What stands beside a tensor in arithmetic: a real number, or a tensor, an array or an open size as it is."""
    if type(value) is float:
        return value
    if isinstance(value, int):
        return within(op, parameter, value)
    if isinstance(value, type) or not any(hasattr(value, way) for way in ("__float__", "__index__", "__array__")):
        raise wrong(op, parameter, wanted, value)
    return value


def known_list(op, parameter, value, counts=(), wanted="a list of numbers"):
    """`known` that is a list of real numbers; of one of some `counts` of them, if these are given."""
    found = a_list(op, parameter, known(op, parameter, value), wanted)
    found = [known_real(op, f"element {i} of {parameter}", v) for i, v in enumerate(found)]
    if counts and len(found) not in counts:
        raise _C.located(ValueError(f"{op}: {parameter} must be {wanted}, not {value!r}"))
    return found


def a_list(op, parameter, value, wanted="a list"):
    """The items of what can be gone through as a list; text, bytes, dicts and tensors are none."""
    if not isinstance(value, (str, bytes, dict, _C.Tensor)):
        try:
            return list(value)
        except TypeError:
            pass
    raise wrong(op, parameter, wanted, value)


def function(op, parameter, value):
    """What can be called, or None."""
    if value is None or callable(value):
        return value
    raise wrong(op, parameter, "callable", value)


def cut_int(op, parameter, value, wanted="an int"):
    """`known_int`, where a finite float is cut off: sizes that programs compute."""
    value = known_number(op, parameter, value)
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    return known_int(op, parameter, value, wanted)


def known_reals(op, **given):
    """`known_real` of several arguments: `a, b = known_reals("op", a=a, b=b)`."""
    return [known_real(op, parameter, value) for parameter, value in given.items()]


def reals(op, **given):
    """`real` of several arguments."""
    return [real(op, parameter, value) for parameter, value in given.items()]


def positive_int(op, parameter, value):
    """Raises unless it is an int above 0: a TypeError for what is none, a ValueError for others."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(op, parameter, "a positive int", value)
    if value <= 0:
        raise _C.located(ValueError(f"{op}: {parameter} must be a positive int, not {value!r}"))


def word(op, parameter, value, words):
    """One of several words."""
    if isinstance(value, str) and value in words:
        return value
    raise _C.located(ValueError(f"{op}: {parameter} must be one of {', '.join(words)}, not {value!r}"))
