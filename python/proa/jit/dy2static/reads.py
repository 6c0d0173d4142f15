"""Reads of names that may hold a Maybe (maybe.py)."""

from proa import _C
from proa.jit.dy2static import checks, undefined, wishes, writes
from proa.jit.dy2static.maybe import Maybe


def bound(found, name):
    """What a name holds that is read; the run raises where it has none."""
    if type(found) is not Maybe:
        return found
    text = f"{name} has no value where it is read"
    if reason := undefined.reason(name):
        text += f": {reason}"
    kind = UnboundLocalError
    if wishes.is_of_none(name):
        kind, text = TypeError, text.replace("has no value", "is None", 1)
    checks.expect(found.bound, kind(text))
    return found.value


def own(found, name):
    """The same of what is about to be changed in place, which is the other way's, too, while a region is recorded."""
    if type(found) is not Maybe:
        return found
    it = bound(found, name)
    return _C.ops.assign(it) if isinstance(it, _C.Tensor) and writes.depth() else it
