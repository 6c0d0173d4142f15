"""What Python's functions order and choose among the items of a list by tensors: `sorted`, `max` and `min` by a key, `filter`, `pop`.

Items are of one kind where a tensor decides which of them stands where (items.py).
"""

import builtins
import functools
import heapq
import itertools
import operator

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static import calls, given, iterables, runtime
from proa.jit.dy2static.arrays import TensorArray, TupleArray
from proa.jit.dy2static.comprehensions import known, listed
from proa.jit.dy2static.items import Stacked
from proa.jit.dy2static.values import becomes_tensor, described, is_late, tensor_of

_FINITE = (list, tuple, dict, set, frozenset, range, _C.Tensor, TensorArray)


def _keys(what, items, key):
    key = key and calls.call(key)
    keys = [item if key is None else key(item) for item in items]
    return keys, any(is_late(k) or isinstance(k, Size) for k in keys)


def _hold_tensors(keys):
    """Whether all are tuples of one length, and some hold tensors that only the run knows."""
    if not all(isinstance(k, tuple) and len(k) == len(keys[0]) for k in keys):
        return False
    return any(is_late(leaf) for k in keys for leaf in k)


def _unknown_number(what, iterable):
    if iterables.late(iterable) is not None:
        raise _C.located(
            NotImplementedError(
                f"{what}: of as many items as only the run of the program knows; use paddle.sort, argsort or argmax of the "
                "tensor that paddle.stack makes of them"
            )
        )


def _order(what, keys, reverse):
    """The numbers of the items in order, by keys of which some are tensors, or tuples that hold some; None for one key for all."""
    parts = list(zip(*keys, strict=True)) if all(isinstance(k, tuple) for k in keys) else [keys]
    order = None
    for part in reversed(parts):  # a stable sort keeps what those after it have said
        column = Stacked(what, [_C.ops.reshape(tensor_of(k), []) if becomes_tensor(k) else k for k in part]).columns[0]
        if not column[0]:
            continue
        column = column[1] if order is None else _C.ops.gather(column[1], order, 0)
        places = _C.ops.argsort(column, 0, bool(reverse))
        order = places if order is None else _C.ops.gather(order, places, 0)
    return order


def ordered(what, array, key, reverse):
    """A list of which only the run of the program knows how many items it has, in order: by keys of one element, or tuples of such."""
    keys = array if key is None else listed(array, None, calls.call(key))
    order = None
    for part in reversed(keys.parts if isinstance(keys, TupleArray) else [keys]):
        column = part.stacked
        if any(n != 1 for n in column.shape[1:]):
            raise _C.located(
                TypeError(
                    f"{what}: the keys are tensors {described(column[0])}; give such of one element, or tuples of these"
                )
            )
        column = _C.ops.reshape(column, [-1])
        column = column if order is None else _C.ops.gather(column, order, 0)
        places = _C.ops.argsort(column, 0, bool(reverse))
        order = places if order is None else _C.ops.gather(order, places, 0)
    return array.taken(order)


def _is_of_run(items):
    return isinstance(items, TensorArray) and type(items.count) is not int


def sorted_(iterable, /, *, key=None, reverse=False):
    """`sorted`, by keys that are tensors too."""
    if _is_of_run(iterable):
        return ordered("sorted", iterable, key, reverse)
    iterable = known(iterable)
    _unknown_number("sorted", iterable)
    items = list(iterable)
    keys, late = _keys("sorted", items, key)
    if not late:
        try:
            return [items[k] for k in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]
        except RuntimeError:
            if not _hold_tensors(keys):
                raise
    order = _order("sorted", keys, reverse)
    return items if order is None else Stacked("sorted", items).in_order(order)


def _of_heap(largest):
    """`heapq.nlargest` or `nsmallest`."""
    return lambda n, iterable, key=None: sorted_(iterable, key=key, reverse=largest)[:n]


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
            if _is_of_run(items[0]) and not kwargs:
                return ordered(function.__name__, items[0], key, function is builtins.max)[0]
            items = (known(items[0]),)
            _unknown_number(function.__name__, items[0])
        every = list(items[0]) if len(items) == 1 else list(items)
        if len(every) < 2:
            return function(every, key=key, **kwargs)
        keys, late = _keys(function.__name__, every, key)
        if not late:
            try:
                return every[function(range(len(every)), key=keys.__getitem__)]
            except RuntimeError:
                if not _hold_tensors(keys):
                    raise
            order = _order(function.__name__, keys, function is builtins.max)
            return every[0] if order is None else Stacked(function.__name__, every).item(order[0])
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


calls.of_libraries.append({heapq.nlargest: _of_heap(True), heapq.nsmallest: _of_heap(False)}.get)
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
