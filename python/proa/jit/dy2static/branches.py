"""`if`, and what follows it: Python's where the condition is, else both ways in a `cond` of the program."""

import contextlib
import threading

from proa import _C
from proa.framework.dtype import is_floating
from proa.jit import structure
from proa.jit.dy2static import (
    alternatives,
    arrays,
    checks,
    coded,
    item_kinds,
    maybe,
    signals,
    undefined,
    wishes,
    writes,
)
from proa.jit.dy2static.conflicts import Conflict, rewrite, shown
from proa.jit.dy2static.state import UNDEFINED, State
from proa.jit.dy2static.values import (
    becomes_tensor,
    built,
    condition,
    described,
    equal,
    flat,
    is_late,
    is_number,
    known_sizes,
    one_element,
    overwrite,
    tensor_of,
    truth,
    wider,
    zeros,
)

_RETURN = ("return",)
_LASTING = (_RETURN, ("name", checks.Failure.name))  # what counts where a way leaves, too
_MOST = 12  # attempts
_depth = threading.local()


@contextlib.contextmanager
def region():
    """Around what is recorded for one way of a statement, which may not be the way of the run: what is written in it."""
    _depth.count = getattr(_depth, "count", 0) + 1
    with writes.logging() as log:
        yield log


def regions_so_far():
    """How many regions were recorded on this thread."""
    return getattr(_depth, "count", 0)


def in_region():
    """Whether a region is recorded on this thread."""
    return writes.depth() > 0


def if_(test, then, otherwise, site, rest=None):
    """The signal of an `if`, and of what follows it if that is given."""
    test = condition(test)
    if not is_late(test):
        if test:
            signal = then()
        else:
            signal = otherwise() if otherwise is not None else None
        return signal if rest is None else after(signal, rest, site)
    always_then, always_else, may_jump = site[-1]
    inline = rest is not None and (always_then or always_else)

    def way(function):
        def run():
            signal = function() if function is not None else None
            return after(signal, rest, site) if inline else signal

        return run

    signal = choose(truth(test), way(then), way(otherwise), [then, otherwise, rest], site, may_jump)
    return signal if rest is None or inline else after(signal, rest, site)


def after(signal, rest, site, functions=()):
    """The signal of what follows a statement that ended with one; `functions` have its names, if `rest` has not."""
    if signal is None:
        return rest()
    if not isinstance(signal, signals.Mixed) or 0 not in signal.codes:
        return signal
    left = signals.Mixed(signal.code, signal.codes - {0} or {0}, signal.payload)
    return choose(signals.at_end(signal), rest, lambda: left, functions or [rest], site, True)


class _Again(checks.Unfinished):
    """The ways are to be recorded once more, by what is known now."""

    def __init__(self, choice):
        self.choice = choice


class _Plan:
    def __init__(self):
        self.kinds = {}  # (key, number of the leaf): (dtype, sizes or None) that both ways give
        self.payload = None  # (tree, leaves) of what the second way returns alone
        self.returns = []  # values of each kind that the ways return
        self.alive = None  # what the second way makes of names, where the first one returns
        self.containers = set()
        self.watched = {}  # objects and lists that functions which are called write to
        self.arrays = {}  # id of a list that one way appends to: the Kind of its items
        self.maybe = {}  # key of a name that one way gives a value: (tree, leaves) of it
        self.apart = set()  # keys of what is nobody's when both ways have returned: lists and dicts, attributes
        self.coded = set()  # keys of names whose texts are numbers
        self.lists = {}  # key of a name that is a list in one way and an array in the other: the Kind of its items


def choose(predicate, first, second, functions, site, may_jump, is_turn=False):
    """The signal of one of two functions, by a bool tensor; their state is that of `functions`.

    `is_turn`: the first one is a turn of a loop, the second one does nothing. A number that the turn makes a tensor of more
    dims is one then; the run fails where there was no turn.
    """
    plan = _Plan()
    for _ in range(_MOST):
        choice = _Choice(
            first, second, State(functions, site, plan.containers, plan.arrays, plan.watched), plan, may_jump
        )
        choice.is_turn = is_turn
        try:
            return choice.record(predicate)
        except _Again as again:
            if again.choice is not choice:
                raise
            choice.state.reset()
    if plan.returns:  # functions that each way makes anew
        raise _C.located(TypeError(choice.why_returns()))
    raise _C.located(RuntimeError(f"{choice.state.where()}: the ways of this `if` do not settle"))


def _stand_ins(tree, leaves):
    """A value with tensors in the place of its numbers: what another way gives that has none."""
    return tree, [tensor_of(v) if is_number(v) else v for v in leaves]


class _Choice:
    """Two ways that are recorded: what the first gives, the second has to give too."""

    def __init__(self, first, second, state, plan, may_jump):
        self._ways, self.state, self._plan, self._may_jump = (first, second), state, plan, may_jump
        self._emitted = []  # tensors that the first way gives
        self._values = []  # of each way
        self._open = []  # of each way, names without a value for which ways in it have values of several kinds
        self._returned = {}  # what a way returns, by its number
        self._given = {}  # key: [number of the tensor, or None for what is no tensor]
        self._of_turn = []  # keys of numbers that a turn makes tensors of more dims

    def record(self, predicate):
        results = _C.cond(predicate, self._first, self._second)
        for key in self._of_turn:
            checks.expect(
                predicate,
                TypeError(f"{self._number_of_turn(key)}, and it had none; begin with a tensor of the shape"),
            )
        for key, decision in self._decisions.items():
            if key != _RETURN:
                self._put(key, decision, results)
        self.state.settle_arrays()
        codes = signals.codes_of(self._signals[0]) | signals.codes_of(self._signals[1])
        payload = None
        if 3 in codes:
            payload = self._built(self._decisions[_RETURN], results)
        return signals.signal_of(results[-1] if self._may_jump else None, codes, payload)

    def _put(self, key, decision, results):
        if isinstance(decision, Conflict):
            if key[0] == "contents":
                error = _C.located(NotImplementedError(f"{self.state.where()}: {decision.reason}"))
                error._proa_wish = decision.wish
                raise error
            undefined.note(key[-1], decision.reason, decision.kind, decision.wish)
            self.state.leave_open(key) if decision.is_of_kinds else self.state.put(key, UNDEFINED)
            if self.state.get(key) is not UNDEFINED:  # reads would find what the class has of this name
                error = _C.located((decision.kind or TypeError)(f"{self.state.name(key)}: {decision.reason}"))
                error._proa_wish = decision.wish
                raise error
            return
        value = maybe.settled(self._built(decision, results))
        if isinstance(value, maybe.Maybe):
            undefined.note(key[-1], self._one_way(key), wish=self.state.wish(key))
        before = self.state.before.get(key)
        if key in self._in_place and value is not before:
            overwrite(before, value)
            value = before
        self.state.put(key, value)

    @staticmethod
    def _built(decision, results):
        tree, leaves = decision
        return built(tree, [results[leaf] if number else leaf for number, leaf in leaves])

    # The ways --------------------------------------------------------------------------------------------------------------

    def _run(self, number):
        """({key: (tree, leaves)}, signal, keys that are changed in place alone) of a way."""
        self.state.enter()
        with region() as log, checks.block() as block:
            try:
                signal = self._ways[number]()
            except Exception as error:
                if not block.takes(error) and not checks.misses(error, block, self.state):
                    raise
                signal = signals.RAISED
        if self._plan.apart and signals.payload_of(signal)[0]:
            signal = self._detached(signal)
        values, changed = self.state.leave(log)
        if number and not set(changed) <= self._plan.containers:
            self._plan.containers.update(changed)
            raise _Again(self)
        self._plan.containers.update(changed)
        values = {key: value for key, value in values.items() if key not in self._plan.apart}
        pure = {k for k, v in values.items() if self.state.is_alias(k, v) or v is self.state.before.get(k)}
        self._watch_lists(values, signal)
        for key, kind in self._plan.lists.items():
            if type(values.get(key)) is list or isinstance(values.get(key), arrays.TensorArray):
                values[key] = arrays.lifted(values[key], kind)
        for key in self._plan.coded & values.keys():
            if coded.is_text(values[key]):
                values[key] = coded.lifted(values[key])
        self._values.append(values)
        self._open.append(self.state.open)
        found = {key: flat(value, self._holds) for key, value in values.items()}
        has, payload = signals.payload_of(signal)
        if has:
            self._returned[number] = payload
            if self._plan.returns:
                payload = alternatives.lifted(payload, self._plan.returns, self.why_returns())
            found[_RETURN] = flat(payload, self._holds)
        return found, signal, {k for k in pure if isinstance(values[k], _C.Tensor)}

    def _holds(self, value):
        """Whether it is a list or dict that is the same one after the statement, whatever it holds."""
        return ("contents", id(value)) not in self._plan.apart and self.state.holds(value)

    def _detached(self, signal):
        """The signal, with what lists and dicts that are apart hold at the end of a way in its payload."""
        payload = built(*flat(signals.payload_of(signal)[1], self._holds))
        if isinstance(signal, signals.Returned):
            return signals.Returned(payload)
        return signals.Mixed(signal.code, signal.codes, payload)

    def _watch_lists(self, values, signal):
        """Notes what became an array in a way, and what has other lengths in the ways."""
        for key, value in values.items():
            if not self.state.is_list(key):
                continue
            slot, before = self.state.container(key[1])
            other = self._values[0].get(key, before) if self._values else value
            grew = isinstance(slot.container, list) and len(value) != len(other)
            if any(isinstance(v, arrays.Moved) for v in value) or grew:
                longest = max([value, other, before], key=len)
                try:
                    self._plan.arrays[key[1]] = arrays.element(slot.name, longest, self.state.where())
                except TypeError as error:
                    self._leave_apart(key, signal)
                    error._proa_wish = wishes.ways(self.state.file, self.state.line, None)
                    raise
                raise _Again(self)

    def _leave_apart(self, key, signal):
        """What the ways make of a list, dict or attribute is no matter where both of them return, and nobody else has it."""
        if not self._values or not (signals.ends(self._signal) and signals.ends(signal)):
            return
        payloads = [signals.payload_of(s)[1] for s in (self._signal, signal)]
        if self.state.ends_with_call(key, [leaf for payload in payloads for leaf in flat(payload)[1]]):
            self._plan.apart.add(key)
            raise _Again(self)

    def _first(self):
        self._found, self._signal, self._pure = self._run(0)
        self._stand_ins = {}
        if _RETURN not in self._found and self._plan.payload is not None:
            self._stand_ins[_RETURN] = self._plan.payload
        if self._plan.alive is not None and signals.ends(self._signal):
            # Nobody reads what names are where this way returns: they are of the kind that the other way makes of them.
            self._stand_ins.update(self._plan.alive)
            self._values[0] = {**self.state.before, **{k: v for k, v in self._values[0].items() if k in _LASTING}}
            self._found = {key: value for key, value in self._found.items() if key in _LASTING}
        for key, kind in self._plan.maybe.items():
            self._found[key] = flat(self._lifted(key, 0, kind), self._holds)
        for key, (tree, leaves) in self._stand_ins.items():
            self._found[key] = tree, [zeros(t) if isinstance(t, _C.Tensor) else t for t in leaves]
        for key, (_, leaves) in self._found.items():
            numbers = []
            for j, leaf in enumerate(leaves):
                numbers.append(len(self._emitted) if becomes_tensor(leaf) else None)
                if becomes_tensor(leaf):
                    self._emitted.append(tensor_of(leaf, *self._plan.kinds.get((key, j), (None, None))))
            self._given[key] = numbers
        return [*self._emitted, *([signals.code_tensor(self._signal)] if self._may_jump else [])]

    def _second(self):
        found, signal, pure = self._run(1)
        self._signals = self._signal, signal
        if _RETURN in found and _RETURN not in self._found:
            self._plan.payload = _stand_ins(*found[_RETURN])
            raise _Again(self)
        dead = [signals.ends(s) for s in self._signals]
        if dead[0] and not dead[1] and self._plan.alive is None:
            self._plan.alive = {
                key: _stand_ins(*value)
                for key, value in found.items()
                if key not in _LASTING and self._values[1][key] is not self.state.before.get(key)
            }
            raise _Again(self)
        if not any(dead):
            self._lift(found)
        self._only_first = dead[1] and not dead[0]
        self._out = [None] * len(self._emitted)
        self._decisions = {key: self._decided(key, found.get(key), signal) for key in self._found}
        for key in found:
            if key not in self._decisions and not self._only_first and not signals.ends(self._signal):
                self._decisions[key] = self._missing(key)
        self._in_place = self._pure & pure & set(self.state.in_place)
        for number, t in enumerate(self._out):
            if t is None:
                self._out[number] = zeros(self._emitted[number])
        return [*self._out, *([signals.code_tensor(signal)] if self._may_jump else [])]

    # Names that one way gives a value ----------------------------------------------------------------------------------------

    def _lifted(self, key, way, kind):
        """What a way makes of a name that may have no value."""
        value = self._values[way].get(key, UNDEFINED)
        return maybe.missing(*kind) if value is UNDEFINED else maybe.lifted(value)

    def _lift(self, found):
        """Names of which one way says whether they have a value: both do."""
        for key in {**self._found, **found}:
            if not self.state.may_be_unbound(key) or any(key in keys for keys in self._open):
                continue
            values = [v.get(key, UNDEFINED) for v in self._values]
            if UNDEFINED in values and not wishes.is_wished(self.state.wish(key)):
                continue
            if UNDEFINED not in values and not any(isinstance(v, maybe.Maybe) for v in values):
                continue
            if key not in self._plan.maybe:
                self._plan.maybe[key] = maybe.kind(values[values[0] is UNDEFINED])
                raise _Again(self)
            found[key] = flat(self._lifted(key, 1, self._plan.maybe[key]), self._holds)

    # What becomes of a value --------------------------------------------------------------------------------------------------

    def _missing(self, key):
        inner = undefined.conflict(key[-1])  # of an `if` in one of the ways
        if inner is not None:
            return Conflict(*inner, is_of_kinds=any(key in keys for keys in self._open))
        wish = self.state.wish(key) if self.state.may_be_unbound(key) else None
        return Conflict(f"{self._one_way(key)}; give it one before", wish=wish)

    def _one_way(self, key):
        return (
            f"{self.state.name(key)} has a value in one way of the statement at {self.state.where()}, which depends on "
            "a tensor, and none in the other"
        )

    def _decided(self, key, other, signal):
        """(tree, [(whether it is a result, number of it or value)]), or a Conflict."""
        tree, leaves = self._found[key]
        before = self.state.before.get(key, UNDEFINED)
        if all(key in v and v[key] is before for v in self._values):
            return structure.TENSOR, [(False, before)]
        if other is None or self._only_first and key not in _LASTING:
            if key == _RETURN or self._only_first:  # whatever it is, nobody reads it
                return tree, [(n is not None, leaf if n is None else n) for n, leaf in zip(self._given[key], leaves)]
            return self._missing(key)
        if tree != other[0] or not all(map(equal, leaves, other[1])):
            self._as_coded(key)
        if tree != other[0]:
            self._as_arrays(key)
            return self._differs(key, f"{shown(key, tree, leaves)} and {shown(key, *other)}")
        decided = []
        for j, (a, b) in enumerate(zip(leaves, other[1], strict=True)):
            decided.append(self._leaf(key, j, a, b))
            if isinstance(decided[-1], Conflict):
                return decided[-1]
        return tree, decided

    def _as_coded(self, key):
        """A name whose texts differ from turn to turn, and are read: a number stands for them."""
        found = [v.get(key, self.state.before.get(key)) for v in self._values]
        if key in self._plan.coded or key[0] != "name" or len(key) > 2 or not all(map(coded.is_text, found)):
            return
        if wishes.is_wished(wishes.coded(self.state.file, key[-1])):
            self._plan.coded.add(key)
            raise _Again(self)

    def _as_arrays(self, key):
        """A name that is a list in one way, and in the other one that a loop made, is such a one in both; so is one to which the
        first turn of a loop gives more items, or fewer."""
        found = [v.get(key, self.state.before.get(key)) for v in self._values]
        of_loops = [isinstance(v, arrays.TensorArray) for v in found]
        if key[0] != "name" or key in self._plan.lists or not (any(of_loops) or self.is_turn):
            return
        if all(made or type(v) is list for v, made in zip(found, of_loops, strict=True)):
            kind = None
            with contextlib.suppress(TypeError):
                kind = item_kinds.common(*(arrays.kind_of(v, self.state.where()) for v in found))
            if kind is not None:
                self._plan.lists[key] = kind
                raise _Again(self)

    def _leaf(self, key, j, a, b):
        """(True, number of the result) or (False, value)."""
        number = self._given[key][j]
        missing = key in self._stand_ins
        if equal(a, b) and not missing:
            return False, a
        if number is None or not becomes_tensor(b):
            if missing:
                return False, b
            return self._differs(key, f"{described(a)} and {described(b)}")
        given = self._emitted[number]
        made = tensor_of(b)
        if made.dtype != given.dtype:
            dtype = self._common(given, made, is_number(a) or missing, is_number(b))
            if dtype is None:
                return self._differs(key, f"{described(a)} and {described(b)}")
            if dtype != given.dtype:
                self._again(key, j, dtype, None)
            made = tensor_of(made, dtype)
        if len(made.shape) != len(given.shape):
            if is_number(b) and one_element(given):
                made = tensor_of(made, None, known_sizes(given))
            elif (is_number(a) or missing) and one_element(made):
                self._again(key, j, made.dtype, known_sizes(made))
            elif self.is_turn and is_number(b) and key[0] == "name":
                return self._matrix(key, number)
            else:
                return self._differs(key, f"{described(a)} and {described(b)}")
        self._out[number] = made
        return True, number

    is_turn = False

    def _matrix(self, key, number):
        """A number before a loop that its first turn makes a tensor of more dims."""
        wish = self.state.wish(key)
        if not wishes.is_wished(wish):
            return Conflict(self._number_of_turn(key), TypeError, wish)
        self._of_turn.append(key)
        return True, number

    def _number_of_turn(self, key):
        return f"{self.state.name(key)} is a number before the loop at {self.state.where()}, and a tensor of more dims after a turn"

    def _common(self, a, b, weak_a, weak_b):
        """The dtype that both become; None if they are tensors of two dtypes."""
        if weak_a and weak_b:
            return wider(a.dtype, b.dtype)
        if weak_a or weak_b:
            strong, weak = (b.dtype, a.dtype) if weak_a else (a.dtype, b.dtype)
            if strong == wider(strong, weak) or is_floating(strong) and is_floating(weak):
                return strong
            return wider(strong, weak)
        if _C.amp.current() is not None and is_floating(a.dtype) and is_floating(b.dtype):
            return max(a.dtype, b.dtype, key=lambda d: (d == _C.float64, d == _C.float32))
        return None

    def _again(self, key, j, dtype, sizes):
        known = self._plan.kinds.get((key, j), (None, None))
        self._plan.kinds[key, j] = dtype, sizes or known[1]
        raise _Again(self)

    def why_returns(self, what=None):
        """What an error says of values of several kinds that the ways return."""
        what = what or " and ".join(map(described, self._plan.returns[:2]))
        return (
            f"{self.state.where()}: a value depends on a tensor, and the ways give {what}, of which who calls the recorded "
            "function can take either, but neither what goes on in it nor a file of another format; let both be tensors of one dtype and number of "
            "dims, in the same lists or tuples: zeros for what one way lacks, and a bool tensor that says which way it was"
        )

    def _differs(self, key, what):
        where = self.state.where()
        if key[0] == "contents" or len(key) > 2:
            self._leave_apart(key, self._signals[1])
        if key[0] == "contents":
            # Others may hold it by other names: what follows is recorded in each way to the end of its block.
            return Conflict(
                f"{self.state.name(key)} differ between the ways of this statement: {what}; {rewrite(getattr(self.state.slot(key), 'container', None))}",
                wish=wishes.ways(self.state.file, self.state.line, None),
            )
        if key == _RETURN:
            every = alternatives.merged(self._plan.returns, self._returned.values())
            if len(every) == len(self._plan.returns) or len(self._returned) < 2:
                raise _C.located(TypeError(self.why_returns(what)))
            self._plan.returns, self._plan.payload = every, None
            self._plan.kinds = {at: kind for at, kind in self._plan.kinds.items() if at[0] != _RETURN}
            raise _Again(self)
        return Conflict(
            f"the ways of the statement at {where}, which depends on a tensor, give {what}; let both give tensors of one "
            "dtype and number of dims",
            TypeError,
            self._ways_apart(key),
            True,
        )

    def _ways_apart(self, key):
        """The wish for what reads a name of which the ways give values of several kinds."""
        if key[0] == "name" and any(v.get(key, self.state.before.get(key)) is None for v in self._values):
            wish = wishes.none(self.state.file, key[-1], self.state.line)
            if not wishes.is_wished(wish):
                return wish
        found = [
            wishes.ways(self.state.file, self.state.line, name) for name in (key[-1] if len(key) == 2 else None, None)
        ]
        if len(key) == 2 and all(coded.is_text(v.get(key, self.state.before.get(key))) for v in self._values):
            found.append(wishes.coded(self.state.file, key[-1]))
        return next((wish for wish in found if not wishes.is_wished(wish)), found[-1])
