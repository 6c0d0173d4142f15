"""Values of which the ways of a statement give several kinds: what an error says of them."""

from proa.jit.dy2static import maybe
from proa.jit.dy2static.values import built, described


class Conflict:
    """Why something has no value after a statement.

    Args:
        reason (str): it.
        kind: the class of the error where it is more than a missing name.
        wish: what would keep its value (wishes.py).
        is_of_kinds (bool): the ways gave it values of several kinds.
    """

    def __init__(self, reason, kind=None, wish=None, is_of_kinds=False):
        self.reason, self.kind, self.wish, self.is_of_kinds = reason, kind, wish, is_of_kinds


def rewrite(container):
    """What to write in the place of a change of a container that the ways do not share."""
    if isinstance(container, dict):
        return "give each of its keys a value of one dtype and number of dims before the statement"
    if isinstance(container, list):
        return (
            "let each item have one dtype and number of dims, in both ways: a tensor without rows in the place of None, a name "
            "of its own for what differs"
        )
    return f"a {type(container).__name__} must hold the same in both ways; use a list of tensors, or a tensor"


def shown(key, tree, leaves):
    """What a text says of the value of a key."""
    value = maybe.plain(built(tree, leaves))
    if key[0] != "contents" or len(value) > 8:
        return described(value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"{described(k)}: {described(v)}" for k, v in value.items())
    return f"[{', '.join(map(described, value))}]"
