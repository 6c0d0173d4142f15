"""Recorded programs made again so that backward computes values of forward once more in place of keeping them.

Checkpoints divide forward into segments. What backward needs of a segment it makes from the values at the segment's border, when
the first of it is needed: memory holds the checkpoints, and the inside of one segment at a time.
"""

import contextlib
import functools

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.static import remaking
from proa.static import scope as scopes
from proa.static.replay import Value, parse

__all__ = ["changes_tensors", "find_checkpoints", "number_of_calls", "recompute"]


def number_of_calls(program):
    """How many operations a program has so far."""
    return len(parse(str(program._program))[1])


def find_checkpoints(program, checkpoints):
    """Values of a program from tensors of it and names.

    Raises:
        TypeError: for what is neither.
        ValueError: the program has no such value.
    """
    found = []
    for item in checkpoints:
        if not isinstance(item, (str, _C.Tensor)):
            raise _C.located(
                TypeError(f"recompute: checkpoints are tensors of the program and names, not {type(item).__name__}")
            )
        tensor = item if isinstance(item, _C.Tensor) else _named(program, item)
        if tensor is None or not _C.is_symbolic(tensor) or not program.owns(tensor):
            raise _C.located(
                ValueError(f"recompute: the checkpoint {getattr(item, 'name', item)!r} is no value of the program")
            )
        found.append(program.current(tensor))
    return found


def _named(program, name):
    for recorded in (program._program, *(before for before, *_ in reversed(program._replaced))):
        tensor = recorded.find(name)
        if tensor is not None:
            return tensor
    return None


class _Forward:
    """What is known of the operations that the loss comes from.

    Args:
        calls (list[Call]): they.
        checkpoints (set[int]): numbers of values.
    """

    def __init__(self, calls, checkpoints):
        self.calls = calls
        self._maker = {v: at for at, call in enumerate(calls) for v in _flat(call.results)}
        ends = sorted({self._maker[v] for v in checkpoints if v in self._maker})
        segments, here = [], 0
        for at in range(len(calls)):
            segments.append(here)
            here += here < len(ends) and ends[here] == at
        self._segments, self._last = segments, here
        self._kept = set(checkpoints) | {
            v for at, call in enumerate(calls) if _has_effects(call) for v in _flat(call.results)
        }
        for at, call in enumerate(calls):
            self._kept |= {v for v in _used(call) if v in self._maker and segments[self._maker[v]] < segments[at]}
        changed = [call.args[0] for call in calls if call.op.endswith("_") and call.args]
        self.changed = {v for one in changed for v in (one if isinstance(one, list) else [one])}

    def is_again(self, value):
        """Whether backward makes a value once more."""
        at = self._maker.get(value)
        return at is not None and value not in self._kept and self._segments[at] < self._last

    def is_made(self, value):
        """Whether a value comes from one of the operations."""
        return value in self._maker

    def segment(self, value):
        return self._segments[self._maker[value]]

    def needed(self, values):
        """The numbers of the operations that make these values once more, in order."""
        found, open = set(), [v for v in values if self.is_again(v)]
        while open:
            at = self._maker[open.pop()]
            if at not in found:
                found.add(at)
                open += [v for v in _used(self.calls[at]) if self.is_again(v)]
        return sorted(found)


def _flat(parts):
    return [v for part in parts for v in (part if isinstance(part, list) else [part]) if isinstance(v, Value)]


def _used(call):
    """The values that a call and the calls of its regions take."""
    found = _flat(call.args)
    for region in call.regions:
        found += [v for inner in region.calls for v in _used(inner)] + _flat([region.returns])
    return found


def _has_effects(call):
    """Whether a second run of it would do or give something else."""
    return bool(call.regions) or call.op.endswith("_") or "random" in _traits().get(call.op, ("random",))


def changes_tensors(call):
    """Whether a call writes to a tensor that is there: an update, a running statistic."""
    return call.op.endswith("_") or any(changes_tensors(inner) for region in call.regions for inner in region.calls)


@contextlib.contextmanager
def _updating():
    with no_grad(), remaking.settings_of(0):
        yield


@functools.cache
def _traits():
    return {op["name"]: op["traits"] for op in _C.op_registry()}


def recompute(program, checkpoints, first):
    """Makes a program again, with what backward reads of forward computed anew there.

    Random numbers are drawn once: results of ops that draw them are kept, and so is what changes tensors, and loops and branches.

    Args:
        program (Program): its gradients are the operations from number `first` on; updates of parameters may follow them.
        checkpoints (list[Tensor]): values that are kept, as `find_checkpoints` gave them.
        first (int): the number of operations that came before the gradients.

    Raises:
        NotImplementedError: gradients of a loop, which are of one recording.
    """
    recorded = program._program
    numbers = {recorded.value_number(t) for t in checkpoints}
    replay, again, inputs = remaking.begin(program, True)
    if any(call.op == "reverse_loop" for call in replay.calls):
        raise _C.located(
            NotImplementedError(
                "recompute: backward goes through a while_loop, whose gradient cannot be recorded twice; leave the checkpoints out"
            )
        )
    forward = _Forward(replay.calls[:first], numbers)
    made, before, borders = {}, {}, {}
    updates = next((at for at in range(first, len(replay.calls)) if changes_tensors(replay.calls[at])), None)

    def remember(call):
        """Forward: what an operation reads that is changed later has a copy for the second run."""
        for v in _flat(call.args):
            if v in forward.changed and v not in before:
                before[v] = replay.env[v].clone()

    def border(v, segment):
        """A value that was kept, under another name: else the two runs would be found equal, and made one."""
        if not forward.is_made(v) and v not in inputs_of:
            return before.get(v, replay.env[v])
        if (segment, v) not in borders:
            borders[segment, v] = replay.env[v].clone()
        return borders[segment, v]

    def make_again(values):
        for at in forward.needed([v for v in values if v not in made]):
            call = forward.calls[at]
            results = _flat(call.results)
            if any(v in made for v in results):
                continue
            segment = forward.segment(results[0])
            taken = [v for v in _flat(call.args) if v not in made]
            own = {v: replay.env[v] for v in [*taken, *results]}
            replay.env.update((v, border(v, segment)) for v in taken)
            with remaking.settings_of(0):
                replay._make(call, exact=False)
            replay.env.update((v, own[v]) for v in own if not forward.is_again(v))
            for v in filter(forward.is_again, results):
                made[v] = own[v]

    def context(at, call):
        if at < first:
            if not _has_effects(call):
                remember(call)
        elif updates is None or at < updates:
            make_again(_used(call))
        else:  # parameters are no longer what forward saw
            return _updating()
        return remaking.settings_of(0)

    inputs_of = {recorded.value_number(recorded.find(name)) for name in recorded.input_names}

    def make():
        with again.recording():
            replay.run(context)
        replay.env.update(made)  # tensors of the program name what forward made

    remaking.replace(program, replay, again, inputs, make)


def owner(tensor):
    """The program that a symbolic tensor was recorded into."""
    return next(p for p in list(scopes.programs) if p.owns(tensor))
