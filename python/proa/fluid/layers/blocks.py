"""Blocks of 1.x that are recorded once and made again: what they write, what they print, what they take from outside."""

import collections
import contextlib
import sys
import threading
import types

from proa import _C
from proa.framework import reports
from proa.static.program import Program, default_main_program
from proa.static.replay import Replay, parse

__all__ = ["Block", "Step", "case", "is_in_block", "write"]

_thread = threading.local()
_MOST = 50000  # objects that are looked at
_OPAQUE = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.BuiltinFunctionType, Program)


def _cases():
    return _thread.__dict__.setdefault("cases", [])


def _blocks():
    return _thread.__dict__.setdefault("blocks", [])


@contextlib.contextmanager
def case(condition):
    """Around the block of a case of a Switch: what is written in it is written where a bool tensor holds."""
    _cases().append(condition)
    try:
        yield
    finally:
        _cases().pop()


def is_in_block():
    """Whether the block of a loop is recorded on this thread."""
    return bool(_blocks())


def write(output, value):
    """Writes into a tensor, as `assign` and others do that have an output: in a case of a Switch where it is the one, in a block
    of a loop from turn to turn."""
    if output.dtype != value.dtype:
        value = value.astype(output.dtype)
    for condition in _cases():
        value = _C.ops.where(condition, value, output)
    for block in _blocks():
        block.note(output)
    if _C.is_symbolic(output):
        _C.rebind(output, value)  # the tensor names another value from here on; gradients know of it
    else:
        _C.ops.store_(output, value)
    return output


class _Given(dict):
    """What stands for the values of a step, by number; other values are those of the program around it."""

    def __init__(self, outside, values):
        super().__init__(values)
        self._outside = outside

    def __missing__(self, number):
        return self._outside(number)


class Step(Replay):
    """The operations that were recorded inside of `with`.

    Args:
        program: a _C.Program.
        first (int): its calls from this one on are those of the step.
        outside (Callable): gives for the number of a value from before the step its tensor.
    """

    def __init__(self, program, first, outside):
        super().__init__(program, {})
        self._constants, self._outside = dict(self.env), outside
        self._own = self.calls[first:]

    def again(self, given, wanted):
        """The values of the numbers `wanted`, with tensors in place of some: `given`, by number."""
        self.env = _Given(self._outside, {**self._constants, **given})
        for call in self._needed(set(given), wanted):
            self._make(call, exact=True)
        return [self.env[number] for number in wanted]

    def _needed(self, given, wanted):
        needed, calls = set(wanted) - given, []
        for call in reversed(self._own):
            results = {v for part in call.results for v in (part if isinstance(part, list) else [part])}
            if results & needed or _reports(call):
                calls.append(call)
                needed |= self._used(call) - given
        return reversed(calls)

    def _used(self, call):
        used = set(call.values())
        for region in call.regions:
            used.update(region.returns)
            used.update(number for inner in region.calls for number in self._used(inner))
        return used


def _reports(call):
    """Whether a call prints or asserts: it gives nothing, or some call in its regions does so."""
    return not call.results or any(_reports(inner) for region in call.regions for inner in region.calls)


class Block:
    """A block that is being recorded: `with Block(...).recording(): ...`, and then `again`.

    Args:
        owner (str): whose, for errors.
    """

    def __init__(self, owner):
        self.owner = owner
        self.written = []  # [tensor, what it was, the number of that]
        self.arrays = []  # [array, its tensor before, the number of that]

    @contextlib.contextmanager
    def recording(self, hides_constants=False):
        """What is recorded inside is the block; the cases of a Switch around it do not hold in it.

        Args:
            hides_constants (bool): numbers from outside have no known value in it, for a turn may write them.
        """
        if not _C.in_static_mode():
            raise _C.located(RuntimeError(f"{self.owner}: is for programs; in eager mode write a loop"))
        self.program = default_main_program()._program
        self._handles = _handles(self.program)
        # Prints and assertions are for the turns, not for what is recorded here, which the program runs too.
        is_turn = _C.ops.full([], False, _C.bool)
        if hides_constants:
            _hide(is_turn, [tensor for tensor in self._handles.values() if _is_number(tensor)])
            self._handles.update((self.number(tensor), tensor) for tensor in list(self._handles.values()))
        self._is_turn = self.number(_C.ops.assign(is_turn))
        first = len(parse(str(self.program))[1])
        before, _thread.cases = _cases(), []
        _blocks().append(self)
        try:
            with reports.only_where(self.program.value(self._is_turn)):
                yield
        finally:
            _blocks().pop()
            _thread.cases = before
        self._step = Step(self.program, first, self._outside)

    def number(self, tensor):
        return self.program.value_number(tensor)

    def again(self, given, wanted):
        """The block once more: the values of the numbers `wanted`, with tensors in place of some: `given`, by number."""
        return self._step.again({self._is_turn: _C.ops.full([], True, _C.bool), **given}, wanted)

    def note(self, tensor):
        """A tensor is about to be written."""
        if any(entry[0] is tensor for entry in self.written):
            return
        if not _C.is_symbolic(tensor):
            raise _C.located(
                NotImplementedError(
                    f"{self.owner}: the block writes {tensor.name or 'a tensor'}, which keeps its value between runs; write a copy "
                    "of it (layers.assign before the block), and assign that to it after the block"
                )
            )
        number = self.number(tensor)
        if number < self._is_turn:  # later ones are made in the block, anew in each turn
            self.written.append([tensor, _C.ops.assign(tensor), number])

    def note_array(self, array):
        """An array of tensors is about to be read or written; its items stand in one tensor."""
        if self not in array.born_in and not any(entry[0] is array for entry in self.arrays):
            self.arrays.append([array, array.stacked, self.number(array.stacked)])

    def _outside(self, number):
        """The tensor of a value from outside, with its gradient."""
        found = self._handles.get(number)
        return self.program.value(number) if found is None else found


def blocks():
    """The blocks that are recorded on this thread, outer ones first."""
    return tuple(_blocks())


def _is_number(tensor):
    """Whether a symbolic tensor is one integer or bool whose value is known now."""
    if tensor.is_floating_point() or any(type(size) is not int or size != 1 for size in tensor.shape):
        return False
    try:
        tensor.item()
    except Exception:
        return False
    return True


def _hide(flag, tensors):
    """Makes tensors name values that are known only in a run: results of a branch are."""
    if tensors:
        copies = lambda: [_C.ops.assign(tensor) for tensor in tensors]
        for tensor, hidden in zip(tensors, _C.cond(flag, copies, copies), strict=True):
            _C.rebind(tensor, hidden)


def _handles(program):
    """The tensors of a program that callers have, by their numbers: in names, then in attributes and containers, the nearest
    first."""
    found, seen = {}, set()
    frame, waiting = sys._getframe(1), collections.deque()
    while frame is not None:
        waiting += frame.f_locals.values()
        if not frame.f_globals.get("__name__", "").startswith(("proa.", "paddle.")):
            waiting += frame.f_globals.values()
        frame = frame.f_back
    while waiting and len(seen) < _MOST:
        thing = waiting.popleft()
        if isinstance(thing, _C.Tensor):
            if _C.is_symbolic(thing) and _C.program_of(thing) is program:
                found.setdefault(program.value_number(thing), thing)
            continue
        if isinstance(thing, _OPAQUE) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, (list, tuple, set, frozenset)):
            waiting += thing
        else:
            waiting += getattr(thing, "__dict__", {}).values()
    return found
