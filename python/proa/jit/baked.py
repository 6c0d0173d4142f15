"""Numbers that a recording holds of tensors that its program changes: counters and places in queues that Python reads.

`int(self.count)` is what it was when the function was recorded; where the program counts on, each of its runs would work with
that number. Such a read leaves no trace in the program, so the function is recorded once more with other values: what is
recorded then must be the same. That is done for tensors of one element, and for few integers, as counters are; networks without
them, and those that have statistics of batches alone, are recorded once.
"""

from proa import _C
from proa.framework.once import exactly
from proa.framework.reports import is_turn

# What is added to the value of a state: for numbers that are used, and for comparisons with large ones.
_OTHERS = (1, 10007)
_MOST_ELEMENTS = 16  # of tensors that stand for numbers


def _counts(tensor):
    return tensor.numel() == 1 or tensor.is_integer() and 0 < tensor.numel() <= _MOST_ELEMENTS


def settle(trace, record, layer):
    """Records anew so that counters are values of the program, and none of them is a number in it.

    Args:
        trace (Trace): as it is recorded.
        record (Callable): records it anew.
        layer (Layer|None): which names its buffers for errors.

    Raises:
        RuntimeError: the function reads one as a number of Python.
    """
    states = [t for t in trace.module().changed if _counts(t) and not is_turn(t)]
    if not states:
        return
    if not {id(t) for t in states} <= {id(t) for name, t in trace.module().captured if name}:
        trace.states = states
        record()
    for state in states:
        if _holds_value_of(state, trace, record):
            raise _C.located(RuntimeError(_says(state, layer)))


def _holds_value_of(state, trace, record):
    """Whether other things are recorded where a tensor has another value."""
    first, found, value = dict(trace.__dict__), _found(trace), state.detach().clone()
    differs = False
    try:
        for other in _OTHERS:
            with exactly():
                _C.ops.store_(state, ~value if value.dtype == _C.bool else (value + other).astype(value.dtype))
            differs = differs or _recorded(trace, record) != found
    finally:
        with exactly():
            _C.ops.store_(state, value)
    # Not where each recording differs from the one before, for other reasons.
    differs = differs and _recorded(trace, record) == found
    trace.__dict__.clear()
    trace.__dict__.update(first)
    return differs


def _recorded(trace, record):
    try:
        record()
    except Exception:  # pylint: disable=broad-except
        return None
    return _found(trace)


def _found(trace):
    """The program, and the numbers that are tensors in it."""
    captured = trace.module().captured
    numbers = [repr(t.tolist()) for name, t in captured if not name and t.numel() <= _MOST_ELEMENTS]
    return str(trace.program), numbers


def _says(state, layer):
    names = [name for name, buffer in layer.named_buffers() if buffer is state] if layer is not None else []
    what = f"the buffer {names[0]!r}" if names else "a tensor"
    size = "one element" if state.numel() == 1 else f"{state.numel()} elements"
    now = state.item() if state.numel() == 1 else state.tolist()
    return (
        f"the function changes {what} of {size}, {now} now, and reads it as a number of Python while it is recorded: by "
        "int(), as an index, a size or an argument that is a number. Each run of the program would work with the number of "
        "now; read a value of the program instead, such as `count + 0`"
    )
