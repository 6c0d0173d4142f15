"""Why a name has no value after a statement that was recorded: what an error says where it is read.

Some of these values the statement could have kept, had it known that they are read (wishes.py).
"""

import re
import threading

CHOSEN = "_chosen_"  # begins the names of values that expressions choose (kinds.py)
_thread = threading.local()


def forget():
    """A function begins to be recorded."""
    _thread.reasons, _thread.cells = {}, {}


def note(name, reason, kind=None, wish=None):
    """`name` has no value from now on.

    Args:
        kind: the class of the error where it is more than a missing name.
        wish: says to the statement, by wishes.is_wished, that the value is read, if it is recorded once more.
    """
    if not hasattr(_thread, "reasons"):
        forget()
    _thread.reasons[name] = reason, kind, wish


def mark(cell, is_conflict):
    """Whether a variable of a function has no value because the ways of a statement gave it values of several kinds."""
    if is_conflict:
        _thread.cells[id(cell)] = cell  # kept: another one would get its id
    elif getattr(_thread, "cells", None):
        _thread.cells.pop(id(cell), None)


def is_marked(cell):
    """Whether it is so."""
    return id(cell) in getattr(_thread, "cells", ())


def explained(error):
    """The error to raise for one that a missing name gave; itself if nothing is known of the name."""
    reason, kind, wish = missed(error)
    if reason is None:
        return error
    name = name_of(error)
    if name.startswith(CHOSEN):
        kind, name, reason = kind or TypeError, "a value of `and`, `or` or a ternary", reason.replace(name, "it")
    if kind is None:
        error.add_note(f"  {reason}")
        return error
    made = kind(f"{name}: {reason}").with_traceback(error.__traceback__)
    made._proa_wish = wish
    return made


def conflict(name):
    """(reason, kind, wish) of a name that had a value of several kinds in the ways of a statement; None for others."""
    found = getattr(_thread, "reasons", {}).get(name)
    return (
        found
        if found is not None and found[1] is not None and (found[2] or (None,))[0] in ("ways", "none", "coded")
        else None
    )


def reason(name):
    """Why a name may have no value; None if nothing is known."""
    return getattr(_thread, "reasons", {}).get(name, (None,))[0]


def missed(error):
    """What was noted of the name that an error misses."""
    if not isinstance(error, (NameError, AttributeError)):
        return None, None, None
    return getattr(_thread, "reasons", {}).get(name_of(error), (None, None, None))


def name_of(error):
    """The name that an error misses."""
    found = re.search(r"'(\w+)'(?: where| is not|$)", str(error)) or re.search(r"attribute '(\w+)'", str(error))
    return getattr(error, "name", None) or (found and found.group(1))
