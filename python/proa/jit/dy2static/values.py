"""Tensors of what blocks made: numbers that become tensors, stand-ins for what one way has and the other has not."""

import dataclasses

from proa import _C
from proa.framework.dtype import is_floating
from proa.framework.size import Size
from proa.jit import structure
from proa.jit.dy2static.item_kinds import COPIES, Row


def is_late(value):
    """Whether it is a tensor of which only the run of the program knows the elements."""
    return isinstance(value, _C.Tensor) and _C.is_symbolic(value) and not _C.take_elements(value)


class Counted:
    """What holds as many items as only the run of the program knows: `truth` says whether there are any."""


def condition(value):
    """A value whose truth is asked for: of an open size, or number of items, the tensor that says so."""
    return value.truth() if isinstance(value, (Size, Counted)) else value


def is_number(value):
    """Whether it may become a tensor of one element."""
    return isinstance(value, (bool, int, float, Size))


def _anything(value):
    """Every leaf counts; data classes are looked into."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return None
    return structure.TENSOR, value


class _Held:
    """A list or dict that is a leaf: it is the same one, whatever it holds."""

    def __init__(self, container):
        self.container = container


def _held(value, holds):
    """`value` with the containers in it that `holds` says as leaves."""
    if holds(value):
        return _Held(value)
    if type(value) in (dict, Row):
        return {key: _held(item, holds) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_held(item, holds) for item in value)
    return value


def flat(value, holds=None):
    """(tree, leaves): all that is no container is a leaf, and the containers that `holds` says."""
    leaves = []
    if holds is not None:
        value = _held(value, holds)
    return structure.flatten(value, leaves, _anything), leaves


def built(tree, leaves):
    """The value of a tree with these leaves."""
    return structure.unflatten(tree, iter(leaf.container if isinstance(leaf, _Held) else leaf for leaf in leaves))


def becomes_tensor(leaf):
    """Whether it is a tensor, or a number that may become one."""
    return isinstance(leaf, _C.Tensor) or is_number(leaf)


def known_sizes(t):
    """Sizes with 1 for those that only the run knows."""
    return [n if type(n) is int and n >= 0 else 1 for n in t.shape]


def tensor_of(leaf, dtype=None, sizes=None):
    """A number or tensor as a tensor, of a dtype, and of sizes with one element."""
    t = leaf.tensor() if isinstance(leaf, Size) else leaf if isinstance(leaf, _C.Tensor) else _C.to_tensor(leaf)
    if dtype is not None and t.dtype != dtype:
        t = _C.ops.cast(t, dtype)
    if sizes is not None and list(t.shape) != list(sizes):
        t = _C.ops.reshape(t, list(sizes))
    return t


def zeros(t):
    """Of the dtype and number of dims of a tensor; open sizes are 1."""
    return _C.ops.full(known_sizes(t), 0, t.dtype)


def nothing(leaf):
    """What stands for a value that there is not yet: not a number, or 0."""
    if not isinstance(leaf, _C.Tensor):
        return leaf
    return _C.ops.full(known_sizes(leaf), float("nan") if is_floating(leaf.dtype) else 0, leaf.dtype)


def truth(value):
    """A condition as a bool tensor []."""
    if not all(type(n) is int for n in value.shape) or value.size == 1:
        value = _C.ops.cast(value, _C.bool) if value.dtype != _C.bool else value
        return value if not value.shape else _C.ops.reshape(value, [])
    bool(value)  # says what is wrong
    raise AssertionError


def one_element(t):
    """Whether it has one element, for all that is known."""
    return all(type(n) is int and n == 1 for n in t.shape)


def wider(a, b):
    """The dtype of a sum of numbers of these kinds, where one of them is a number of Python; None if they do not meet."""
    if a == b:
        return a
    if is_floating(a) != is_floating(b):
        return a if is_floating(a) else b
    if _C.bool in (a, b):
        return b if a == _C.bool else a
    return None


def equal(a, b):
    """Whether two leaves are one value, whatever the program computes."""
    if a is b or isinstance(a, _Held) and isinstance(b, _Held) and a.container is b.container:
        return True
    if isinstance(a, (_C.Tensor, Size)) or isinstance(b, (_C.Tensor, Size)) or type(a) is not type(b):
        return False
    return structure.Constant(a) == structure.Constant(b)


def described(value):
    """What a text says of a value."""
    if isinstance(value, _C.Tensor):
        return f"{[n if type(n) is int and n >= 0 else '?' for n in value.shape]} {value.dtype.name}".replace("'", "")
    if isinstance(value, (list, tuple, dict)):
        kind = value.rebuilt_as if isinstance(value, COPIES) else type(value)
        return f"a {kind.__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) < 40 else type(value).__name__


def overwrite(tensor, value):
    """Gives a tensor other elements, in place."""
    tensor[...] = value
