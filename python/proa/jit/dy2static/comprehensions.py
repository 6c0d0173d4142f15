"""List comprehensions over what only the run of a program knows: how many items there are, or which of them stay."""

from proa.jit.dy2static import functions, iterables
from proa.jit.dy2static.values import condition, is_late


def listed(items, stays, element):
    """`[element for item in items if stays]`; a TensorArray where the number of its items depends on a tensor.

    Args:
        items: what is gone over.
        stays: says of an item whether it does; None for all.
        element: what an item gives.
    """
    items = getattr(items, "stacked", items)
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


def _grown(out, items, stays, element):
    for item in items:
        if stays(item):
            out.append(element(item))
    return out


def _mapped(out, items, stays, element):
    for item in items:
        out.append(element(item))
    return out
