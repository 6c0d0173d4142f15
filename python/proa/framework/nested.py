"""Tensors in nested lists, tuples, dicts and data classes (sparse tensors are such)."""

import copy

from proa import _C


def listed(value):
    """A list: of the items of a list or tuple, else of the value alone."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def flatten(value):
    """The tensors of nested lists, tuples, dicts and data classes, in order."""
    if isinstance(value, _C.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for key in value for t in flatten(value[key])]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in flatten(item)]
    return [t for name in _fields(value) for t in flatten(getattr(value, name))]


def rebuild(value, tensors, leaf=_C.Tensor):
    """`value` with what is a `leaf` replaced by the items of the iterator `tensors`, in order."""
    if isinstance(value, leaf):
        return next(tensors)
    if isinstance(value, dict):
        return {key: rebuild(item, tensors, leaf) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [rebuild(item, tensors, leaf) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    fields = _fields(value)
    if not fields:
        return value
    made = copy.copy(value)
    for name in fields:
        object.__setattr__(made, name, rebuild(getattr(value, name), tensors, leaf))
    return made


def _fields(value):
    """The names of the fields of a data class, none of anything else."""
    return () if isinstance(value, type) else tuple(getattr(type(value), "__dataclass_fields__", ()))
