"""Which attributes may be properties of users' classes: reading these calls a function."""

_properties: dict = {}  # by id of a dict: (its length, names)


def names_in(names):
    """The names of properties of the classes among the values of a dict, such as the globals of a function."""
    known = _properties.get(id(names))
    if known is None or known[0] != len(names):
        found = set()
        for value in list(names.values()):
            if isinstance(value, type):
                for kind in value.__mro__:
                    if kind.__module__.partition(".")[0] not in ("builtins", "proa"):
                        found.update(name for name, p in kind.__dict__.items() if type(p) is property)
        known = _properties[id(names)] = len(names), found
    return known[1]
