"""What rewritten functions call, under the name `_proa_`."""

import operator
import sys

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static import checks, functions, writes
from proa.jit.dy2static.branches import after, choose, if_
from proa.jit.dy2static.calls import call, read
from proa.jit.dy2static.checks import guarded, raised
from proa.jit.dy2static.comprehensions import listed
from proa.jit.dy2static.generators import bounded
from proa.jit.dy2static.loops import for_, while_
from proa.jit.dy2static.signals import BREAK, CONTINUE, Mixed, Returned
from proa.jit.dy2static.values import condition, is_late, truth

__all__ = [
    "BREAK", "CONTINUE", "Returned", "after", "all_of", "any_of", "asserted", "bounded", "call", "chained", "chosen", "for_", "if_", "listed",
    "guarded", "negated", "raised", "read", "result", "while_", "writing",
]  # fmt: skip

_NOWHERE = (0, (), (), (), (), (False, False, True))


def result(signal):
    """What a function gives that ended with this signal."""
    if signal is None:
        return None
    if isinstance(signal, Mixed):
        if signal.payload is None:
            return None
        raise _C.located(
            TypeError(
                "whether the function returns a value depends on a tensor: on one way it comes to its end and gives None; "
                "return a value of the same kind there"
            )
        )
    return signal.value


def chosen(test, first, second):
    """`first() if test else second()`."""
    test = condition(test)
    if not is_late(test):
        return first() if test else second()
    line = first.__code__.co_firstlineno, *_NOWHERE[1:]
    return choose(truth(test), lambda: Returned(first()), lambda: Returned(second()), [first, second], line, True).value


def all_of(*operands):
    """`a and b and ...`."""
    return _until(operands, False)


def any_of(*operands):
    """`a or b or ...`."""
    return _until(operands, True)


def _until(operands, last):
    value = None
    for k, operand in enumerate(operands):
        value = operand()
        if isinstance(value, Size) and is_late(condition(value)):
            value = value.tensor()
        if is_late(value):
            return _late(value, operands[k + 1 :], last)
        if k + 1 < len(operands) and bool(value) is last:
            return value
    return value


def _late(value, operands, last):
    """Of operands of which the first has its value when the program runs. Truth values are combined as such."""
    if not operands:
        return value
    line = operands[0].__code__.co_firstlineno, *_NOWHERE[1:]
    if value.dtype == _C.bool:
        rest = lambda: _truth_value(_until(operands, last))
        known = lambda: truth(value)
    else:
        rest = lambda: _until(operands, last)
        known = lambda: value
    ways = (known, rest) if last else (rest, known)
    first, second = (lambda way=way: Returned(way()) for way in ways)
    return choose(truth(value), first, second, list(operands), line, True).value


def _truth_value(value):
    if is_late(value) and value.dtype == _C.bool:
        return truth(value)
    return value


def negated(value):
    """`not value`."""
    value = condition(value)
    return _C.ops.logical_not(truth(value)) if is_late(value) else not value


def chained(left, *pairs):
    """`left < a < b ...`: pairs of the name of an operator and what gives its right side, which is evaluated once."""

    def step(left, pairs):
        name, right = pairs[0]
        right = right()
        value = getattr(operator, name)(left, right)
        if len(pairs) == 1:
            return value
        if is_late(value):
            return _late(value, [lambda: step(right, pairs[1:])], False)
        return step(right, pairs[1:]) if value else value

    return step(left, pairs)


def asserted(test, message=None):
    """The condition of an `assert`."""
    test = condition(test)
    if not is_late(test):
        if not test and writes.depth():
            raise checks.raised(AssertionError(*(() if message is None else (message(),))))
        return test
    return checks.note(truth(test), message)


def writing(owner, name=None):
    """Before an attribute of an object is assigned, or the contents of a list or dict."""
    if writes.depth():
        names = sys._getframe(1).f_globals
        if name == "stop_gradient" and isinstance(owner, _C.Tensor):
            raise _C.located(
                NotImplementedError(
                    "stop_gradient cannot be set in a branch or loop that depends on a tensor; write x = x.detach()"
                )
            )
        if name is None:
            writes.items(owner, names)
        else:
            writes.attribute(owner, name, names)


functions.runtime_cell.cell_contents = sys.modules[__name__]
