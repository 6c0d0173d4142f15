"""Why a name has no value after a statement that was recorded: what an error says where it is read."""

import re
import threading

_thread = threading.local()


def forget():
    """A function begins to be recorded."""
    _thread.reasons = {}


def note(name, reason, kind=None):
    """`name` has no value from now on; `kind` is the class of the error where it is more than a missing name."""
    if not hasattr(_thread, "reasons"):
        forget()
    _thread.reasons[name] = reason, kind


def explained(error):
    """The error to raise for one that a missing name gave; itself if nothing is known of the name."""
    if not isinstance(error, (NameError, AttributeError)):
        return error
    found = re.search(r"'(\w+)'(?: where| is not|$)", str(error)) or re.search(r"attribute '(\w+)'", str(error))
    name = getattr(error, "name", None) or (found and found.group(1))
    reason, kind = getattr(_thread, "reasons", {}).get(name, (None, None))
    if reason is None:
        return error
    if kind is None:
        error.add_note(f"  {reason}")
        return error
    return kind(f"{name}: {reason}").with_traceback(error.__traceback__)
