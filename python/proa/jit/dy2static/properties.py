"""Which attributes may be properties of users' classes: reading these calls a function."""

import types

_properties: dict = {}  # by id of a dict: (its length, names)


def names_in(names):
    """The names of properties of the classes among the values of a dict, such as the globals of a function."""
    known = _properties.get(id(names))
    if known is None or known[0] != len(names):
        found = set()
        for value in list(names.values()):
            if isinstance(value, type):
                for kind in value.__mro__:
                    if kind.__module__.partition(".")[0] not in ("builtins", "proa", "paddle"):
                        found.update(name for name, p in kind.__dict__.items() if type(p) is property)
        known = _properties[id(names)] = len(names), found
    return known[1]


def property_of(owner, name):
    """The property of that name of an object's class, which functions of Python make; None if it has no such."""
    for kind in type(owner).__mro__:
        if name in kind.__dict__:
            found = kind.__dict__[name]
            return found if type(found) is property and type(found.fget) in (types.FunctionType, type(None)) else None
    return None
