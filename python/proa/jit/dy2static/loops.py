"""`while` and `for`: Python's as long as their conditions are, else a `while` of the program.

A loop that begins as Python's becomes one of the program where a condition, or a `break`, depends on a tensor for the first
time. What is left of a `for` over a list, which has no index that could be a tensor, is recorded turn by turn.
"""

from proa import _C
from proa.jit.dy2static import iterables, signals
from proa.jit.dy2static.branches import after, choose
from proa.jit.dy2static.repeat import repeated
from proa.jit.dy2static.signals import BREAK, CONTINUE, RAISED, Mixed
from proa.jit.dy2static.values import condition, is_late, truth

# Turns that are left of a loop over Python's numbers, when a break becomes one of the program: more than these are a loop.
_UNROLLED = 16
_MOST_TURNS = 10000


def while_(test, turn, site, otherwise=None):
    """The signal of a `while`."""
    while True:
        go_on = condition(test())
        if is_late(go_on):
            return _finished(repeated(_While(test, turn), site, None), otherwise, site)
        if not go_on:
            return otherwise() if otherwise is not None else None
        signal = turn()
        if signal is RAISED:  # of every way: there is no next turn
            return signal
        signal = _without_continue(signal)
        if signal is BREAK:
            return None
        if isinstance(signal, Mixed):
            return _finished(repeated(_While(test, turn), site, signal), otherwise, site)
        if signal is not None:
            return signal


def for_(iterable, turn, site, otherwise=None):
    """The signal of a `for`."""
    items = iterables.late(iterable)
    if items is not None:
        return _finished(repeated(_For(items, turn, 0), site, None), otherwise, site)
    number = 0
    iterator = iter(iterable)
    for number, item in enumerate(iterator):
        signal = turn(item)
        if signal is RAISED:
            return signal
        signal = _without_continue(signal)
        if signal is BREAK:
            return None
        if isinstance(signal, Mixed):
            return _finished(_rest(iterable, iterator, number + 1, turn, site, signal), otherwise, site)
        if signal is not None:
            return signal
    return otherwise() if otherwise is not None else None


def _rest(iterable, iterator, number, turn, site, signal):
    """The signal of the turns of a `for` that come after one with a signal that only the run knows."""
    if isinstance(iterable, range) and len(iterable) - number > _UNROLLED:
        return repeated(_For(iterables.Numbers(iterable), turn, number), site, signal)
    for count, item in enumerate(iterator):
        if count > _MOST_TURNS:
            raise _C.located(
                RuntimeError(
                    f"line {site[0]}: whether the `for` goes on depends on a tensor, and what it goes over has no end; "
                    "write a `while`"
                )
            )
        signal = _without_continue(
            after(signal, lambda item=item: turn(item), (*site[:-1], (False, False, True)), [turn])
        )
        if not isinstance(signal, Mixed):
            break
    return signal


def _without_continue(signal):
    """The end of a turn: `continue` is none."""
    if signal is CONTINUE or signal is RAISED:
        return None
    if isinstance(signal, Mixed) and 2 in signal.codes:
        return _mapped(signal, 2)
    return signal


def _mapped(signal, code):
    """A signal in which a jump is the end of the block."""
    codes = (signal.codes - {code}) | {0}
    if codes == {0}:
        return None
    zero = _C.ops.full_like(signal.code, 0)
    is_code = _C.ops.equal(signal.code, _C.ops.full_like(signal.code, code))
    return Mixed(_C.ops.where(is_code, zero, signal.code), codes, signal.payload)


def _finished(signal, otherwise, site):
    """The signal of a loop, by that of its turns; `else` runs where it was not left."""
    if otherwise is not None:
        site = (*site[:-1], (False, False, True))
        if signal is None:
            return otherwise()
        if isinstance(signal, Mixed) and 0 in signal.codes:
            left = _finished(Mixed(signal.code, signal.codes - {0}, signal.payload), None, site)
            return choose(signals.at_end(signal), otherwise, lambda: left, [otherwise], site, True)
    if signal is BREAK:
        return None
    if isinstance(signal, Mixed) and 1 in signal.codes:
        return _mapped(signal, 1)
    return signal


class _While:
    """What is repeated: a condition and a turn; `hidden` are values besides those of names."""

    hidden = ()

    def __init__(self, test, turn):
        self._test, self._turn = test, turn
        self.functions = [test, turn]

    def goes_on(self):
        value = condition(self._test())
        self.endless = value is True
        return truth(value) if isinstance(value, _C.Tensor) else _C.to_tensor(bool(value))

    endless = False  # it ends by a jump alone

    def turn(self):
        return _without_continue(self._turn()), ()

    def advanced(self, hidden):
        return self


class _For:
    """The same of a `for`, by the number of its turn."""

    endless = False

    def __init__(self, items, turn, number):
        self._items, self._turn = items, turn
        self.hidden = (number if isinstance(number, _C.Tensor) else _C.to_tensor(number),)
        self.functions = [turn]

    def goes_on(self, number):
        return _C.ops.less_than(number, self._items.count())

    def turn(self, number):
        return _without_continue(self._turn(self._items.item(number))), (number + 1,)

    def advanced(self, hidden):
        return _For(self._items, self._turn, *hidden)
