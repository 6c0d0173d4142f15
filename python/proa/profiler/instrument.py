"""What tells the recorder of layers, optimizers and readers, only while a profiler records.

Layer.__call__ and the optimizers' steps are wrapped when recording begins and put back when it ends, so
that they cost nothing otherwise.
"""

import functools
import threading

from proa import _C
from proa.io import reader_cost
from proa.nn.layer import paths
from proa.nn.layer.layers import Layer
from proa.optimizer.optimizer import Optimizer


class _Paths(threading.local):
    """Where this thread is among the layers."""

    def __init__(self):
        self.names = None  # of the root that runs: id of a layer -> its path
        self.path = None


class LayerPaths:
    """Gives each call of a layer its path, "Mlp.hidden", and a range."""

    def __init__(self):
        self._here = _Paths()

    def call(self, original, layer, inputs, kwargs):
        """Calls `original(layer, *inputs, **kwargs)` inside of the layer's path."""
        here = self._here
        outer_path, outer_names = here.path, here.names
        if outer_names is None:
            here.names = paths.names_of(layer)
        here.path = paths.step_into(layer, outer_path, here.names)
        before = _C.profiler.set_path(here.path)
        recorded = _C.profiler.Range(type(layer).__name__, "layer")
        recorded.begin()
        try:
            return original(layer, *inputs, **kwargs)
        finally:
            recorded.end()
            _C.profiler.set_path(before)
            here.path, here.names = outer_path, outer_names


class _ReaderRanges:
    """An observer of readers: a range for each batch."""

    def __init__(self):
        self._local = threading.local()

    def before_read(self):
        recorded = self._local.range = _C.profiler.Range("DataLoader", "dataloader")
        recorded.begin()

    def after_read(self):
        recorded = getattr(self._local, "range", None)
        if recorded is not None:
            recorded.end()


def _ranged(name, category, function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        recorded = _C.profiler.Range(f"{type(self).__name__}.{name}", category)
        recorded.begin()
        try:
            return function(self, *args, **kwargs)
        finally:
            recorded.end()

    return wrapper


class Instruments:
    """All of them; `attach` and `detach` any number of times, by several profilers."""

    _lock = threading.Lock()
    _users = 0
    _replaced = ()
    _reader = None

    @classmethod
    def _replace(cls, owner, name, function):
        cls._replaced += ((owner, name, owner.__dict__[name]),)
        setattr(owner, name, function)

    @classmethod
    def attach(cls):
        with cls._lock:
            cls._users += 1
            if cls._users > 1:
                return
            paths, call = LayerPaths(), Layer.__call__

            @functools.wraps(call)
            def recorded_call(layer, *inputs, **kwargs):
                return paths.call(call, layer, inputs, kwargs)

            cls._replace(Layer, "__call__", recorded_call)
            for name in ("step", "minimize", "clear_grad"):
                cls._replace(Optimizer, name, _ranged(name, "optimizer", getattr(Optimizer, name)))
            cls._reader = _ReaderRanges()
            reader_cost.add_observer(cls._reader)

    @classmethod
    def detach(cls):
        with cls._lock:
            cls._users -= 1
            if cls._users == 0:
                cls._put_back()

    @classmethod
    def _put_back(cls):
        for owner, name, original in reversed(cls._replaced):
            setattr(owner, name, original)
        cls._replaced = ()
        reader_cost.remove_observer(cls._reader)

    @classmethod
    def reset(cls):
        """In a child of fork: the profilers that attached them are the parent's."""
        cls._lock = threading.Lock()
        cls._users = 0
        cls._put_back()
