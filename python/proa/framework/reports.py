"""What programs do besides their results: they print and assert, by ops that change one tensor and so keep their order."""

import contextlib
import threading

from proa import _C

_turns: dict = {}  # by place
_lock = threading.Lock()
_thread = threading.local()


@contextlib.contextmanager
def only_where(flag):
    """Inside, prints and assertions are those of a branch of the program: where a bool tensor holds."""
    before, _thread.flag = getattr(_thread, "flag", None), flag
    try:
        yield
    finally:
        _thread.flag = before


def _report(call, *args):
    flag = getattr(_thread, "flag", None)
    if flag is None:
        call(*args)
        return

    def then():
        call(*args)
        return []

    _C.cond(flag, then, lambda: [])


def turn(value):
    """The tensor of the process that ops which print and assert change, at the place of a tensor."""
    place = value.place
    found = _turns.get(str(place))
    if found is None:
        with _lock, _C.eager_mode():
            found = _turns.setdefault(str(place), _C.ops.full([1], 0, _C.int64, place))
    return found


def is_turn(tensor):
    """Whether it is such a tensor: what it has tells nobody anything."""
    return any(tensor is t for t in _turns.values())


def assertion(condition, message, data=(), summarize=20):
    """Raises AssertionError in runs in which an element of a bool tensor is False."""
    _report(_C.ops.assert_, condition, turn(condition), message, list(data), summarize)


def shown(values, sep=" ", end="\n"):
    """`print(*values)` of tensors and anything, in each run."""
    before = ""
    tensors = [i for i, v in enumerate(values) if isinstance(v, _C.Tensor)]
    for i, value in enumerate(values):
        before += sep if i > 0 else ""
        if not isinstance(value, _C.Tensor):
            before += str(value)
            continue
        after = ""
        if i == tensors[-1]:
            after = "".join(f"{sep}{v}" for v in values[i + 1 :]) + end
        _report(_C.ops.print_, value, turn(value), before, after, value.stop_gradient)
        before = ""


def described(value, first_n, summarize, message, name, with_dtype, with_shape):
    """What `static.Print` shows of a tensor."""
    with _C.eager_mode():
        times = _C.ops.full([1], 0, _C.int64, value.place)
    _report(
        _C.ops.print_described_,
        value,
        turn(value),
        times,
        first_n,
        summarize,
        message or "",
        name or "",
        with_dtype,
        with_shape,
    )
