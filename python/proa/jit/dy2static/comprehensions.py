"""List comprehensions over what only the run of a program knows: how many items there are, or which of them stay; and `next`, the
first of a generator."""

import itertools
import sys

from proa import _C
from proa.jit.dy2static import alternatives, checks, functions, iterables, kinds
from proa.jit.dy2static.arrays import TensorArray
from proa.jit.dy2static.items import Stacked
from proa.jit.dy2static.values import condition, is_late, truth

_MOST = 10000


def listed(items, stays, element):
    """`[element for item in items if stays]`; a TensorArray where the number of its items depends on a tensor.

    Args:
        items: what is gone over.
        stays: says of an item whether it does; None for all.
        element: what an item gives.
    """
    items = known(items)
    if iterables.late(items) is not None:
        return functions.convert(_grown if stays is not None else _mapped)([], items, stays, element)
    out = []
    iterator = iter(items)
    for item in iterator:
        stay = True if stays is None else condition(stays(item))
        if is_late(stay):
            return functions.convert(_grown)(out, [item, *iterator], stays, element)
        if stay:
            out.append(element(item))
    return out


def known(items):
    """An array of a known number of items as a list of them."""
    is_known = isinstance(items, TensorArray) and type(items.count) is int
    return [items[i] for i in range(items.count)] if is_known else items


def _grown(out, items, stays, element):
    for item in items:
        if stays(item):
            out.append(element(item))
    return out


def _mapped(out, items, stays, element):
    for item in items:
        out.append(element(item))
    return out


def first(items, stays, element, *default):
    """`next((element for item in items if stays), default)`."""
    return kinds.settled(_first(items, stays, element, default), sys._getframe(1))


def first_of_kinds(count, items, stays, element, *default):
    """The same, of as many kinds at most."""
    found = _first(items, stays, element, default)
    if isinstance(found, alternatives.Alternatives) and len(found.values) > count:
        kinds.settled(found, sys._getframe(1))
    return found


def _first(items, stays, element, default):
    items = known(items)
    if iterables.late(items) is not None:
        raise _C.located(
            NotImplementedError(
                "next: of as many items as only the run of the program knows; write a `for` with `break`"
            )
        )
    iterator = iter(items)
    for item in iterator:
        stay = True if stays is None else condition(stays(item))
        if is_late(stay):
            rest = [item, *itertools.islice(iterator, _MOST)]
            return _late_first([stay, *[condition(stays(v)) for v in rest[1:]]], [element(v) for v in rest], default)
        if stay:
            return element(item)
    if default:
        return default[0]
    raise StopIteration


def _late_first(stay, values, default):
    """The first of the values that stays, by tensors."""
    holds = [truth(s) if isinstance(s, _C.Tensor) else _C.to_tensor(bool(s)) for s in stay]
    if default:
        holds, values = [*holds, _C.to_tensor(True)], [*values, default[0]]
    else:
        checks.expect(_C.ops.stack(holds, 0).any(), StopIteration())
    which = _C.ops.argmax(_C.ops.stack(holds, 0).astype("int64"), 0)
    try:
        return Stacked("next", values).item(which)
    except TypeError as error:
        return alternatives.one_of(which, values, str(error))
