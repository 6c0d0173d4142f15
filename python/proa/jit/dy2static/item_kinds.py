"""Kind: what the items of a list are like that the program makes; and what two lists have in common."""

import dataclasses

from proa import _C


@dataclasses.dataclass
class Form:
    """The dtype and sizes of a tensor that is not there."""

    dtype: object
    shape: list


@dataclasses.dataclass
class Kind:
    """What the items of a list are like.

    Args:
        like (Tensor|Form|tuple): one of them; of tuples and dicts a Kind for each part.
        axis (int|None): the dim in which they differ.
        keys (tuple|type|None): of dicts their keys, of lists `list`, of named tuples their class.
    """

    like: object
    axis: int | None = None
    keys: object = None

    def other_sizes(self):
        """The sizes that all items share."""
        if isinstance(self.like, tuple):
            return [size for part in self.like for size in part.other_sizes()]
        return [size for i, size in enumerate(self.like.shape) if i != self.axis]

    def along(self, axis):
        """The same, of items that differ in a dim."""
        return self if isinstance(self.like, tuple) else Kind(self.like, axis)


def parts_of(values):
    """(the values of each part, what Kind.keys says) of tuples, named tuples, lists or dicts of one form; (None, None) of others."""
    first = values[0] if values else None
    if isinstance(first, dict) and type(first) in (dict, Row) and first:
        if all(type(v) in (dict, Row) and v.keys() == first.keys() for v in values):
            return [[v[key] for v in values] for key in first], tuple(first)
    elif type(first) in (list, Cells) and first:
        if all(type(v) in (list, Cells) and len(v) == len(first) for v in values):
            return [list(part) for part in zip(*values, strict=True)], list
    elif isinstance(first, tuple) and first and all(type(v) is type(first) and len(v) == len(first) for v in values):
        if type(first) is tuple or hasattr(first, "_fields"):
            return [list(part) for part in zip(*values, strict=True)], None if type(first) is tuple else type(first)
    return None, None


def together(parts, keys):
    """A tuple, named tuple, list or dict of parts."""
    if keys is None:
        return tuple(parts)
    if keys is list:
        return Cells(parts)
    return Row(zip(keys, parts, strict=True)) if isinstance(keys, tuple) else keys(*parts)


def _refused(self, *unused, **also):
    kind = self.rebuilt_as.__name__
    raise _C.located(
        NotImplementedError(
            f"a {kind} in a list whose number of items depends on a tensor is read, and not changed; change it before it is "
            f"appended, or append a new {kind} to a new list"
        )
    )


class Row(dict):
    """A dict of a list whose number of items depends on a tensor: it is read; who changes it would change a copy."""

    rebuilt_as = dict  # in what a statement gives (structure.py)
    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refused

    def copy(self):
        """A dict of its own."""
        return dict(self)

    __copy__ = copy


class Cells(list):
    """The same of a list."""

    rebuilt_as = list
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = extend = insert = pop = clear = remove = sort = (
        reverse
    ) = _refused

    def copy(self):
        """A list of its own."""
        return list(self)

    __copy__ = copy


COPIES = (Row, Cells)


def differing(shapes, may=False):
    """The one dim in which shapes of a length differ for sure; None if there is none, or more than one.

    `may`: also a dim behind the first one that is open in some alone, as where words are appended to those that were given.
    """
    if len({len(shape) for shape in shapes}) != 1:
        return None

    def differ(i, sizes):
        known = {n for n in sizes if type(n) is int}
        return len(known) > 1 or may and i > 0 and len(known) == 1 and any(type(n) is not int for n in sizes)

    found = [i for i, sizes in enumerate(zip(*shapes, strict=True)) if differ(i, sizes)]
    return found[0] if len(found) == 1 else None


def common(one, other):
    """The Kind of items of two; None where there is none."""
    if one is None or other is None:
        return one or other
    a, b = one.like, other.like
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and one.keys == other.keys:
        parts = tuple(common(*pair) for pair in zip(a, b, strict=True))
        return Kind(parts, keys=one.keys) if None not in parts else None
    if isinstance(a, tuple) or isinstance(b, tuple) or a.dtype != b.dtype or len(a.shape) != len(b.shape):
        return None
    axes = {axis for axis in (one.axis, other.axis, differing([a.shape, b.shape])) if axis is not None}
    return Kind(a, *axes) if len(axes) < 2 else None
