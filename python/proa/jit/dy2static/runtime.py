"""What rewritten functions call, under the name `_proa_`."""

import operator
import sys
import types

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static import alternatives, calls, checks, functions, kinds, properties, state, writes
from proa.jit.dy2static.branches import after, choose, if_
from proa.jit.dy2static.calls import call, read
from proa.jit.dy2static.checks import raised
from proa.jit.dy2static.comprehensions import first, first_of_kinds, listed
from proa.jit.dy2static.expressions import OF_NAMES
from proa.jit.dy2static.generators import bounded
from proa.jit.dy2static.handled import finishing, guarded, handled
from proa.jit.dy2static.items import item, item_of_kinds, put, slice_, within
from proa.jit.dy2static.kinds import is_kind, of_kinds, one_kind
from proa.jit.dy2static.loops import for_, while_
from proa.jit.dy2static.nones import is_none, or_none
from proa.jit.dy2static.reads import bound, own
from proa.jit.dy2static.signals import BREAK, CONTINUE, RAISED, Mixed, Returned
from proa.jit.dy2static.values import condition, is_late, truth

__all__ = [
    "BREAK", "CONTINUE", "Returned", "after", "all_of", "any_of", "asserted", "bounded", "call", "chained", "chosen", "delete", "first", "first_of_kinds", "for_", "if_", "is_kind", "is_none", "item", "item_of_kinds", "listed", "bound", "of_kinds", "one_kind", "or_none", "own",
    "finishing", "guarded", "handled", "negated", "put", "raised", "read", "result", "slice_", "while_", "within", "write", "writing",
]  # fmt: skip

_MAY_END = (
    "whether the function returns a value depends on a tensor: on one way it comes to its end and gives None; "
    "return a value of the same kind there"
)
_NOWHERE = (0, (), (), (), (), (), (False, False, True))


def result(signal):
    """What a function gives that ended with this signal."""
    if signal is None:
        return None
    if signal is RAISED:
        raise checks.again()
    if isinstance(signal, Mixed):
        if signal.payload is None:
            return None
        value = alternatives.or_none(_C.ops.equal(signal.code, _C.to_tensor(3)), signal.payload, _MAY_END)
    else:
        value = signal.value
    return kinds.passed(value, sys._getframe(2))


def _site(functions, named):
    """The site of an expression, by what gives parts of it, and by the names that it binds."""
    codes = [f.__code__ for f in functions]
    names = tuple(name for name in named if any(name in (*c.co_freevars, *c.co_names) for c in codes))
    asked = {name for c in codes if {"bound", *OF_NAMES} & set(c.co_names) for name in c.co_freevars}
    return codes[0].co_firstlineno, names, *_NOWHERE[2:5], tuple(sorted(asked.difference(named))), _NOWHERE[-1]


def chosen(test, first, second, named=()):
    """`first() if test else second()`."""
    test = condition(test)
    if not is_late(test):
        return first() if test else second()
    site = _site([first, second], named)
    ways = (lambda: Returned(first()), lambda: Returned(second()))
    return kinds.settled(choose(truth(test), *ways, [first, second], site, True).value, sys._getframe(1))


def all_of(*operands, named=()):
    """`a and b and ...`."""
    return _until(operands, False, named)


def any_of(*operands, named=()):
    """`a or b or ...`."""
    return _until(operands, True, named)


def _until(operands, last, named=()):
    value = None
    for k, operand in enumerate(operands):
        value = operand()
        if isinstance(value, Size) and is_late(condition(value)):
            value = value.tensor()
        if is_late(value):
            return _late(value, operands[k + 1 :], last, named)
        if k + 1 < len(operands) and bool(value) is last:
            return value
    return value


def _late(value, operands, last, named, functions=None):
    """Of operands of which the first has its value when the program runs. Truth values are combined as such."""
    if not operands:
        return value
    functions = list(functions or operands)
    site = _site(functions, named)
    if value.dtype == _C.bool:
        rest = lambda: _truth_value(_until(operands, last, named))
        known = lambda: truth(value)
    else:
        rest = lambda: _until(operands, last, named)
        known = lambda: value
    ways = (known, rest) if last else (rest, known)
    first, second = (lambda way=way: Returned(way()) for way in ways)
    return alternatives.settled(choose(truth(value), first, second, functions, site, True).value)


def _truth_value(value):
    if is_late(value) and value.dtype == _C.bool:
        return truth(value)
    return value


def negated(value):
    """`not value`."""
    value = condition(value)
    return _C.ops.logical_not(truth(value)) if is_late(value) else not value


def chained(left, *pairs, named=()):
    """`left < a < b ...`: pairs of the name of an operator and what gives its right side, which is evaluated once."""

    def step(left, pairs):
        name, right = pairs[0]
        right = right()
        value = getattr(operator, name)(left, right)
        if len(pairs) == 1:
            return value
        if is_late(value):
            rest = lambda: step(right, pairs[1:])
            return _late(value, [rest], False, named, [operand for _, operand in pairs[1:]])
        return step(right, pairs[1:]) if value else value

    return step(left, pairs)


def asserted(test, message=None):
    """The condition of an `assert`."""
    test = condition(test)
    if not is_late(test):
        if not test and writes.depth():
            raise checks.raised(AssertionError(*(() if message is None else (message(),))))
        return test
    return checks.note(truth(test), message, sys._getframe(1))


def writing(owner):
    """Before the contents of a list or dict are written."""
    if writes.depth():
        writes.items(owner, sys._getframe(1).f_globals)


def write(value, owner, name):
    """`owner.name = value`."""
    found = properties.property_of(owner, name)
    if found is not None and type(found.fset) is types.FunctionType:
        call(found.fset)(owner, value)
        return
    if writes.depth() and found is None:
        if name == "stop_gradient" and isinstance(owner, _C.Tensor):
            _stop(owner, value)
            return
        writes.attribute(owner, name, sys._getframe(1).f_globals)
    setattr(owner, name, value)


def _stop(tensor, value):
    """`tensor.stop_gradient = value` in a branch or loop: from there on the name, and all others, is of a value without history.

    It is a change in place: where the ways come together again, gradients pass on the way that did not stop them.
    """
    if bool(value) == tensor.stop_gradient:
        return
    if not value:
        raise _C.located(
            NotImplementedError(
                "stop_gradient cannot be set to False in a branch or loop that depends on a tensor; set it before"
            )
        )
    if state.is_argument(tensor):
        raise _C.located(
            NotImplementedError(
                "stop_gradient of an argument, which is a tensor of the caller, cannot be set in a branch or loop that depends "
                "on a tensor; write x = x.detach()"
            )
        )
    _C.rebind(tensor, tensor.detach())


def _detach_in_place(tensor, method):
    """`tensor.detach_`."""
    if not writes.depth() or not _C.is_symbolic(tensor):
        return method

    def detach():
        _stop(tensor, True)
        return tensor

    return detach


calls.methods["detach_"] = _detach_in_place


def delete(owner, name):
    """`del owner.name`."""
    found = properties.property_of(owner, name)
    if found is not None and type(found.fdel) is types.FunctionType:
        call(found.fdel)(owner)
        return
    if writes.depth() and found is None:
        writes.attribute(owner, name, sys._getframe(1).f_globals)
    delattr(owner, name)


functions.runtime_cell.cell_contents = sys.modules[__name__]
