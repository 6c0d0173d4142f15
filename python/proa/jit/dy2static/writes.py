"""What converted code writes to objects and lists while a region is recorded: attributes, items, contents.

A statement sees by its own text what its blocks change. What functions that are called there change, by methods of
objects, stands in this log: who records the region puts back what there was before it, and leaves alone what the
region made itself.
"""

import collections
import contextlib
import threading
import types

from proa import _C

CONTAINERS = (list, dict, set, collections.deque)
UNDEFINED = type("_Undefined", (), {"__repr__": lambda self: "undefined"})()
_MOST = 200000  # objects that are looked at
_OPAQUE = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    _C.Tensor,
)
_thread = threading.local()


class Log:
    """Writes of a region, the first of each place: with what was there before."""

    def __init__(self):
        self.attributes = {}  # (id, name): (object, name, value before)
        self.containers = {}  # id: (container, contents before)
        self.globals = {}  # by id: the globals of functions that wrote

    def merge(self, inner):
        """The writes of a region in this one."""
        for mine, its in ((self.attributes, inner.attributes), (self.containers, inner.containers)):
            for key, value in its.items():
                mine.setdefault(key, value)
        self.globals.update(inner.globals)


def depth():
    """How many regions are being recorded on this thread."""
    return len(getattr(_thread, "logs", ()))


@contextlib.contextmanager
def logging():
    """The Log of what is written inside."""
    if not hasattr(_thread, "logs"):
        _thread.logs = []
    log = Log()
    _thread.logs.append(log)
    try:
        yield log
    finally:
        _thread.logs.pop()
        if _thread.logs:
            _thread.logs[-1].merge(log)


def contents(container):
    """A copy of what a container holds."""
    return dict(container) if isinstance(container, dict) else list(container)


def attribute(owner, name, names):
    """An attribute is about to be written, by a function with these globals."""
    if depth() and not isinstance(owner, _OPAQUE):
        log = _thread.logs[-1]
        log.attributes.setdefault((id(owner), name), (owner, name, getattr(owner, name, UNDEFINED)))
        log.globals[id(names)] = names


def items(container, names):
    """The contents of a list, dict or set are about to be written."""
    if depth() and isinstance(container, CONTAINERS):
        log = _thread.logs[-1]
        log.containers.setdefault(id(container), (container, contents(container)))
        log.globals[id(names)] = names


def reached(roots):
    """The ids of objects that are reached from some: through lists, dicts, attributes, variables of functions."""
    found = set()
    waiting = list(roots)
    while waiting and len(found) < _MOST:
        value = waiting.pop()
        if isinstance(value, _OPAQUE) or id(value) in found:
            continue
        found.add(id(value))
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            waiting += value
        elif isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                with contextlib.suppress(ValueError):
                    waiting.append(cell.cell_contents)
        elif isinstance(value, types.MethodType):
            waiting += (value.__self__, value.__func__)
        else:
            waiting += getattr(value, "__dict__", {}).values()
    return found
