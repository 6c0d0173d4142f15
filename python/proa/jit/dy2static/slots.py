"""Places whose values a block may change: variables, globals, attributes, contents of lists and dicts."""

import contextlib

from proa.jit.dy2static import undefined, writes
from proa.jit.dy2static.writes import UNDEFINED


class Variable:
    """A name of a function, by its cell."""

    def __init__(self, name, cell):
        self.name, self._cell = name, cell

    def get(self):
        try:
            return self._cell.cell_contents
        except ValueError:
            return UNDEFINED

    def put(self, value):
        undefined.mark(self._cell, False)
        if value is not UNDEFINED:
            self._cell.cell_contents = value
        elif self.get() is not UNDEFINED:
            del self._cell.cell_contents

    def leave_open(self):
        """It has no value, as ways gave it values of several kinds."""
        self.put(UNDEFINED)
        undefined.mark(self._cell, True)

    def is_open(self):
        """Whether that is so."""
        return self.get() is UNDEFINED and undefined.is_marked(self._cell)

    def is_one_of(self, cells):
        """Whether it is kept in one of these cells, by id."""
        return id(self._cell) in cells


class Global:
    """A name of a module."""

    def __init__(self, name, names):
        self.name, self._names = name, names

    def get(self):
        return self._names.get(self.name, UNDEFINED)

    def put(self, value):
        if value is UNDEFINED:
            self._names.pop(self.name, None)
        else:
            self._names[self.name] = value


class Attribute:
    """An attribute of an object, by the names that lead to it."""

    def __init__(self, owner, path):
        self.name, self.owner, self._attribute = ".".join(path), owner, path[-1]

    def is_of(self, owner, name):
        return self.owner is owner and self._attribute == name

    def get(self):
        return getattr(self.owner, self._attribute, UNDEFINED)

    def put(self, value):
        if value is not UNDEFINED:
            setattr(self.owner, self._attribute, value)
        elif hasattr(self.owner, self._attribute):
            with contextlib.suppress(AttributeError):  # it is the class's
                delattr(self.owner, self._attribute)


class Contents:
    """What a list, dict, set or deque holds."""

    def __init__(self, container, name):
        self.container, self.name = container, name

    def get(self):
        return writes.contents(self.container)

    def put(self, value):
        if isinstance(self.container, dict) and list(self.container) == list(value):
            for key, item in value.items():  # who goes through it goes on
                self.container[key] = item
            return
        self.container.clear()
        if isinstance(self.container, (dict, set)):
            self.container.update(value)
        else:
            self.container.extend(value)


class Rows:
    """What a TensorArray holds."""

    def __init__(self, array, name):
        self._array, self.name = array, name

    def get(self):
        return self._array.contents

    def put(self, value):
        self._array.contents = value
