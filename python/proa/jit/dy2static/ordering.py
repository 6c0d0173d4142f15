"""What Python's functions order and choose among the items of a list by tensors: `sorted`, `max` and `min` by a key, `filter`, `pop`.

Items are of one kind where a tensor decides which of them stands where (items.py).
"""

import builtins
import functools
import itertools
import operator

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static import calls, given, iterables, runtime
from proa.jit.dy2static.arrays import TensorArray
from proa.jit.dy2static.comprehensions import listed
from proa.jit.dy2static.items import Stacked
from proa.jit.dy2static.values import flat, is_late, tensor_of

_FINITE = (list, tuple, dict, set, frozenset, range, _C.Tensor, TensorArray)


def _keys(what, items, key):
    key = key and calls.call(key)
    keys = [item if key is None else key(item) for item in items]
    return keys, any(is_late(k) or isinstance(k, Size) for k in keys)


def _by_python(what, keys, order):
    """What Python's function makes of the keys."""
    try:
        return order()
    except RuntimeError:
        if not any(is_late(leaf) for k in keys if isinstance(k, (list, tuple)) for leaf in flat(k)[1]):
            raise
        text = f"{what}: a key is a list or tuple, and a tensor in it decides; let it be a tensor of one element"
        raise _C.located(NotImplementedError(text)) from None


def _unknown_number(what, iterable):
    if isinstance(iterable, TensorArray) or iterables.late(iterable) is not None:
        raise _C.located(
            NotImplementedError(
                f"{what}: of as many items as only the run of the program knows; use paddle.sort, argsort or argmax of the "
                "tensor that paddle.stack makes of them"
            )
        )


def sorted_(iterable, /, *, key=None, reverse=False):
    """`sorted`, by keys that are tensors too."""
    _unknown_number("sorted", iterable)
    items = list(iterable)
    keys, late = _keys("sorted", items, key)
    if not late:
        order = lambda: sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[k] for k in _by_python("sorted", keys, order)]
    column = Stacked("sorted", [_C.ops.reshape(tensor_of(k), []) for k in keys]).columns[0]
    if not column[0]:  # one key for all
        return items
    return Stacked("sorted", items).in_order(_C.ops.argsort(column[1], 0, bool(reverse)))


def _sort(owner, method):
    """`list.sort`."""

    def sort(*, key=None, reverse=False):
        owner[:] = sorted_(owner, key=key, reverse=reverse)

    return sort


def _pop(owner, method):
    """`list.pop` of an item whose number is a tensor."""

    def pop(*args):
        if len(args) != 1 or not is_late(args[0]):
            return method(*args)
        index, count = _C.ops.reshape(args[0].astype("int64"), []), len(owner)
        index = _C.ops.where(index < 0, index + count, index)
        stacked = Stacked("pop", owner)
        found = stacked.item(index)
        numbers = _C.ops.arange(0, count - 1, 1, _C.int64)
        owner[:] = stacked.in_order(numbers + (numbers >= index).astype("int64"))
        return found

    return pop


def _best(function, before):
    """`max` or `min`: the first of those that none comes before, by keys that are tensors too."""

    def best(*items, key=None, **kwargs):
        if len(items) == 1:
            if isinstance(items[0], _C.Tensor) and key is None:
                return function(*items, **kwargs)
            _unknown_number(function.__name__, items[0])
        every = list(items[0]) if len(items) == 1 else list(items)
        if len(every) < 2:
            return function(every, key=key, **kwargs)
        keys, late = _keys(function.__name__, every, key)
        if not late:
            return every[_by_python(function.__name__, keys, lambda: function(range(len(every)), key=keys.__getitem__))]
        found = every[0], keys[0]
        for item in zip(every[1:], keys[1:], strict=True):
            ahead = before(item[1], found[1])
            found = runtime.chosen(ahead, lambda item=item: item, lambda found=found: found)
        return found[0]

    return best


def filter_(function, iterable):
    """`filter`, by truth values that are tensors too."""
    if not isinstance(iterable, _FINITE):
        return filter(function if function is None else calls.call(function), iterable)
    found = listed(iterable, (lambda item: item) if function is None else calls.call(function), lambda item: item)
    return iter(found) if type(found) is list else found


calls.of_lists.update({"sort": _sort, "pop": _pop})
calls.replaced.update(
    {
        builtins.sorted: sorted_,
        builtins.filter: filter_,
        builtins.max: _best(builtins.max, operator.gt),
        builtins.min: _best(builtins.min, operator.lt),
        builtins.map: given.taker(builtins.map),
        functools.reduce: given.taker(functools.reduce),
        itertools.accumulate: given.taker(itertools.accumulate),
        itertools.starmap: given.taker(itertools.starmap),
    }
)
