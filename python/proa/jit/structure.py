"""Arguments and results of recorded functions: what is a tensor in them, and what belongs to the recording.

    tree = flatten((x, {"scale": 2.0}), leaves)    # leaves: [x]
    unflatten(tree, iter(leaves))                  # (x, {"scale": 2.0})

Lists, tuples, named tuples, dicts and data classes are looked into. What else they hold is part of the tree. Trees
compare and hash by structure and values, so that they are keys of a cache: numbers and texts by type and value, other
objects by identity.
"""

import copy
import dataclasses
import functools
import sys

from proa import _C

_Tensor = _C.Tensor
_BY_VALUE = (bool, int, str, bytes, type(None), type(Ellipsis), type)


class _Leaf:
    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return self._name


# Stands in a tree for a tensor; for a size that is known when the program runs, a number then; and for a tensor whose
# rows are the items of a list.
# CHOICE is the type of a container of which a caller gets one item, by a number that is a tensor before them; ROWS that of one of
# lists, of which a caller gets one list, of tuples or dicts with an item of each.
TENSOR, SIZE, ITEMS = _Leaf("tensor"), _Leaf("size"), _Leaf("items")
CHOICE, ROWS = _Leaf("choice"), _Leaf("rows")


class Constant:
    """A value that belongs to the tree."""

    __slots__ = ("_key", "value")

    def __init__(self, value):
        self.value = value
        self._key = type(value), _key_of(value)

    def __eq__(self, other):
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        text = repr(self.value)
        return text if len(text) <= 60 else f"{text[:57]}..."


class _Same:
    """Equal to what holds the same object."""

    __slots__ = ("_value",)

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self):
        return id(self._value)


def _key_of(value):
    if isinstance(value, _BY_VALUE):
        return value
    if isinstance(value, (float, complex)):
        return repr(value)  # -0.0 is not 0.0, nan is nan
    if isinstance(value, (set, frozenset)):
        return frozenset(Constant(item) for item in value)
    if isinstance(value, slice):
        return tuple(Constant(item) for item in (value.start, value.stop, value.step))
    if isinstance(value, (_C.DType, _C.Place)):
        return str(value)
    return _Same(value)


def is_array(value):
    """Whether it is an array of NumPy, which is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


class _Container:
    """A list, tuple, dict or data class: its type, the keys or fields, a tree for each item."""

    __slots__ = ("_hash", "items", "keys", "like", "type")

    def __init__(self, type, keys, items, like=None):
        self.type, self.keys, self.items, self.like = type, keys, items, like
        self._hash = None

    def __eq__(self, other):
        return (
            isinstance(other, _Container)
            and self.type is other.type
            and self.keys == other.keys
            and self.items == other.items
        )

    def __hash__(self):
        if self._hash is None:
            self._hash = hash((self.type, self.keys, self.items))
        return self._hash

    def __repr__(self):
        if self.keys is None:
            return f"{getattr(self.type, '__name__', self.type)}({', '.join(map(repr, self.items))})"
        return f"{self.type.__name__}({', '.join(f'{k}: {v!r}' for k, v in zip(self.keys, self.items, strict=True))})"


def flatten(value, leaves, convert=None):
    """The tree of `value`; its tensors (and what `convert` makes a tensor of, or a pair) are appended to `leaves`.

    Args:
        value: anything.
        leaves (list): grows by the tensors.
        convert (callable, optional): given what is neither tensor nor container; None where it stays as it is, or
            (leaf of the tree, what is appended).
    """
    if isinstance(value, _Tensor):
        leaves.append(value)
        return TENSOR
    kind = type(value)
    if isinstance(value, (list, tuple)):
        kind = getattr(kind, "rebuilt_as", kind)
        return _Container(kind, None, tuple(flatten(item, leaves, convert) for item in value))
    if isinstance(value, dict):
        kind = getattr(kind, "rebuilt_as", kind)
        items = tuple(flatten(item, leaves, convert) for item in value.values())
        return _Container(kind, tuple(value), items, None if kind is dict else _blank(value, ()))
    converted = convert(value) if convert is not None else None
    if converted is not None:
        leaf, tensor = converted
        if leaf is ROWS:
            like, parts = tensor
            return _Container(ROWS, None, tuple(flatten(part, leaves, convert) for part in parts), like)
        leaves.append(tensor)
        return leaf
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in dataclasses.fields(value))
        items = tuple(flatten(getattr(value, name), leaves, convert) for name in names)
        return _Container(kind, names, items, _blank(value, names))
    return Constant(value)


def choice(which, values, leaves, convert=None):
    """The tree of one of several values, by a tensor [] that counts them."""
    leaves.append(which)
    return _Container(CHOICE, None, (TENSOR, *(flatten(value, leaves, convert) for value in values)))


@functools.lru_cache
def of_tensors(count):
    """The tree of (args, kwargs) where all arguments are tensors, by position."""
    return _Container(tuple, None, (_Container(tuple, None, (TENSOR,) * count), _Container(dict, (), ())))


def _blank(value, fields):
    """A copy without what trees hold themselves."""
    blank = copy.copy(value)
    if isinstance(blank, dict):
        blank.clear()
    for name in fields:
        object.__setattr__(blank, name, None)
    return blank


def unflatten(tree, leaves):
    """The value of a tree with tensors from the iterator `leaves`."""
    if tree is TENSOR:
        return next(leaves)
    if tree is SIZE:
        return int(next(leaves))
    if tree is ITEMS:
        rows = next(leaves)
        return list(_C.ops.unbind(rows, 0)) if rows.shape[0] else []
    if isinstance(tree, Constant):
        return tree.value
    items = [unflatten(item, leaves) for item in tree.items]
    kind = tree.type
    if kind is list:
        return items
    if kind is CHOICE:
        return items[1 + int(items[0])]
    if kind is ROWS:
        return [_row(parts, tree.like) for parts in zip(*items, strict=True)]
    if kind is tuple:
        return tuple(items)
    if kind is dict:
        return dict(zip(tree.keys, items, strict=True))
    if tree.keys is None:
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    made = copy.copy(tree.like)
    if isinstance(made, dict):
        # One by one: a class of results may keep them as attributes, too, and have no other way to set them.
        for key, item in zip(tree.keys, items, strict=True):
            made[key] = item
    else:
        for name, item in zip(tree.keys, items, strict=True):
            object.__setattr__(made, name, item)
    return made


def _row(parts, like):
    """An item of a list: a dict of keys, a named tuple of a class, a list, or a tuple."""
    if like is None or like is list:
        return list(parts) if like else parts
    return dict(zip(like, parts, strict=True)) if isinstance(like, tuple) else like(*parts)


def choices(tree):
    """(number of tensors, what else there is) of each value of a `choice`; None for other trees."""
    if not isinstance(tree, _Container) or tree.type is not CHOICE:
        return None
    return [(sum(1 for _ in paths(item, "")), list(constants(item))) for item in tree.items[1:]]


def paths(tree, prefix):
    """The place of each leaf that is no constant: `x[0].name`."""
    if isinstance(tree, _Leaf):
        yield prefix
    elif isinstance(tree, _Container):
        for key, item in zip(tree.keys or range(len(tree.items)), tree.items, strict=True):
            yield from paths(item, f"{prefix}[{key!r}]")


def constants(tree):
    """The values of a tree that are no leaves."""
    if isinstance(tree, Constant):
        yield tree.value
    elif isinstance(tree, _Container):
        for item in tree.items:
            yield from constants(item)
