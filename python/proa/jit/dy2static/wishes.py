"""Recordings that are made once more, with what a first one missed: a name that a loop binds, the items of a generator.

What costs something in each run of the program is recorded only where it is wished for.
"""

import contextlib
import threading

from proa.jit.dy2static import undefined

_GENERATOR = 0x20
_ASKED = ("has no elements until the program runs", "is known only when the program runs")
_thread = threading.local()


def is_wished(wish):
    """Whether a first recording missed this."""
    return wish in getattr(_thread, "wishes", ())


class collecting:
    """Around the recordings of a function: what one missed, the next one has."""

    def __enter__(self):
        self._before = getattr(_thread, "wishes", None)
        _thread.wishes = set()

    def __exit__(self, *unused):
        _thread.wishes = self._before


def is_fulfilled(error):
    """Whether a name that an error misses has no value for sure: nothing of it was left out."""
    reason, kind, wish = undefined.missed(error)
    return reason is None or kind is None and wish is not None and is_wished(wish)


@contextlib.contextmanager
def reads():
    """The names, a set, that ways inside read where they have no value: an earlier turn of a loop may give it."""
    outer = getattr(_thread, "reads", ())
    found = set()
    _thread.reads = (*outer, found)
    try:
        yield found
    finally:
        _thread.reads = outer


def note_read(name):
    """A way read a name that has no value there."""
    for found in getattr(_thread, "reads", ()):
        found.add(name)


def noted(error):
    """Whether an error of a recording says what it missed, so that it is to be made once more."""
    wish = _of_generator(error) or undefined.missed(error)[2] or getattr(error, "_proa_wish", None)
    if wish is None or wish in _thread.wishes:
        return False
    _thread.wishes.add(wish)
    return True


def note_names(file, names):
    """Some names of functions of a file are read where they may have no value."""
    if names and getattr(_thread, "wishes", None) is not None:
        _thread.wishes.update((file, None, name) for name in names)


def generator(code):
    """The wish for the items of a generator as a list; None for other code."""
    return ("generator", code.co_filename, code.co_firstlineno, code.co_name) if code.co_flags & _GENERATOR else None


def kinds(code, position, count):
    """The wish that what follows a call is recorded for each of `count` kinds of its result (kinds.py)."""
    return ("kinds", code.co_filename, position, count)


def ways(file, line, name):
    """The wish that what follows the `if` of a line is recorded for each of its ways (kinds.py), as far as it reads a name; to its
    end where `name` is None."""
    return ("ways", file, line, name)


def caught(file, line):
    """The wish that the `raise` or `assert` of a line, in a `try`, is a jump to what handles it (raises.py)."""
    return ("caught", file, line)


def lines_of_caught(code):
    """The lines in the file of a code object for which that is wished."""
    every = getattr(_thread, "wishes", None) or ()
    return frozenset(wish[2] for wish in every if wish[0] == "caught" and wish[1] == code.co_filename)


def coded(file, name):
    """The wish that the texts of a name are numbers where they differ from turn to turn (coded.py)."""
    return ("coded", file, name)


def lines_of_ways(code):
    """(line, name) of each `if` in the file of a code object for which that is wished."""
    every = getattr(_thread, "wishes", None) or ()
    return frozenset(wish[2:] for wish in every if wish[0] == "ways" and wish[1] == code.co_filename)


def none(file, name, line):
    """The wish that a name, which the statement of a line leaves None or not, has no value in the place of None (nones.py)."""
    return ("none", file, name, line)


def is_of_none(name):
    """Whether such a wish is for a name."""
    return any(wish[0] == "none" and wish[2] == name for wish in getattr(_thread, "wishes", None) or ())


def names_of_none(code):
    """{name: lines} in the file of a code object for which that is wished."""
    found = {}
    for wish in getattr(_thread, "wishes", None) or ():
        if wish[0] == "none" and wish[1] == code.co_filename:
            found.setdefault(wish[2], set()).add(wish[3])
    return found


def is_of_kinds(error):
    """Whether the wish of an error is such a one."""
    return getattr(error, "_proa_wish", (None,))[0] == "kinds"


def calls_of_kinds(code):
    """{position: number of kinds} of the calls in the file of a code object for which that is wished."""
    found = {}
    for wish in getattr(_thread, "wishes", None) or ():
        if wish[0] == "kinds" and wish[1] == code.co_filename:
            found[wish[2]] = max(wish[3], found.get(wish[2], 0))
    return found


def axis_of(file, name):
    """The dim in which the tensors of a list differ, if a recording found that; `("ragged", file, name, axis)` is such a wish."""
    every = getattr(_thread, "wishes", None) or ()
    return next((wish[3] for wish in every if wish[:3] == ("ragged", file, name)), None)


def is_asked(error):
    """Whether an error says that a value was asked for which only the run of the program knows."""
    return any(text in str(error) for text in _ASKED)


def _of_generator(error):
    """The wish for that generator of the user which asked for a value that only the run of the program knows."""
    if not is_asked(error):
        return None
    found = None
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not step.tb_frame.f_globals.get("__name__", "").startswith(("proa.", "paddle.")):
            found = generator(code) if code.co_name[:1] != "<" else None
        step = step.tb_next
    return found
