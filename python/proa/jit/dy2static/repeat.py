"""A loop of the program, of a condition and a turn that change names.

What is a tensor or number before the loop is a variable of it; a turn must leave its dtype and number of dims. Numbers of
Python become tensors of the dtype that a turn makes of them. Where a turn changes more than that - None becomes a
tensor, an int a matrix - the first turn is recorded alone, behind the loop's condition, and the loop begins with the second.
A list that each turn appends to becomes a TensorArray. A name that a turn binds first, and that is read after the loop, is a
variable too, with one that says whether it has a value (maybe.py): a loop may have no turn, or one that leaves before.
"""

import functools

from proa import _C
from proa.framework.dtype import is_floating
from proa.jit import structure
from proa.jit.dy2static import arrays, checks, coded, handled, maybe, signals, undefined, wishes
from proa.jit.dy2static.branches import choose, region
from proa.jit.dy2static.lost import Lost, is_plain, rewrite
from proa.jit.dy2static.signals import Mixed
from proa.jit.dy2static.state import UNDEFINED, State
from proa.jit.dy2static.values import (
    becomes_tensor,
    built,
    described,
    equal,
    flat,
    is_number,
    known_sizes,
    one_element,
    overwrite,
    tensor_of,
    wider,
    zeros,
)

_MOST = 12  # attempts


class _Again(checks.Unfinished):
    def __init__(self, loop):
        self.loop = loop


class _Unstable(checks.Unfinished):
    def __init__(
        self, loop, what, lost=None, rewrite="its variables must keep dtype and number of dims from turn to turn"
    ):
        self.loop, self.what, self.lost = loop, f"{what}; {rewrite}", lost
        self.key = self.wish = None  # of the name that is so; what would keep its value


class _Plan:
    def __init__(self):
        self.kinds = {}  # (key, number of the leaf): (dtype, sizes or None)
        self.payload = None  # (tree, leaves) of what a turn returns
        self.containers = set()
        self.watched = {}  # objects and lists that functions which are called write to
        self.arrays = {}  # id of a list: the Kind of its items
        self.first = {}  # key of a name that turns bind, read after the loop: (tree, leaves) of such a value
        self.maybe = set()  # keys of names that have a value before the loop, and may have none after a turn
        self.rebuilt = set()  # keys of names that get other lists in a turn
        self.dead = {}  # key of a name that no turn reads before it gives it a value: what an error says of it
        self.lost = {}  # key of a name that gets other texts in a turn: what an error says of it


def repeated(what, site, entry, may_peel=True):
    """The signal of a loop: None, BREAK, a Returned, or a Mixed of these.

    Args:
        what: `hidden` tensors; `goes_on(*hidden)`, a bool tensor; `turn(*hidden)`, (signal, next hidden); `functions`
            whose names are the state; `advanced(hidden)`, the same with other hidden tensors.
        site: of the statement.
        entry (Mixed|None): the signal of turns that ran before.
    """
    plan = _Plan()
    for _ in range(_MOST):
        loop = _Loop(what, State(what.functions, site, plan.containers, plan.arrays, plan.watched), site, entry, plan)
        try:
            return loop.record()
        except _Again as again:
            if again.loop is not loop:
                raise
            loop.state.reset()
        except _Unstable as unstable:
            if unstable.loop is not loop:
                raise
            loop.state.reset()
            if unstable.lost is not None and unstable.lost not in plan.lost:
                plan.lost[unstable.lost] = unstable.what
                continue
            if may_peel:
                return _peeled(what, site, entry)
            if unstable.key is None or unstable.key in plan.dead:
                raise loop.error(unstable.what) from None
            plan.dead[unstable.key] = unstable.what, unstable.wish
        except (Exception, handled.Refused) as error:
            if not may_peel or getattr(handled.unwrapped(error), "_proa_loop", None) is not loop:
                raise
            loop.state.reset()  # the second turn may give what the first one does
            return _peeled(what, site, entry)
    raise _C.located(RuntimeError(f"{loop.state.where()}: the variables of this loop do not settle"))


def _peeled(what, site, entry):
    """The loop with its first turn recorded alone."""

    def first():
        signal, hidden = what.turn(*what.hidden)
        if signal is not None and not isinstance(signal, Mixed):
            return signal
        return repeated(what.advanced(hidden), site, signal, may_peel=False)

    go_on = lambda: what.goes_on(*what.hidden)
    once = (*site[:-1], (False, False, True))
    if entry is None:
        return choose(go_on(), first, lambda: None, what.functions, once, True, is_turn=True)
    left = Mixed(entry.code, entry.codes - {0}, entry.payload)
    inner = lambda: choose(go_on(), first, lambda: None, what.functions, once, True, is_turn=True)
    return choose(signals.at_end(entry), inner, lambda: left, what.functions, once, True)


class _Loop:
    def __init__(self, what, state, site, entry, plan):
        self._what, self.state, self._entry, self._plan = what, state, entry, plan
        # A code is carried where a turn may leave the loop.
        self._codes = (
            {0} | signals.codes_of(entry) if entry is not None or set(site[-1]) & {"break", "return"} else None
        )
        self._variables = {}  # key: (tree, leaves, [whether a leaf is a variable])
        self._hidden = len(what.hidden)
        self._handles = {}

    # The variables ------------------------------------------------------------------------------------------------------------

    def _begin(self):
        """The tensors that the loop begins with: hidden ones, the code, what is returned, names."""
        out = list(self._what.hidden)
        if self._codes is not None:
            out.append(signals.code_tensor(self._entry))
        payload = self._plan.payload
        if self._entry is not None and 3 in self._entry.codes:
            tree, leaves = flat(self._entry.payload)
            payload = payload or (tree, [tensor_of(v) if is_number(v) else v for v in leaves])
            if payload[0] != tree:
                raise self._unsteady(f"it returns {described(built(*payload))} and {described(self._entry.payload)}")
            given = [tensor_of(v) if is_number(v) else v for v in leaves]
        elif payload is not None:
            given = [zeros(t) if isinstance(t, _C.Tensor) else t for t in payload[1]]
        self._payload = payload
        if payload is not None:
            out += [t for t in given if isinstance(t, _C.Tensor)]
        for key in self.state.keys():
            value = self.state.before[key]
            if value is UNDEFINED and key not in self._plan.first or key in self._plan.lost or key in self._plan.dead:
                continue
            if value is UNDEFINED:
                value = maybe.missing(*self._plan.first[key])
            elif key in self._plan.maybe:
                value = maybe.lifted(value)
            elif self._is_coded(key, value):
                value = coded.lifted(value)
            whole = self.state.is_seen(value) and key[0] == "name" and key not in self._plan.rebuilt
            tree, leaves = (structure.TENSOR, [value]) if whole else flat(value, self.state.holds)
            kinds = [self._plan.kinds.get((key, j), (None, None)) for j in range(len(leaves))]
            moves = [becomes_tensor(leaf) for leaf in leaves]
            self._variables[key] = tree, leaves, moves
            out += [tensor_of(v, *kind) for v, kind, moving in zip(leaves, kinds, moves, strict=True) if moving]
        return out

    def _taken(self, variables, after=False):
        """The hidden tensors; names and code are what the loop's variables are. Names of turns have values `after` it."""
        self.state.restore()
        values = iter(variables)
        hidden = [next(values) for _ in range(self._hidden)]
        self._code = next(values) if self._codes is not None else None
        if self._payload is not None:
            tree, leaves = self._payload
            self._returned = tree, [next(values) if isinstance(t, _C.Tensor) else t for t in leaves]
        for key, (tree, leaves, moves) in self._variables.items():
            now = [next(values) if moving else leaf for leaf, moving in zip(leaves, moves, strict=True)]
            self._handles[key] = value = built(tree, now)
            self.state.put(key, UNDEFINED if self._is_hidden(key) and not after else value)
        for key in self._plan.dead:
            self._forget(key)
        for key, what in self._plan.lost.items():
            self.state.put(key, Lost(functools.partial(self.error, what, self._wish_of_text(key))))
        return hidden

    def _forget(self, key):
        """A name has no value where a turn begins, and after the loop: who reads it gets the error."""
        what, wish = self._plan.dead[key]
        undefined.note(key[-1], f"the loop at {self.state.where()} depends on a tensor, and {what}", TypeError, wish)
        self.state.put(key, UNDEFINED)

    def _is_hidden(self, key):
        """Whether reads cannot ask for a value that there may not be: it is that of an attribute. Turns give it first."""
        return key in self._plan.first and not self.state.may_be_unbound(key)

    # The regions --------------------------------------------------------------------------------------------------------------

    def record(self):
        first = self._begin()
        if not first:
            first = [_C.to_tensor(0)]
            results = _C.while_loop(lambda n: self._condition([]), lambda n: [n, *self._turn([])], first)[1:]
        else:
            results = _C.while_loop(lambda *v: self._condition(v), lambda *v: self._turn(v), first)
        return self._end(results)

    def _condition(self, variables):
        hidden = self._taken(variables)
        with region():
            if self._codes is None:
                go_on = self._what.goes_on(*hidden)
            else:
                at_end = _C.ops.equal(self._code, _C.to_tensor(0))
                never = lambda: [_C.to_tensor(False)]
                (go_on,) = _C.cond(at_end, lambda: [self._what.goes_on(*hidden)], never)
            go_on = checks.goes_on(go_on)
        self.state.restore()
        return [go_on]

    def _turn(self, variables):
        hidden = self._taken(variables)
        with region() as log, wishes.reads() as self._reads:
            signal, hidden = self._turned(hidden)
            out = list(hidden)
            if self._codes is not None:
                self._codes |= signals.codes_of(signal)
                out.append(signals.code_tensor(signal))
            elif signal is not None:
                raise AssertionError(signal)
            out += self._payload_of(signal)
        in_place = {key for key in self.state.in_place if self.state.get(key) is self._handles.get(key)}
        self._in_place = in_place
        found, changed = self.state.leave(log)
        self._open = self.state.open
        if changed:
            self._lists(changed, found)
        self._note_first(found)
        for key in self._variables:
            try:
                out += self._kept(key, found.get(key, UNDEFINED))
            except _Unstable as unstable:
                if unstable.loop is self and key[0] == "name" and len(key) == 2:
                    unstable.key = key
                    unstable.wish = undefined.conflict(key[-1])[2] if self._is_open(key) else None
                raise
        return out

    def _turned(self, hidden):
        """(signal, next hidden) of a turn; one that raises an error is the last."""
        with checks.block() as block:
            try:
                return self._what.turn(*hidden)
            except Exception as error:
                if not block.takes(error) and not checks.misses(error, block, self.state):
                    raise
                return None, hidden

    def _payload_of(self, signal):
        """What the turn returns, or what was returned."""
        has, value = signals.payload_of(signal)
        if self._payload is None and not has:
            return []
        if self._payload is None:
            tree, leaves = flat(value)
            self._plan.payload = tree, [tensor_of(v) if is_number(v) else v for v in leaves]
            raise _Again(self)
        if not has:
            return [t for t in self._returned[1] if isinstance(t, _C.Tensor)]
        tree, leaves = flat(value)
        if tree != self._payload[0]:
            raise self._unsteady(f"it returns {described(value)} and {described(built(*self._payload))}")
        return [
            self._fitting(("return",), j, old, new)
            for j, (old, new) in enumerate(zip(self._returned[1], leaves, strict=True))
            if isinstance(old, _C.Tensor)
        ]

    def _kept(self, key, value):
        """The variables that are made of a name after a turn."""
        tree, leaves, moves = self._variables[key]
        name = self.state.name(key)
        if isinstance(self._handles.get(key), maybe.Maybe):
            value = self._lifted(key, value)
        elif self.state.may_be_unbound(key) and (value is UNDEFINED or isinstance(value, maybe.Maybe)):
            self._plan.maybe.add(key)
            raise _Again(self)
        if value is UNDEFINED:
            raise self._unsteady(f"{name} is deleted in it")
        if isinstance(self._handles.get(key), coded.Coded) and coded.is_text(value):
            value = coded.lifted(value)
        if tree is structure.TENSOR and self.state.is_seen(leaves[0]):
            if value is not leaves[0]:
                self._plan.rebuilt.add(key)
                raise _Again(self)
            return []
        now_tree, now = flat(value, self.state.holds)
        if now_tree != tree:
            raise self._unsteady(
                f"{name} is {described(built(tree, leaves))} before it and {described(value)} after a turn"
            )
        handles = flat(self._handles[key], self.state.holds)[1]
        out = []
        for j, (old, new, handle, moving) in enumerate(zip(leaves, now, handles, moves, strict=True)):
            if moving:
                out.append(self._fitting(key, j, handle, new, old))
            elif not equal(old, new):
                what = f"{name} is {described(old)} before it and {described(new)} after a turn"
                if key[0] == "contents" or not (is_plain(old) and is_plain(new)):
                    raise self._unsteady(what)
                raise self._unsteady(what, key, rewrite(new))
        return out

    def _lifted(self, key, value):
        """What a turn makes of a name that may have no value."""
        handle = self._handles[key]
        if self._is_open(key):
            reason, kind, wish = undefined.conflict(key[-1])  # it has a value, of no kind that the loop can carry
            error = _C.located(kind(f"{self.state.name(key)}: {reason}"))
            error._proa_wish = wish
            raise error
        if value is UNDEFINED:
            return handle if self._is_hidden(key) else maybe.Maybe(handle.value, False)
        return maybe.lifted(value)

    def _fitting(self, key, j, variable, new, old=None):
        """What a turn made of a variable, with its dtype and number of dims."""
        name = "what it returns" if key == ("return",) else self.state.name(key)
        if not becomes_tensor(new):
            raise self._unsteady(f"{name} is {described(variable)} before it and {described(new)} after a turn")
        made = tensor_of(new)
        weak_old, weak_new = old is not None and is_number(old), is_number(new)
        different = (
            f"{name} is {described(variable if old is None else old)} before it and {described(made)} after a turn"
        )
        if made.dtype != variable.dtype:
            dtype = self._common(variable.dtype, made.dtype, weak_old, weak_new)
            if dtype is None:
                raise self._unsteady(different)
            if dtype != variable.dtype:
                self._again(key, j, dtype, None)
            made = tensor_of(made, dtype)
        if len(made.shape) != len(variable.shape):
            if weak_new and one_element(variable):
                made = tensor_of(made, None, known_sizes(variable))
            elif weak_old and one_element(made):
                self._again(key, j, made.dtype, known_sizes(made))
            else:
                raise self._unsteady(different)
        return made

    def _common(self, variable, made, weak_old, weak_new):
        if weak_old and not weak_new:
            return made if made == wider(variable, made) or is_floating(variable) and is_floating(made) else None
        if weak_new or weak_old:
            return wider(variable, made)
        if _C.amp.current() is not None and is_floating(made) and is_floating(variable):
            return max(variable, made, key=lambda d: (d == _C.float64, d == _C.float32))
        return None

    def _again(self, key, j, dtype, sizes):
        known = self._plan.kinds.get((key, j), (None, None))
        self._plan.kinds[key, j] = dtype, sizes or known[1]
        raise _Again(self)

    def _lists(self, changed, found):
        """Lists that a turn changed, which are recorded once more as what they are."""
        for number in changed:
            if isinstance(number, tuple):
                self._plan.containers.add(number)
                continue
            slot, before = self.state.container(number)
            after = found["contents", number]
            if arrays.grows(slot.container, before, after):
                kind = arrays.element(slot.name, max(before, after, key=len), self.state.where())
                if not before and any(type(n) is not int or n < 0 for n in kind.other_sizes()):
                    raise self._unsteady(f"{slot.name} is empty before it and gets tensors of open sizes in a turn")
                self._plan.arrays[number] = kind
            else:
                self._plan.containers.add(number)
        raise _Again(self)

    def _note_first(self, found):
        """Names that the turn binds, and that are read after the loop, become variables in the next attempt."""
        new = [k for k in self.state.keys() if k not in self._variables and k in found and self._is_wished(k)]
        new = [k for k in new if k not in self._plan.lost and k not in self._plan.dead]
        for key in new:
            self._plan.first[key] = maybe.kind(found[key])
        if new:
            raise _Again(self)

    def _is_wished(self, key):
        """Whether a name is read after the turn: after the loop, or in the next turn before it has a value there."""
        again = self.state.may_be_unbound(key) and key[-1] in self._reads
        return again or wishes.is_wished(self.state.wish(key))

    def _is_open(self, key):
        """Whether a turn left a name without a value, as ways in it gave it values of several kinds."""
        return key in self._open and undefined.conflict(key[-1]) is not None

    def _is_coded(self, key, value):
        """Whether a name holds a text that is a number, as it differs from turn to turn and is read."""
        wish = self._wish_of_text(key)
        return wish is not None and isinstance(value, str) and wishes.is_wished(wish)

    def _wish_of_text(self, key):
        return wishes.coded(self.state.file, key[-1]) if key[0] == "name" and len(key) == 2 else None

    def _unsteady(self, what, *rewriting):
        return _Unstable(self, what, *rewriting)

    def error(self, what, wish=None):
        """What says that a variable does not keep what it is."""
        error = _C.located(TypeError(f"{self.state.where()}: the loop depends on a tensor, and {what}"))
        error._proa_loop, error._proa_wish = self, wish
        return error

    # After it -----------------------------------------------------------------------------------------------------------------

    def _end(self, results):
        self._taken(results, after=True)
        for key in self._variables:
            self._settle(key)
            before = self.state.before[key]
            if key in self._in_place and isinstance(before, _C.Tensor):
                overwrite(before, self.state.get(key))
                self.state.put(key, before)
        for key in self.state.keys():
            if self._is_open(key):
                self.state.leave_open(key)
            elif key in self._plan.dead:
                self._forget(key)
            elif key not in self._variables and key not in self._plan.lost:
                undefined.note(key[-1], f"{self._in_loop(key)}; give it one before", wish=self.state.wish(key))
                self.state.put(key, UNDEFINED)
        self.state.settle_arrays()
        if self._codes is None or self._codes == {0}:
            return None
        codes = self._codes - {0} if self._what.endless else self._codes
        return signals.signal_of(self._code, codes, built(*self._returned) if 3 in codes else None)

    def _settle(self, key):
        """A name that may have no value after the loop."""
        value = maybe.settled(self.state.get(key))
        if isinstance(value, maybe.Maybe):
            undefined.note(key[-1], self._in_loop(key), wish=self.state.wish(key))
            if self._is_hidden(key):
                checks.expect(value.bound, UnboundLocalError(f"{self._in_loop(key)}; it had none"))
                value = value.value
        self.state.put(key, value)

    def _in_loop(self, key):
        return (
            f"{self.state.name(key)} gets its first value in the loop at {self.state.where()}, which depends on a tensor and "
            "may have no turn that gives it"
        )
