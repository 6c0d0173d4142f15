"""Assertions and prints of what only the run of a program knows: made by who replays it, after the run.

A recording hands their tensors out besides its results. In a loop of the program there is no one run of them, so there
they are refused.
"""

import threading
import warnings

from proa import _C
from proa.jit.dy2static import branches
from proa.jit.dy2static.values import is_late

_thread = threading.local()


class Assertion:
    """`assert condition, message`."""

    def __init__(self, condition, message):
        self.tensors, self._message = [condition], message

    def run(self, tensors):
        if not tensors[0].item():
            raise AssertionError(*self._message)


class Printed:
    """`print(...)` with tensors among what is printed."""

    def __init__(self, values, settings):
        self._late = [is_late(v) for v in values]
        self._values, self._settings = values, settings
        self.tensors = [v for v, late in zip(values, self._late, strict=True) if late]

    def run(self, tensors):
        found = iter(tensors)
        print(*[next(found) if late else v for v, late in zip(self._values, self._late, strict=True)], **self._settings)


class collecting:
    """`with collecting() as found:` what is to be done after the run of what is recorded inside."""

    def __enter__(self):
        self._before = getattr(_thread, "found", None)
        _thread.found = []
        return _thread.found

    def __exit__(self, *unused):
        _thread.found = self._before


def note(condition, message):
    """An assertion of a bool tensor; True."""
    if branches.in_region():
        raise _C.located(
            NotImplementedError(
                "assert of a tensor in a branch or loop that depends on a tensor is not in this version; assert what it "
                "gives after it"
            )
        )
    found = getattr(_thread, "found", None)
    if found is not None:
        text = () if message is None else (message(),)
        found.append(Assertion(condition, text))
    return True


def shown(values, settings):
    """A print of these values."""
    if branches.in_region():
        warnings.warn(
            "print: in a branch or loop that depends on a tensor, values of the program are not printed when it runs; "
            "print what it gives after it",
            stacklevel=3,
        )
        return
    found = getattr(_thread, "found", None)
    if found is not None:
        found.append(Printed(values, settings))
