"""Names that may have a value, or none: a statement of the program gave them one where the run says so.

Such a name holds a Maybe: a value, and whether there is one. Where a statement does not give it, a placeholder of the kind of
the other way's value stands there. Reads of such names are calls of `bound`: the run raises where there is none. Which names
of a function may hold one says unbound.py; they do where a first recording missed the name (wishes.py).
"""

import dataclasses

from proa.jit.dy2static.values import built, flat, nothing
from proa.jit.dy2static.writes import UNDEFINED


@dataclasses.dataclass
class Maybe:
    """A value of a name, and whether the name has it: True, False, or a bool tensor []."""

    value: object
    bound: object

    def __repr__(self):
        return repr(self.value)


def plain(found):
    """A value without the question whether there is one."""
    return found.value if type(found) is Maybe else found


def lifted(found):
    """A value as one that may be none."""
    return found if type(found) is Maybe else Maybe(found, True)


def missing(tree, leaves):
    """A Maybe without a value, that could be one of a tree with these leaves."""
    return Maybe(built(tree, [nothing(leaf) for leaf in leaves]), False)


def settled(found):
    """A Maybe as a value, or none, where that is known; other values as they are."""
    if type(found) is Maybe and isinstance(found.bound, bool):
        return found.value if found.bound else UNDEFINED
    return found


def kind(found):
    """(tree, leaves) of a value, of a Maybe without the question."""
    return flat(plain(found))
