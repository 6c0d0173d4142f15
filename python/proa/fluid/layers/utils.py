"""Nested structures of tensors."""

from proa import _C

__all__ = ["assert_same_structure", "convert_to_list", "flatten", "is_sequence", "map_structure", "pack_sequence_as"]


def is_sequence(seq):
    """Whether it is a list, tuple or dict."""
    return isinstance(seq, (list, tuple, dict))


def flatten(nest):
    """All that is in lists, tuples and dicts (by sorted keys), in order; of anything else a list of one."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in flatten(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for item in nest for leaf in flatten(item)]
    return [nest]


def _packed(structure, leaves):
    if isinstance(structure, dict):
        made = {key: _packed(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_packed(item, leaves) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(_packed(item, leaves) for item in structure)
    return next(leaves)


def pack_sequence_as(structure, flat_sequence):
    """The values of a flat list, in the form of `structure`."""
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise _C.located(
            ValueError(f"pack_sequence_as: the structure holds {count} values, the list {len(flat_sequence)}")
        )
    return _packed(structure, iter(flat_sequence))


def map_structure(func, *structure):
    """`func` of what stands at each place of one or more structures, in their form."""
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])


def assert_same_structure(nest1, nest2, check_types=True):
    """Raises ValueError or TypeError unless both have the same form."""
    if check_types and type(nest1) is not type(nest2) and (is_sequence(nest1) or is_sequence(nest2)):
        raise _C.located(TypeError(f"the structures differ: {type(nest1).__name__} and {type(nest2).__name__}"))
    if is_sequence(nest1) != is_sequence(nest2) or (is_sequence(nest1) and len(nest1) != len(nest2)):
        raise _C.located(ValueError("the structures differ in their number of elements"))
    if is_sequence(nest1):
        pairs = ((nest1[k], nest2[k]) for k in sorted(nest1)) if isinstance(nest1, dict) else zip(nest1, nest2)
        for a, b in pairs:
            assert_same_structure(a, b, check_types)


def convert_to_list(value, n, name, dtype=int):
    """A list of n values, from one or from n."""
    if isinstance(value, dtype):
        return [value] * n
    values = list(value)
    if len(values) != n:
        raise _C.located(ValueError(f"{name} must be one {dtype.__name__} or {n}, not {value!r}"))
    return values
