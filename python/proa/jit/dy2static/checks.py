"""Assertions, errors and prints of what only the run of a program knows.

`assert` and `print` are operations of the program. Errors of `raise`, and names without a value, are raised by who replays
it, after the run: a recording hands their tensors out besides its results. What fails in a branch or loop is a number, 0 for
nothing, that the program carries as it carries the names that a block changes: `Failure` says which error it stands for. In a
program that is written to a file they are assertions at its end.
"""

import linecache
import os
import sys
import threading

from proa import _C
from proa.framework import reports
from proa.jit.dy2static import tracebacks, undefined, wishes, writes
from proa.jit.dy2static.values import is_late

_thread = threading.local()


class Unfinished(BaseException):
    """What ends the recording of a statement: no handler of the user takes it."""


class Assertion:
    """`assert condition, message`."""

    def __init__(self, condition, error):
        self.tensors, self._error = [condition], error

    def run(self, tensors):
        if not tensors[0].item():
            raise self._error.with_traceback(None)

    def assertions(self):
        """(a bool tensor, the error that is due where it is False)."""
        return [(self.tensors[0], self._error)]

    def texts(self):
        """What it is, for who cannot have it."""
        return [_text_of(self._error)]


class Printed:
    """`print(...)` with tensors among what is printed, to a file."""

    def __init__(self, values, settings):
        self._late = [is_late(v) for v in values]
        self._values, self._settings = values, settings
        self.tensors = [v for v, late in zip(values, self._late, strict=True) if late]

    def texts(self):
        return ["a print to a file"]

    def run(self, tensors):
        found = iter(tensors)
        print(*[next(found) if late else v for v, late in zip(self._values, self._late, strict=True)], **self._settings)


class Failure:
    """The first error of branches and loops, by its number; a place that State restores like a name."""

    name = "assert"  # no name of a user

    def __init__(self):
        self.code, self._errors = 0, []

    def get(self):
        return self.code

    def put(self, value):
        self.code = value

    @property
    def tensors(self):
        return [self.code]

    def add(self, error, holds=None):
        """From here on an error is due, unless one was before: always, or where `holds`, a bool tensor, is False."""
        self._errors.append((error, tracebacks.of_user(error).__traceback__))
        code = _C.ops.assign(_C.to_tensor(self.code)) if isinstance(self.code, int) else self.code
        fails = _C.ops.equal(code, _C.to_tensor(0))
        if holds is not None:
            fails = _C.ops.logical_and(fails, _C.ops.logical_not(holds))
        self.code = _C.ops.where(fails, _C.to_tensor(len(self._errors)), code)

    def run(self, tensors):
        code = tensors[0].item()
        if code:
            error, place = self._errors[code - 1]
            raise error.with_traceback(place)

    def assertions(self):
        return [(_C.ops.not_equal(self.code, _C.to_tensor(k)), e) for k, (e, _) in enumerate(self._errors, 1)]

    def texts(self):
        return [_text_of(error) for error, _ in self._errors]


def _text_of(error):
    first = (str(error).splitlines() or [""])[0]
    return f"the error {type(error).__name__}: {first}"


class collecting:
    """`with collecting() as found:` what is to be done after the run of what is recorded inside.

    Args:
        left_out (list, optional): the program neither prints nor asserts; what it would is noted here, as texts.
    """

    def __init__(self, left_out=None):
        self._left_out = left_out

    def __enter__(self):
        self._before = getattr(_thread, "found", None), getattr(_thread, "failure", None), _left_out()
        _thread.found, _thread.failure, _thread.left_out = [], Failure(), self._left_out
        return _thread.found

    def __exit__(self, *unused):
        if isinstance(_thread.failure.code, _C.Tensor):
            _thread.found.append(_thread.failure)
        _thread.found, _thread.failure, _thread.left_out = self._before


def _left_out():
    """Where to note what is left out, if what is recorded on this thread is not to print and assert; else None."""
    return getattr(_thread, "left_out", None)


def _leave_out(what, frame=None):
    """Notes a print or an assertion that is not recorded, with its line, unless there is nowhere to; whether it did."""
    if _left_out() is None:
        return False
    where = tracebacks.line_of(frame) if frame is not None else tracebacks.line_of_user()
    if (text := f"{what} at {where}") not in _left_out():
        _left_out().append(text)
    return True


def left_out_of(found):
    """What is due after a run, as texts: of a program that cannot hold it."""
    return [text for check in found for text in check.texts()]


def record(found):
    """Errors that are due after a run as assertions of the program; those of what was found that cannot be such."""
    left = []
    for check in found:
        if isinstance(check, Printed):
            left.append(check)
            continue
        for holds, error in check.assertions():
            reports.assertion(holds, f"{type(error).__name__}: {error}")
    return left


def failure():
    """The Failure of what is recorded on this thread, or None."""
    return getattr(_thread, "failure", None)


def goes_on(condition):
    """The condition of a loop, which ends when an error is due."""
    found = failure()
    if found is None or isinstance(found.code, int):
        return condition
    return _C.ops.logical_and(condition, _C.ops.equal(found.code, _C.to_tensor(0)))


class guarding:
    """Around the body of a `try` with handlers: an error that only the run knows would pass them by.

    Args:
        kinds: gives the classes of errors that they take.
    """

    def __init__(self, kinds):
        self._kinds = kinds

    def __enter__(self):
        _thread.guards = (*getattr(_thread, "guards", ()), self._kinds)

    def __exit__(self, *unused):
        _thread.guards = _thread.guards[:-1]


def _is_handled(kind):
    """Whether a `try` around what is recorded may handle errors of a class."""
    for kinds in getattr(_thread, "guards", ()):
        try:
            if issubclass(kind, kinds()):
                return True
        except Exception:  # a name that has no value yet
            return True
    return False


class block:
    """Around a branch or turn: what a `try` in it handles is Python's, what one around it handles is not."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass

    def takes(self, error):
        """Whether the error is one of a `raise` or `assert` that was run in the block; then it is due after the run."""
        if getattr(_thread, "raised", None) is not error or failure() is None:
            return False
        _thread.raised = None
        if _is_handled(type(error)):
            refusal = _C.located(
                NotImplementedError(
                    f"{type(error).__name__} is raised where a tensor says so, in a `try` that may handle it; handle it by "
                    "an `if` of the same condition"
                )
            )
            refusal._proa_wish = wishes.caught(*tracebacks.place_of(error))
            raise refusal from None
        failure().add(error)
        return True

    def adds(self, error):
        """Makes an error of Python that a block raised one that is due after the run; whether it could."""
        if _is_handled(type(error)) or failure() is None:
            return False
        failure().add(error)
        return True


def misses(error, block, state):
    """Whether a block reads a name that has no value there, as far as is known for sure: the run raises, if it comes there."""
    name = undefined.name_of(error) if isinstance(error, NameError) else None
    if name is None or not state.asks(name) or not wishes.is_fulfilled(error) or not block.adds(error):
        return False
    wishes.note_read(name)
    return True


def again():
    """The error that was noted last, to be raised where all ways raise."""
    error, _ = failure()._errors[-1]
    _thread.raised = error
    return error


def raised(error):
    """An error that is about to be raised by a statement of the user in a branch or loop."""
    error = error() if isinstance(error, type) and issubclass(error, BaseException) else error
    if writes.depth():
        _thread.raised = error
    return error


def note(condition, message, frame):
    """An assertion of a bool tensor, made by a line of a frame; True."""
    _refuse_handled(AssertionError, wishes.caught(frame.f_code.co_filename, frame.f_lineno))
    if not _leave_out("assert", frame):
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
        text = line if message is None else str(message())
        # What an error comes before is not reached.
        if (found := failure()) is not None and isinstance(found.code, _C.Tensor):
            condition = _C.ops.logical_or(condition, _C.ops.not_equal(found.code, _C.to_tensor(0)))
        where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}, in {frame.f_code.co_name}"
        reports.assertion(condition, f"{text}\n  at {where}{f': {line}' if text != line else ''}")
    return True


def _refuse_handled(kind, wish=None):
    """An error that only the run knows passes handlers by."""
    if _is_handled(kind):
        refusal = _C.located(
            NotImplementedError(
                f"{kind.__name__} where a tensor says so, in a `try` that may handle it; use an `if` instead"
            )
        )
        refusal._proa_wish = wish
        raise refusal


def expect(condition, error):
    """An error is due after the run where a bool tensor is False."""
    _refuse_handled(type(error))
    found = getattr(_thread, "found", None)
    if found is None:
        return
    if writes.depth() or isinstance(_thread.failure.code, _C.Tensor):
        _thread.failure.add(error, condition)
    else:
        found.append(Assertion(condition, error))


def shown(values, settings):
    """A print of these values."""
    settings = {k: v for k, v in settings.items() if v is not None}
    settings.pop("flush", None)
    file = settings.pop("file", sys.stdout)
    if _leave_out("print"):
        return
    if file is sys.stdout:
        reports.shown(values, **settings)
        return
    found = getattr(_thread, "found", None)
    if writes.depth() or found is None:
        raise _C.located(
            NotImplementedError(
                "print: to a file, in a branch or loop that depends on a tensor; print to standard output, or print what it "
                "gives after it"
            )
        )
    found.append(Printed(values, {**settings, "file": file}))
