"""Control flow of ONNX, sequences and optionals. The language: python/proa/onnx/import_rule.py."""

import numpy as np

import proa
from proa import _C
from proa.onnx.import_rule import (
    EMPTY,
    Known,
    branch,
    check_turns,
    is_recorded,
    known,
    numbers,
    opset,
    raw,
    refuse,
    scalar,
    tensor_of,
    to,
)

ops = _C.ops


def _truth(value):
    return bool(scalar(known(value, "the condition")))


# Control flow ---------------------------------------------------------------------------------------------------------


def from_If(cond: raw, *, then_branch, else_branch):
    if not is_recorded(cond):
        return tuple(branch(then_branch if _truth(cond) else else_branch)())
    made = proa.static.nn.cond(
        ops.reshape(cond, []), lambda: _tensors(branch(then_branch)()), lambda: _tensors(branch(else_branch)())
    )
    return tuple(made) if isinstance(made, (list, tuple)) else made


def _tensors(values):
    if any(isinstance(v, list) or v is EMPTY for v in values):
        refuse("sequences and optionals cannot come out of a branch or loop that a recorded program decides")
    return [tensor_of(v) for v in values]


def from_Loop(count: raw = None, cond: raw = None, *state: raw, body):
    run = branch(body)
    carried = len(state)
    scans = len(body.outputs) - 1 - carried
    if scans < 0 or len(body.inputs) != carried + 2:
        refuse(f"its body takes {len(body.inputs)} and gives {len(body.outputs)} values, with {carried} carried")
    if is_recorded(count) or is_recorded(cond):
        return _late_loop(run, count, cond, state, scans)
    turns = None if count is None else int(scalar(known(count, "the trip count")))
    going = cond is None or _truth(cond)
    collected: list = [[] for _ in range(scans)]
    values, i = list(state), 0
    while going and (turns is None or i < turns):
        check_turns(i, *values)
        given = run(Known(np.array(i, np.int64), "int64"), Known(np.array(True), "bool"), *values)
        if is_recorded(given[0]):
            if i == 0 and not scans:
                return _late_loop(run, count, cond, state, scans)
            refuse("a recorded program cannot know when the loop ends, and it collects results")
        going, values = _truth(given[0]), given[1 : 1 + carried]
        for part, value in zip(collected, given[1 + carried :], strict=True):
            part.append(tensor_of(value))
        i += 1
    return (*values, *[_stacked(part, body, carried + 1 + k) for k, part in enumerate(collected)])


def _stacked(parts, body, place):
    if parts:
        return ops.stack(parts, 0)
    refuse(f"the loop has no turn, and the sizes of {body.outputs[place]!r} are not known")


def _late_loop(run, count, cond, state, scans):
    """A loop whose number of turns is known when the program runs."""
    if scans:
        refuse("a loop that collects results needs to know its number of turns where a program is recorded")
    state = _tensors(state)
    # Every turn gives the tensors' dtypes and ranks again.
    first = ops.full([], True, "bool") if cond is None else ops.reshape(tensor_of(cond), [])
    last = None if count is None else ops.reshape(to(tensor_of(count), "int64"), [])

    def goes_on(i, going, *values):
        return going if last is None else ops.logical_and(going, i < last)

    def turn(i, going, *values):
        given = _tensors(run(i, going, *values))
        return [i + 1, ops.reshape(given[0], []), *given[1:]]

    made = proa.static.nn.while_loop(goes_on, turn, [ops.full([], 0, "int64"), first, *state])
    return tuple(made[2:])


def from_Scan(*inputs, body, num_scan_inputs, scan_input_axes=None, scan_input_directions=None, scan_output_axes=None,
              scan_output_directions=None, directions=None):  # fmt: skip
    if opset() < 9:
        return _scan_of_batch(inputs, body, num_scan_inputs, directions)
    return _scan(
        inputs, body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions
    )


def _scan(inputs, body, n, in_axes, in_directions, out_axes, out_directions):
    run, carried = branch(body), len(inputs) - n
    if not 0 < n <= len(inputs) or len(body.outputs) < carried:
        refuse(f"{n} inputs are scanned of {len(inputs)}")
    axes = list(in_axes or [0] * n)
    state, scanned = list(inputs[:carried]), inputs[carried:]
    steps = {x.shape[a] for x, a in zip(scanned, axes, strict=True)}
    if any(hasattr(s, "tensor") for s in steps):
        refuse("the number of turns must be known where a program is recorded")
    if len(steps) != 1:
        refuse(f"inputs are scanned over different sizes, {sorted(steps)}")
    check_turns(*steps, *inputs)
    parts = [ops.unbind(x, a) for x, a in zip(scanned, axes, strict=True)]
    parts = [p[::-1] if in_directions and in_directions[i] else p for i, p in enumerate(parts)]
    collected = [[] for _ in range(len(body.outputs) - carried)]
    for t in range(steps.pop()):
        given = _tensors(run(*state, *[p[t] for p in parts]))
        state = given[:carried]
        for part, value in zip(collected, given[carried:], strict=True):
            part.append(value)
    made = []
    for k, part in enumerate(collected):
        part = part[::-1] if out_directions and out_directions[k] else part
        axis = out_axes[k] if out_axes else 0
        made.append(ops.stack(part, axis) if part else _stacked(part, body, carried + k))
    return (*state, *made)


def _scan_of_batch(inputs, body, n, directions):
    """As opset 8 had it: an input of lengths, that may be left out, and a batch dim before all."""
    if inputs[0] is not None:
        refuse("lengths of sequences are not known here")
    given = inputs[1:]
    carried = len(given) - n
    batches = []
    check_turns(given[0].shape[0], *given)
    for i in range(given[0].shape[0]):
        one = [ops.squeeze(ops.slice(x, [0], [i], [i + 1]), [0]) for x in given]
        batches.append(_scan(one, body, n, None, directions, None, None))
    del carried
    return tuple(ops.stack(list(parts), 0) for parts in zip(*batches, strict=True))


# Sequences ------------------------------------------------------------------------------------------------------------


def _sequence(value):
    if not isinstance(value, list):
        refuse("it takes a sequence")
    return value


def _place(sequence, position, more=0):
    at = int(scalar(known(position, "the position")))
    if not -len(sequence) <= at < len(sequence) + more:
        refuse(f"position {at} of a sequence of {len(sequence)}")
    return at


def from_SequenceEmpty(*, dtype=1):
    return []


def from_SequenceConstruct(*values: raw):
    return list(values)


def from_SequenceInsert(sequence: raw, value: raw, position: raw = None):
    made = list(_sequence(sequence))
    made.insert(len(made) if position is None else _place(made, position, 1), value)
    return made


def from_SequenceErase(sequence: raw, position: raw = None):
    made = list(_sequence(sequence))
    if not made:
        refuse("the sequence is empty")
    del made[-1 if position is None else _place(made, position)]
    return made


def from_SequenceAt(sequence: raw, position: raw):
    return _sequence(sequence)[_place(sequence, position)]


def from_SequenceLength(sequence: raw):
    return Known(np.array(len(_sequence(sequence)), np.int64), "int64")


def from_SequenceMap(sequence: raw, *more: raw, body):
    run = branch(body)
    rows = []
    for i, value in enumerate(_sequence(sequence)):
        rows.append(run(value, *[v[i] if isinstance(v, list) else v for v in more]))
    return tuple(list(part) for part in zip(*rows, strict=True)) if rows else tuple([] for _ in body.outputs)


def from_ConcatFromSequence(sequence: raw, *, axis, new_axis=0):
    parts = [tensor_of(v) for v in _sequence(sequence)]
    return ops.stack(parts, axis) if new_axis else ops.concat(parts, axis)


def from_SplitToSequence(x, split: numbers = None, *, axis=0, keepdims=1):
    if split is None:
        parts = ops.unbind(x, axis)
        return [ops.unsqueeze(p, [axis]) for p in parts] if keepdims else list(parts)
    n = x.shape[axis]
    if np.ndim(split) == 0:
        each = int(scalar(split))
        if hasattr(n, "tensor") or each <= 0:
            refuse("the size of the dim must be known, and parts positive")
        lengths = [each] * (n // each) + ([n % each] if n % each else [])
    else:
        lengths = [int(s) for s in split]
    return list(ops.split(x, lengths, axis))


# Optionals ------------------------------------------------------------------------------------------------------------


def from_Optional(value: raw = None, *, type=None):
    return EMPTY if value is None else value


def from_OptionalHasElement(value: raw = None):
    return Known(np.array(value is not None and value is not EMPTY), "bool")


def from_OptionalGetElement(value: raw):
    if value is EMPTY or value is None:
        refuse("the optional has no value")
    return value
