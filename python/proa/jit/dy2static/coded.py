"""Texts of which only the run knows which one it is: a number in a table of those that names had while they were recorded.

    state = "start"
    for row in x:                       # a loop of the program
        if state == "start":            # a bool tensor
            if row.sum() > 0:
                state = "run"

A first recording finds that the text of a name differs from turn to turn, and that it is read (wishes.py); in the next one the name
holds a Coded. It is compared by `==`, `!=` and `in`; all else that wants the text is an error.
"""

import dataclasses
import threading

from proa import _C
from proa.jit.dy2static.lost import rewrite
from proa.jit.dy2static.values import tensor_of

_thread = threading.local()


class Table:
    """The texts of a recording, by their numbers: of all names, as one may be handed to another."""

    def __init__(self):
        self._texts = []

    def number(self, text):
        """That of a text, as a tensor: int64 []."""
        if text not in self._texts:
            self._texts.append(text)
        return tensor_of(self._texts.index(text), _C.int64)

    def __repr__(self):
        return ", ".join(map(repr, self._texts))


@dataclasses.dataclass(eq=False, repr=False)
class Coded:
    """One of the texts of a table.

    Args:
        table (Table): it.
        which (Tensor): the number of the text: int64 [].
    """

    table: Table
    which: _C.Tensor

    def __eq__(self, other):
        if isinstance(other, str):
            return _C.ops.equal(self.which, self.table.number(other))
        if isinstance(other, Coded):
            return _C.ops.equal(self.which, other.which) if other.table is self.table else self._refuse()
        return False

    def __ne__(self, other):
        found = self == other
        return _C.ops.logical_not(found) if isinstance(found, _C.Tensor) else not found

    def __repr__(self):
        return f"one of {self.table!r}"

    def _refuse(self, *unused, **also):
        raise _C.located(
            TypeError(
                f"which text it is, of {self.table!r}, depends on a tensor; it can be compared by ==, != and in; else "
                f"{rewrite('')}"
            )
        )

    __bool__ = __hash__ = __str__ = __format__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __add__ = __radd__ = __mod__ = __mul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __getattr__(self, name):
        if name.startswith("__") or name.startswith("_proa_") or not hasattr(str, name):
            raise AttributeError(name)
        self._refuse()


def forget():
    """A function begins to be recorded."""
    _thread.table = Table()


def is_text(value):
    """Whether it is a text, known or not."""
    return isinstance(value, (str, Coded))


def lifted(value):
    """A text as one that only the run knows."""
    if isinstance(value, Coded):
        return value
    if not hasattr(_thread, "table"):
        forget()
    return Coded(_thread.table, _thread.table.number(value))
