"""Tensors in nested lists, tuples and dicts."""

from proa import _C


def listed(value):
    """A list: of the items of a list or tuple, else of the value alone."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def flatten(value):
    """The tensors of nested lists, tuples and dicts, in order."""
    if isinstance(value, _C.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for key in value for t in flatten(value[key])]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in flatten(item)]
    return []


def rebuild(value, tensors, leaf=_C.Tensor):
    """`value` with what is a `leaf` replaced by the items of the iterator `tensors`, in order."""
    if isinstance(value, leaf):
        return next(tensors)
    if isinstance(value, dict):
        return {key: rebuild(item, tensors, leaf) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [rebuild(item, tensors, leaf) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
