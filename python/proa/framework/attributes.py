"""Attributes that are given as tensors: numbers where the numbers are known, else what goes to an op as it is.

An eager tensor, and a constant of a program, has its numbers; another tensor of a program gets them when the program
runs. Ops take such tensors wherever they take a number or a list of numbers.
"""

from proa import _C

__all__ = ["is_late", "known", "known_number", "number", "numbers"]

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
    from proa.framework.size import Size

    return any(is_late(*v) if isinstance(v, (list, tuple)) else isinstance(v, (_C.Tensor, Size)) for v in values)
