"""What a layer keeps of its parameters, buffers, sublayers and hooks."""

from collections.abc import MutableMapping

from proa import _C
from proa.nn.layer import use

# What a member of a layer is, by where its name stands.
KINDS = {"_parameter_names": "a parameter", "_buffer_names": "a buffer", "_sublayer_names": "a sublayer"}


class HookRemoveHelper:
    """What registering a hook returns; `remove` takes the hook away."""

    _next_id = 0

    def __init__(self, hooks):
        self._hooks = hooks
        self._hook_id = HookRemoveHelper._next_id
        HookRemoveHelper._next_id += 1

    def remove(self):
        self._hooks.pop(self._hook_id, None)


class Members(MutableMapping):
    """The attributes of a layer that are parameters (or sublayers, or buffers), in order.

    A view: the values live in the layer's `__dict__` alone, so that reading
    `layer.weight` is an ordinary attribute access.
    """

    def __init__(self, attributes, names):
        self._attributes = attributes
        self._names = names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._attributes[name]

    def __setitem__(self, name, value):
        self._names[name] = None
        self._attributes[name] = value
        use.changed()

    def __delitem__(self, name):
        del self._names[name]
        del self._attributes[name]
        use.changed()

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return repr(dict(self))


def outlives(buffer, value):
    """True for a value of a program that became the new content of the buffer, in each run of the program."""
    if not isinstance(buffer, _C.Tensor) or value is None or _C.is_symbolic(buffer) or not _C.is_symbolic(value):
        return False
    sizes = value.shape
    fits = len(sizes) == buffer.ndim and all(a == b for a, b in zip(sizes, buffer.shape) if isinstance(a, int))
    if not fits or buffer.dtype != value.dtype or not buffer.stop_gradient:
        return False  # another tensor under the same name, such as what the last call saw
    buffer.set_value(value)
    return True
