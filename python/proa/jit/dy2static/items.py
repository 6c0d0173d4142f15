"""Items of lists by numbers that are tensors: of one kind, they are stacked; of layers and functions that which is called is recorded."""

import sys

from proa import _C
from proa.framework.dtype import is_floating
from proa.framework.size import Size
from proa.jit.dy2static import alternatives, calls, checks, kinds
from proa.jit.dy2static.alternatives import Alternatives
from proa.jit.dy2static.arrays import EvenArray
from proa.jit.dy2static.coded import Coded
from proa.jit.dy2static.values import (
    becomes_tensor,
    built,
    described,
    equal,
    flat,
    is_late,
    is_number,
    tensor_of,
    truth,
)


class Stacked:
    """Items of one kind, by numbers that are tensors.

    Args:
        what (str): what wants them, in errors.
        items (list): of one kind: numbers, tensors of one shape, or the same lists and tuples of these.

    Attributes:
        columns (list): for each leaf of an item whether it is a tensor of those of all, and that, or the value of all.
    """

    def __init__(self, what, items):
        self._what = what
        trees, leaves = zip(*map(flat, items), strict=True)
        if any(tree != trees[0] for tree in trees):
            self._refuse(items)
        self._tree = trees[0]
        self.columns = [self._stack(column) for column in zip(*leaves, strict=True)]

    def _stack(self, column):
        if all(equal(column[0], value) for value in column):
            return False, column[0]
        if not all(map(becomes_tensor, column)):
            self._refuse(column)
        tensors = [value for value in column if not is_number(value)]
        dtype = tensors[0].dtype if tensors else None
        if dtype is None and any(isinstance(value, float) for value in column):
            dtype = _C.get_default_dtype()
        made = [tensor_of(value, dtype if is_number(value) else None) for value in column]
        if any(t.dtype != made[0].dtype or _sizes(t) != _sizes(made[0]) for t in made):
            self._refuse(column)
        return True, _C.ops.stack(made, 0)

    def _refuse(self, column):
        kinds = list(dict.fromkeys(map(described, column)))
        raise _C.located(
            TypeError(
                f"{self._what}: which item stands where depends on a tensor, and they are {' and '.join(kinds[:2])}; let all be "
                "numbers, or tensors of one dtype and shape, in the same lists or tuples"
            )
        )

    def item(self, index):
        """The item of a number: an integer tensor of one element."""
        at = _C.ops.reshape(index, [1])
        row = lambda rows: _C.ops.squeeze(_C.ops.gather(rows, at, 0), [0])
        return built(self._tree, [row(v) if is_tensor else v for is_tensor, v in self.columns])

    def in_order(self, order):
        """The items in another order: integers [as many as there are]."""
        moved = [(is_tensor, _C.ops.gather(v, order, 0) if is_tensor else v) for is_tensor, v in self.columns]
        row = lambda k: [v[k] if is_tensor else v for is_tensor, v in moved]
        return [built(self._tree, row(k)) for k in range(order.shape[0])]


def _sizes(t):
    return [n if type(n) is int else str(n) for n in t.shape]


class _OneOf:
    """One of several layers or functions, by a tensor: what is called is recorded for each."""

    def __init__(self, items, index):
        self._items, self._index = items, index

    def __call__(self, *args, **kwargs):
        from proa.jit.dy2static.runtime import chosen

        def way(k):
            one = lambda: calls.call(self._items[k])(*args, **kwargs)
            if k + 1 == len(self._items):
                return one()
            return chosen(self._index == k, one, lambda: way(k + 1))

        return way(0)


def slice_(*parts):
    """`start:stop:step`, of which some may be tensors."""
    return slice(*parts)


def item(owner, index):
    """`owner[index]`, of a list by a tensor too."""
    found = _item(owner, index)
    return kinds.settled(found, sys._getframe(1)) if isinstance(found, Alternatives) else found


def item_of_kinds(owner, index, count):
    """The same, of a list of items of as many kinds at most."""
    found = _item(owner, index)
    if isinstance(found, Alternatives) and len(found.values) > count:
        kinds.settled(found, sys._getframe(1))
    return found


def _item(owner, index):
    if isinstance(index, slice):
        late = isinstance(owner, (list, tuple)) and any(
            is_late(part) or isinstance(part, Size) for part in (index.start, index.stop, index.step)
        )
        return owner[index] if not late or not owner else _part(owner, index)
    if not is_late(index) or not isinstance(owner, (list, tuple, dict)):
        return owner[index]
    if isinstance(owner, dict):
        return _of_dict(owner, index)
    items = list(owner)
    if not items or is_floating(index.dtype):
        return owner[index]
    index = _C.ops.reshape(index.astype("int64"), [])
    index = _C.ops.where(index < 0, index + len(items), index)
    there = _C.ops.logical_and(index >= 0, index < len(items))
    checks.expect(there, IndexError("an index of the list is out of range"))
    if all(callable(i) and not isinstance(i, _C.Tensor) for i in items):
        return _OneOf(items, index)
    try:
        return Stacked("the index of a list", items).item(index)
    except TypeError as error:
        return alternatives.one_of(index, items, str(error))


def _part(owner, index):
    """Some of the items, of a number that only the run knows."""
    stacked = Stacked("a slice of a list", owner)
    if len(stacked.columns) != 1 or not stacked.columns[0][0]:
        return owner[index]
    return EvenArray(stacked.columns[0][1])[index]


def within(value, container):
    """`value in container`, of numbers that are tensors too."""
    if isinstance(value, Coded) and not isinstance(container, str):
        found = [value == text for text in container if isinstance(text, str)]
        return _C.ops.stack(found, 0).any() if found else False
    if isinstance(container, (list, tuple, set, frozenset, range, dict)):
        if not is_late(value) and not any(map(is_late, container)):
            return value in container
        if any(value is v for v in container):
            return True
        numbers = [v for v in container if is_number(v) or isinstance(v, _C.Tensor)]
        found = [truth(v == value) for v in numbers] if becomes_tensor(value) else []
        return _C.ops.stack(found, 0).any() if found else False
    if isinstance(container, _C.Tensor) and (is_late(container) or is_late(value)):
        return (container == value).any()
    return value in container


def _of_dict(owner, key):
    """`owner[key]`, of a dict whose keys are numbers; where it has no such key, the run raises."""
    if not owner or not all(isinstance(k, (bool, int)) for k in owner):
        return owner[key]
    found = _C.ops.reshape(key, []).astype("int64") == _C.to_tensor([int(k) for k in owner])
    checks.expect(found.any(), KeyError("a key of the dict that it does not have"))
    return _item(list(owner.values()), _C.ops.argmax(found.astype("int64"), 0))


def put(value, owner, index):
    """`owner[index] = value`, of a list by a tensor too: each item becomes the value or stays."""
    if not is_late(index) or type(owner) is not list or is_floating(index.dtype):
        owner[index] = value
        return
    from proa.jit.dy2static.runtime import chosen

    index = _C.ops.reshape(index.astype("int64"), [])
    index = _C.ops.where(index < 0, index + len(owner), index)
    owner[:] = [chosen(index == k, lambda: value, lambda kept=kept: kept) for k, kept in enumerate(owner)]
