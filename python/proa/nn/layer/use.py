"""What a recording uses of layers: their modes, hooks, parameters and buffers.

A recording (proa.jit) holds as long as the layers that it went through are as they were. While a function is
recorded, layers note that they are called and that their `training` is read; afterwards `Uses.broken` says
what has changed since. `version()` rises with each change of any layer, so that nothing is compared while it stays.
"""

import collections
import threading

from proa import _C

# Who takes notes now, on any thread; empty almost always.
watching: list["Uses"] = []
_version = 0
_convert = None  # of proa.jit


def changed():
    """To be called by a layer of which something changes that a recording may depend on."""
    global _version
    _version += 1


def version():
    """A number that rises with each change of a layer."""
    return _version


def note_call(layer):
    """A layer is called."""
    thread = threading.get_ident()
    for uses in watching:
        if uses.thread == thread:
            uses.called[id(layer)] = layer


def recorded(function):
    """What is called in place of a layer's forward or hook while functions are recorded: converted where proa.jit does so."""
    return _convert(function) if _convert is not None else function


def set_converter(convert):
    """Lets proa.jit convert what layers call."""
    global _convert
    _convert = convert


def note_read(layer, training):
    """`layer.training` is read."""
    thread = threading.get_ident()
    for uses in watching:
        if uses.thread == thread and id(layer) not in uses.written:
            uses.modes.setdefault(id(layer), (layer, training))


def note_write(layer):
    """`layer.training` is set; what is read from now on is not what the caller had set."""
    thread = threading.get_ident()
    for uses in watching:
        if uses.thread == thread:
            uses.written.add(id(layer))


def refuse_in_recording(what):
    """Raises an error where this thread records a function: a step of training changes what is outside of it, parameters and
    their gradients, when it is called, and the program would do so never or not as written."""
    thread = threading.get_ident()
    if any(uses.thread == thread for uses in watching):
        raise _C.located(
            RuntimeError(
                f"{what}: a function that to_static or jit.save records holds no step of training; let it return the loss, call "
                "it in the step, and keep backward(), step(), clear_grad(), the schedule and the GradScaler outside: convert the "
                "layer or the function of the loss, not the step"
            )
        )


class Hooks(collections.OrderedDict):
    """The hooks of a layer, by number."""

    def __setitem__(self, key, hook):
        super().__setitem__(key, hook)
        changed()

    def __delitem__(self, key):
        super().__delitem__(key)
        changed()

    def pop(self, *args):
        changed()
        return super().pop(*args)

    def clear(self):
        super().clear()
        changed()


class Uses:
    """`with Uses() as uses:` notes what is used of layers inside, on this thread.

    Args:
        roots (list[Layer]): layers that count as used anyway.
    """

    def __init__(self, roots=()):
        self.thread = None
        self.called = {id(layer): layer for layer in roots}
        self.modes = {}
        self.written = set()
        self._states = {}
        self._seen = -1

    def __enter__(self):
        self.thread = threading.get_ident()
        watching.append(self)
        return self

    def __exit__(self, *unused):
        watching.remove(self)
        for layer in list(self.called.values()):
            for part in layer.sublayers(include_self=True):
                self._states[id(part)] = part, _state(part)
        self.called, self.written = {}, set()
        self._seen = _version

    def broken(self):
        """None while all is as it was; else a sentence about a first difference."""
        if self._seen == _version:
            return None
        for layer, training in self.modes.values():
            if layer.__dict__.get("training") is not training:
                return (
                    f"{layer.full_name()} ({type(layer).__name__}) is {'no longer' if training else 'now'} in training"
                )
        for layer, state in self._states.values():
            now = _state(layer)
            if now != state:
                what = next(name for name, a, b in zip(_PARTS, state, now, strict=True) if a != b)
                return f"{what} of {layer.full_name()} ({type(layer).__name__}) changed"
        self._seen = _version
        return None


_PARTS = ("hooks", "parameters", "buffers", "sublayers")


def _state(layer):
    members = layer.__dict__
    hooks = *members["_forward_pre_hooks"], None, *members["_forward_post_hooks"]
    loose = members["_non_persistable_buffer_names_set"]  # what calls leave behind
    ids = (
        [(name, id(members.get(name))) for name in members[kind] if name not in loose]
        for kind in ("_parameter_names", "_buffer_names", "_sublayer_names")
    )
    return (hooks, *ids)
