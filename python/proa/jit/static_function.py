"""to_static: a function or layer whose calls run as a recorded program."""

import functools
import inspect
import warnings

from proa import _C
from proa.autograd.py_layer import noting_layers
from proa.framework import recorded_rates
from proa.framework.nested import flatten, rebuild
from proa.jit.input_spec import InputSpec
from proa.jit.tracing import Trace

_enabled = True


class ProgramTranslator:
    """The switch of to_static: `enable(False)` makes decorated functions run as they are written."""

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @classmethod
    def get_instance(cls):
        return cls()

    def enable(self, enable_to_static):
        """Turns recording of decorated functions on or off."""
        global _enabled
        if not isinstance(enable_to_static, bool):
            raise _C.located(
                TypeError(f"ProgramTranslator.enable: takes a bool, not {type(enable_to_static).__name__}")
            )
        _enabled = enable_to_static


class StaticFunction:
    """A function that is recorded at its first call for each kind of arguments and replayed afterwards.

    The recording holds for arguments of the same dtypes, sizes and other values; an `input_spec` says
    which tensors are taken at all. Gradients flow through a replay as through the function.
    What depends on the value of a tensor (`if x > 0:`) cannot be recorded and is an error. A function
    that uses a PyLayer runs as it is written while gradients are recorded.
    """

    def __init__(self, function, input_spec=None, layer=None):
        self._function = function
        self._input_spec = list(input_spec) if input_spec is not None else None
        self._layer = layer
        self._last_key = None
        self._traces = {}
        self._specs = {}  # by key of a trace
        self._layers = None  # found at the first call
        functools.update_wrapper(self, function)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        bound = StaticFunction(self._function.__get__(instance, owner), self._input_spec, instance)
        # The next access finds the bound function, with what it has recorded.
        instance.__dict__[self.__name__] = bound
        return bound

    @property
    def dygraph_function(self):
        """The function as it was written."""
        return self._function

    def __call__(self, *args, **kwargs):
        if not _enabled or _C.in_static_mode() or any(_C.is_symbolic(t) for t in flatten([args, kwargs])):
            return self._function(*args, **kwargs)
        if kwargs:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise _C.located(
                    TypeError(f"{self.__name__}: keyword-only arguments cannot be recorded; pass them by position")
                )
            args = bound.args
        self._check(args)
        recorded_rates.refresh()
        recorded = self._recorded(args)
        if recorded is None:
            return self._function(*args)
        trace, module = recorded
        results = module.call(flatten(args))
        return rebuild(trace.result, iter(results))

    def _recorded(self, args):
        key = (self._context(), *(_key(a) for a in args))
        self._last_key = key
        if key not in self._traces:
            self._specs[key] = specs = [_spec(a, i, self._spec_at(i)) for i, a in enumerate(args)]
            trace = None
            with _C.eager_mode(), noting_layers() as layers:
                try:
                    trace = Trace(self._function, specs, self._layer)
                except Exception:
                    # What cannot be recorded does not matter in what will not be replayed.
                    if not layers or not _C.is_grad_enabled():
                        raise
            if layers and _C.is_grad_enabled():
                # A replay would differentiate what their forward did.
                self._traces[key] = None
                warnings.warn(
                    f"{self.__name__}: runs as it is written, not as a program, because it uses "
                    f"{layers[0].__name__}, whose backward a program does not hold",
                    stacklevel=3,
                )
            else:
                self._traces[key] = trace, trace.program.module(trace.input_names, trace.outputs)
        return self._traces[key]

    def _context(self):
        """What a recording depends on besides the arguments: modes of the layers in sight, gradients, types."""
        if self._layers is None:
            roots = [self._layer] if self._layer is not None else _layers_in_sight(self._function)
            self._layers = [sub for root in roots for sub in root.sublayers(include_self=True)]
        modes = tuple(layer.training for layer in self._layers)
        return modes, _C.is_grad_enabled(), _C.amp.current(), _C.get_default_dtype().name

    def _check(self, args):
        """Refuses tensors that the declared specs do not allow."""
        for i, argument in enumerate(args):
            spec = self._spec_at(i)
            if not isinstance(argument, _C.Tensor) or not isinstance(spec, InputSpec):
                continue
            fits = len(spec.shape) == argument.ndim and all(
                s in (-1, n) for s, n in zip(spec.shape, argument.shape, strict=True)
            )
            if not fits or argument.dtype != spec.dtype:
                raise _C.located(
                    (TypeError if fits else ValueError)(
                        f"{self.__name__}: argument {i} is {argument.shape} {argument.dtype.name}; its InputSpec says "
                        f"{list(spec.shape)} {spec.dtype.name}"
                    )
                )

    def known_specs(self):
        """The specs of the decorator; else those of the last call; else None."""
        return self._input_spec if self._input_spec is not None else self._specs.get(self._last_key)

    def _spec_at(self, i):
        return self._input_spec[i] if self._input_spec is not None and i < len(self._input_spec) else None

    def get_concrete_program(self, *specs):
        """The Trace for these specs (or those of the decorator)."""
        return Trace(self._function, list(specs) or self._input_spec or [], self._layer)

    @property
    def main_program(self):
        """The program of the last recording."""
        recorded = [pair for pair in self._traces.values() if pair is not None]
        if not recorded:
            raise _C.located(RuntimeError(f"{self.__name__}: nothing is recorded yet; call it first"))
        return recorded[-1][0].program


def _layers_in_sight(function):
    """Layers that a function names: in its closure, among its globals, the object of a method, defaults."""
    from proa.nn import Layer

    code = getattr(function, "__code__", None)
    seen = [getattr(function, "__self__", None), *(getattr(function, "__defaults__", None) or ())]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            seen.append(cell.cell_contents)
        except ValueError:  # nothing yet
            continue
    seen += [function.__globals__.get(name) for name in code.co_names] if code is not None else []
    return [value for value in seen if isinstance(value, Layer)]


def _key(argument):
    if isinstance(argument, _C.Tensor):
        return ("tensor", tuple(argument.shape), argument.dtype.name, argument.stop_gradient)
    if isinstance(argument, (list, tuple)):
        return (type(argument).__name__, *(_key(a) for a in argument))
    if isinstance(argument, dict):
        return ("dict", *((k, _key(v)) for k, v in argument.items()))
    try:
        hash(argument)
    except TypeError:
        return ("object", id(argument))
    return (type(argument).__name__, argument)


def _spec(argument, i, declared):
    if isinstance(argument, _C.Tensor):
        name = getattr(declared, "name", None) or f"x{i}"
        return InputSpec(argument.shape, argument.dtype, name)
    if isinstance(argument, (list, tuple)):
        return type(argument)(_spec(a, f"{i}_{k}", None) for k, a in enumerate(argument))
    return argument


def to_static(function=None, input_spec=None, build_strategy=None, property=False):
    """Lets a function, or the `forward` of a layer, run as a recorded program.

    Args:
        function: what to record; without it, a decorator is returned.
        input_spec (list[InputSpec], optional): what `jit.save` records.
        build_strategy: not used.

    Examples:
        >>> @proa.jit.to_static
        ... def double(x):
        ...     return x + x
        >>> double(proa.to_tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """
    from proa.nn import Layer

    def decorate(target):
        if isinstance(target, Layer):
            target.forward = StaticFunction(target.forward, input_spec, target)
            return target
        return StaticFunction(target, input_spec)

    return decorate if function is None else decorate(function)


def not_to_static(func=None):
    """Marks a function that stays as it is; recording a function records what it calls anyway."""
    return not_to_static if func is None else func
