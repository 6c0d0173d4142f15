"""to_static: a function or layer whose calls run as a recorded program."""

import contextlib
import functools
import inspect
import itertools
import sys
import threading
import types
import warnings
import weakref

from proa import _C
from proa.autograd.py_layer import noting_layers
from proa.framework import recorded_rates
from proa.framework.size import at_least_two
from proa.jit import context, refusals, structure
from proa.jit.dy2static import calls, functions
from proa.jit.input_spec import InputSpec
from proa.jit.sizes import WIDE, SizeHistory, fits
from proa.jit.tracing import Trace

# A function keeps so many recordings; those that were not used for the longest time go first.
MAX_RECORDINGS = 64
# Calls whose recording is found without a comparison of sizes.
_MAX_KNOWN = 1024

_enabled = True
_verbosity = 0
_code_level = 0
_uses = itertools.count(1)
_functions: weakref.WeakSet = weakref.WeakSet()


class ProgramCache:
    """The recordings of all converted functions that are alive.

    Examples:
        >>> double = proa.jit.to_static(lambda x: x + x)
        >>> before = len(proa.jit.ProgramTranslator().get_program_cache())
        >>> y = double(proa.ones([2]))
        >>> len(proa.jit.ProgramTranslator().get_program_cache()) - before
        1
    """

    def concrete_programs(self):
        """What was recorded, a list: each with its `program`, `inputs` and `outputs`."""
        return [r.trace for f in list(_functions) for r in list(f._recordings) if r.trace is not None]

    def __len__(self):
        return len(self.concrete_programs())


class ProgramTranslator:
    """The switch of to_static: `enable(False)` makes decorated functions run as they are written.

    Examples:
        >>> translator = proa.jit.ProgramTranslator()
        >>> translator.get_output(lambda x: x * 2, proa.ones([2])).tolist()
        [2.0, 2.0]
        >>> main, startup, inputs, outputs = translator.get_program(lambda x: x * 2, proa.ones([2]))
        >>> main.num_operations, len(inputs), len(outputs)
        (1, 1, 1)
    """

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @classmethod
    def get_instance(cls):
        return cls()

    @property
    def enable_to_static(self):
        return _enabled

    def enable(self, enable_static=None, *, enable_to_static=None):
        """Turns recording of decorated functions on or off; releases after 2.3 say enable_to_static."""
        global _enabled
        enable_to_static = enable_static if enable_to_static is None else enable_to_static
        if not isinstance(enable_to_static, bool):
            raise _C.located(
                TypeError(f"ProgramTranslator.enable: takes a bool, not {type(enable_to_static).__name__}")
            )
        _enabled = enable_to_static

    def get_func(self, dygraph_func):
        """The function converted: a StaticFunction, or the function itself while conversion is off."""
        return _converted("get_func", dygraph_func) if _enabled else dygraph_func

    def get_output(self, dygraph_func, *args, **kwargs):
        """What the converted function gives for these arguments."""
        return self.get_func(dygraph_func)(*args, **kwargs)

    def get_program(self, dygraph_func, *args, **kwargs):
        """What a call with these arguments is recorded as: (main program, startup program, inputs, outputs).

        Arguments may be tensors, arrays or InputSpecs. While conversion is off, what the function gives.
        """
        from proa.static.program import Program

        if not _enabled:
            return dygraph_func(*args, **kwargs)
        function = _converted("get_program", dygraph_func)
        trace = function.recorded_for(args, kwargs)
        main = Program()
        main._program = trace.program
        for name in trace.input_names:
            main._inputs[name] = tensor = trace.program.find(name)
            tensor.name = name
        return main, Program(), list(main._inputs.values()), trace.outputs[: trace.num_results]

    def get_code(self, dygraph_func):
        """The source of the function after conversion."""
        return _converted("get_code", dygraph_func).code

    def get_program_cache(self):
        """What all converted functions have recorded."""
        return ProgramCache()


def _converted(what, function):
    if isinstance(function, StaticFunction):
        return function
    if not callable(function):
        raise _C.located(
            TypeError(f"ProgramTranslator.{what}: takes a function or layer, not {type(function).__name__}")
        )
    from proa.nn import Layer

    if isinstance(function, Layer):
        forward = function.forward
        return forward if isinstance(forward, StaticFunction) else StaticFunction(forward, None, function)
    return StaticFunction(function, None, getattr(function, "__self__", None))


def set_verbosity(level=0, also_to_stdout=False):
    """From level 1 on, a line on stderr tells of each recording of a converted function, and why it was made.

    Args:
        level (int): 0 for none.
        also_to_stdout (bool): on stdout too.

    Examples:
        >>> proa.jit.set_verbosity(0)
    """
    global _verbosity
    _verbosity = (int(level), bool(also_to_stdout)) if level else 0


def set_code_level(level=100, also_to_stdout=False):
    """From level 1 on, each program that is recorded is shown on stderr, with the source that it was recorded from.

    Args:
        level (int): 0 for none.
        also_to_stdout (bool): on stdout too.

    Examples:
        >>> proa.jit.set_code_level(0)
    """
    global _code_level
    _code_level = (int(level), bool(also_to_stdout)) if level else 0


def enable_to_static(enable_to_static_bool):
    """Turns recording of decorated functions on or off: `ProgramTranslator().enable`.

    Args:
        enable_to_static_bool (bool): off, they run as they are written.

    Examples:
        >>> proa.jit.enable_to_static(True)
    """
    ProgramTranslator().enable(enable_to_static_bool)


def ignore_module(modules):
    """Lets the functions of modules, and of modules in them, stay as they are written when what calls them is converted.

    Args:
        modules (list[module]): they.

    Examples:
        >>> import json
        >>> proa.jit.ignore_module([json])
    """
    calls.ignore(modules)


def _code_of(function):
    """The source of a function after conversion; as it is written where there is none."""
    inner = getattr(function, "__func__", function)
    if isinstance(inner, types.FunctionType) and calls.why_left(inner) is None:
        conversion = functions.conversion_of(inner)
        if conversion.code is not None:
            return conversion.text()
    return inspect.getsource(function)


def _show(where, text):
    if where:
        print(text, file=sys.stderr)
        if where[1]:
            print(text)


class _Call:
    """The arguments of one call: their tensors, and as a key what a recording takes from them besides sizes."""

    __slots__ = ("kinds", "sizes", "tensors", "tree")

    def __init__(self, args, kwargs):
        if not kwargs and all([isinstance(a, _C.Tensor) for a in args]):
            self.tensors = args
            self.tree = structure.of_tensors(len(args))
        else:
            self.tensors = []
            self.tree = structure.flatten((args, kwargs), self.tensors, _array_as_tensor)
        self.sizes = tuple([tuple(t.shape) for t in self.tensors])
        self.kinds = tuple([(t.dtype, t.stop_gradient) for t in self.tensors])


def _array_as_tensor(value):
    return (structure.TENSOR, _C.to_tensor(value)) if structure.is_array(value) else None


class _Recording:
    """A Trace with what it holds for; `module` is None for a function that runs as it is written."""

    def __init__(self, key, sizes, reason):
        self.key, self.sizes, self.reason = key, sizes, reason
        self.trace = self.module = None
        self.broken = None  # why it is not used any more
        self.used = next(_uses)
        self.calls = 0

    def stale(self):
        """Why it does not hold any more, or None."""
        if self.trace is None:
            return None
        why = self.trace.uses.broken()
        if why is None and self.module is not None and not self.module.same_gradients():
            why = "stop_gradient of a parameter changed"
        return why


class StaticFunction:
    """A function that is recorded when it is called, and replayed by later calls that the recording holds for.

    A recording holds for arguments of the same structure, with tensors of the same dtypes and `stop_gradient`, and the
    same other values (numbers and texts by value, other objects by identity; arrays of NumPy count as tensors); for
    the same context (gradients on or off, autocast, default dtype, default place, flags that decide what is computed);
    and while the layers that it went through have the modes, hooks, parameters and buffers that they had, and
    parameters their `stop_gradient`. Everything else that the function reads from outside holds as it was when it was
    recorded.

    The second size of a dim makes a recording with that dim open, which then holds for all sizes from 2 on; where the
    function needs the number, each size has its own recording. At most 64 recordings are kept (MAX_RECORDINGS).
    `explain()` lists them, with the reason for each.

    Gradients flow through a replay as through the function. What depends on the value of a tensor (`if x > 0:`) is
    recorded with all its ways (proa.jit.dy2static), or is an error that says why not. A PyLayer is recorded with its backward; one that does what cannot be recorded runs as it is written, with a warning.
    """

    def __init__(self, function, input_spec=None, layer=None):
        self._function = function
        self._input_spec = list(input_spec) if input_spec is not None else None
        self._layer = layer
        self._forget()
        self._lock = threading.RLock()
        functools.update_wrapper(self, function)
        _functions.add(self)

    def _forget(self):
        self._known = {}  # (context, tree, kinds, sizes): the recording that was used last
        self._recordings = []
        self._histories = {}  # by (tree, kinds): the sizes seen
        self._last = None
        self._dropped = 0

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        bound = StaticFunction(self._function.__get__(instance, owner), self._input_spec, instance)
        # The next access finds the bound function, with what it has recorded.
        instance.__dict__[self.__name__] = bound
        return bound

    def __deepcopy__(self, memo):
        # Of a copied layer: its own function, and recordings of its own.
        import copy

        bound = getattr(self._function, "__self__", None)
        function = self._function
        if bound is not None:
            function = function.__func__.__get__(copy.deepcopy(bound, memo))
        return StaticFunction(function, self._input_spec, copy.deepcopy(self._layer, memo))

    def __reduce__(self):
        return StaticFunction, (self._function, self._input_spec, self._layer)

    @property
    def dygraph_function(self):
        """The function as it was written."""
        return self._function

    def rollback(self):
        """The function as it was written; a converted layer gets it back as its forward."""
        if self._layer is not None and self._layer.__dict__.get("forward") is self:
            del self._layer.__dict__["forward"]
        return self._function

    def __call__(self, *args, **kwargs):
        if not _enabled or _C.in_static_mode():
            return (calls.call(self._function) if calls.is_converting() else self._function)(*args, **kwargs)
        if kwargs:
            args, kwargs = self._bound(args, kwargs)
        call = _Call(args, kwargs)
        if any(map(_C.is_symbolic, call.tensors)):
            return self._function(*args, **kwargs)
        recorded_rates.refresh()
        state = context.current()
        key = (state, call.tree, call.kinds, call.sizes)
        recording = self._known.get(key)
        if recording is None or recording.stale() is not None:
            recording = self._find(call, state, key)
        recording.used = next(_uses)
        recording.calls += 1
        self._last = recording
        if recording.module is None:
            return self._function(*args, **kwargs)
        trace = recording.trace
        results = recording.module.call(list(call.tensors))
        if trace.checks:
            trace.check(results)
        if trace.changed:
            for i, value in zip(trace.changed, results[trace.num_results : trace.first_check], strict=True):
                _overwrite(call.tensors[i], value)
        if trace.result is structure.TENSOR:
            return results[0]
        return structure.unflatten(trace.result, iter(results))

    def _bound(self, args, kwargs):
        """The arguments by position, those by name alone by name."""
        try:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
        except (TypeError, ValueError):
            return args, kwargs  # the call itself says what is wrong
        bound.apply_defaults()
        return bound.args, dict(sorted(bound.kwargs.items()))

    # Recordings --------------------------------------------------------------

    def _find(self, call, state, key):
        """The recording for a call that is not known as it is; a new one if need be."""
        self._check(call)
        with self._lock:
            for recording in self._recordings:
                if recording.key == key[:3] and fits(recording.sizes, call.sizes):
                    recording.broken = recording.stale()
                    if recording.broken is None:
                        break
            else:
                recording = self._record(call, state, key[:3])
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = recording
            return recording

    def _record(self, call, state, key):
        reason = self._reason(call, key)
        history = self._histories.get(key[1:])
        if history is None:
            history = self._histories[key[1:]] = SizeHistory(self._declared_sizes(call))
        errors = []
        for sizes in history.proposals(call.sizes):
            try:
                recording = self._recorded(call, key, sizes, reason)
            except Exception as e:
                if sizes == call.sizes:
                    raise
                history.refuse(sizes)
                errors.append(f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
                continue
            break
        history.accept(sizes)
        if errors:
            recording.reason += f"; open sizes were refused: {errors[-1]}"
        self._recordings.append(recording)
        while len(self._recordings) > MAX_RECORDINGS:
            oldest = min(self._recordings, key=lambda r: (r.broken is None, r.used))
            self._recordings.remove(oldest)
            self._known = {k: r for k, r in self._known.items() if r is not oldest}
            self._dropped += 1
        _show(_verbosity, f"proa.jit: {self._described()} was recorded: {recording.reason}")
        if recording.module is not None:
            if _code_level:
                with contextlib.suppress(OSError, TypeError):
                    _show(_code_level, f"proa.jit: {self._described()}\n{self.code}")
            _show(_code_level, f"proa.jit: {self._described()}\n{recording.trace.program}")
        return recording

    def _recorded(self, call, key, sizes, reason):
        specs = [
            _spec(t, declared, size)
            for t, declared, size in zip(call.tensors, self._declared(call), sizes, strict=True)
        ]
        args, kwargs = structure.unflatten(call.tree, iter(specs))
        recording = _Recording(key, sizes, reason)
        gradients = _C.is_grad_enabled()
        # Sizes that nobody declared open: the function knows nothing of it.
        wide = at_least_two() if any(n == WIDE for s in sizes for n in s) else contextlib.nullcontext()
        with _C.eager_mode(), noting_layers() as layers, wide:
            try:
                recording.trace = Trace(self._function, args, self._layer, kwargs, follow=gradients)
            except Exception as error:
                if not layers or not gradients:
                    refusals.explain(error)
                    raise
                why = str(error).splitlines() or [type(error).__name__]
                warnings.warn(
                    f"{self.__name__}: runs as it is written, not as a program, because it uses "
                    f"{layers[0].__name__}, and recording failed: {why[0]}",
                    stacklevel=5,
                )
        if recording.trace is not None:
            trace = recording.trace
            recording.module = trace.module()
            trace.outputs = None  # with the graph that hangs on them
        return recording

    def _reason(self, call, key):
        """Why no recording so far serves this call: by what the one that is most like it differs."""
        best = None
        for recording in self._recordings:
            state, tree, kinds = recording.key
            if tree != key[1]:
                rank, why = 0, f"other arguments: {_difference(tree, key[1])}"
            elif kinds != key[2]:
                rank, why = 1, f"other tensors: {_tensor_difference(call, kinds, key[2])}"
            elif state != key[0]:
                rank, why = 2, f"other context: {', '.join(context.differences(state, key[0]))}"
            elif not fits(recording.sizes, call.sizes):
                rank, why = 3, f"other sizes: {_sizes_text(call.sizes)}, recorded for {_sizes_text(recording.sizes)}"
            else:
                rank, why = 4, recording.broken or "the recording does not hold any more"
            if best is None or rank >= best[0]:
                best = rank, why
        if best is None:
            return "the first call" if not self._dropped else "earlier recordings were dropped"
        return best[1]

    def explain(self):
        """The recordings of this function: for which sizes, how often used, and why each was made; as text."""
        lines = [f"{self._described()}: {len(self._recordings)} recordings, {self._dropped} dropped"]
        for i, r in enumerate(self._recordings):
            kind = "runs as written" if r.module is None else f"{r.trace.program.num_operations} operations"
            state = f"; not used any more: {r.broken}" if r.broken else ""
            lines.append(f"  {i}: {_sizes_text(r.sizes)}, {kind}, {r.calls} calls; {r.reason}{state}")
        return "\n".join(lines)

    # Declared inputs ---------------------------------------------------------

    def _declared(self, call):
        """The InputSpec of each tensor of the call, None for those that have none."""
        if self._input_spec is None:
            return [None] * len(call.tensors)
        args, kwargs = structure.unflatten(call.tree, iter([structure.TENSOR] * len(call.tensors)))
        specs = list(itertools.islice(itertools.chain(self._input_spec, itertools.repeat(None)), len(args)))
        found = []
        for argument, spec in zip(args, specs, strict=True):
            _pair(argument, spec, found)
        _pair(kwargs, {}, found)
        return found

    def _declared_sizes(self, call):
        """Sizes with those open that the specs leave open, or None without specs."""
        declared = self._declared(call)
        if not any(declared):
            return None
        return tuple(tuple(spec.shape) if spec is not None else s for spec, s in zip(declared, call.sizes, strict=True))

    def _check(self, call):
        """Refuses tensors that the declared specs do not allow."""
        if self._input_spec is None:
            return
        names = structure.paths(call.tree.items[0], "argument ")
        for spec, t, name in itertools.zip_longest(self._declared(call), call.tensors, names):
            if spec is None:
                continue
            right = len(spec.shape) == t.ndim and fits((spec.shape,), (tuple(t.shape),))
            if not right or t.dtype != spec.dtype:
                number = name.replace("[", "", 1).replace("]", "", 1)
                raise _C.located(
                    (TypeError if right else ValueError)(
                        f"{self._described()}: {number} is {t.shape} {t.dtype.name}; its InputSpec says "
                        f"{list(spec.shape)} {spec.dtype.name}"
                    )
                )

    def _described(self):
        """The function with its file and line, of a layer with its class."""
        function = inspect.unwrap(getattr(self._function, "__func__", self._function))
        code = getattr(function, "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        owner = f"{type(self._layer).__name__}." if self._layer is not None else ""
        return f"{owner}{getattr(self, '__name__', 'function')}{where}"

    def known_specs(self):
        """The specs of the decorator; else those of the last recording that was used; else None."""
        if self._input_spec is not None:
            return self._input_spec
        if self._last is None or self._last.trace is None or self._last.trace.keywords:
            return None
        return self._last.trace.specs

    def get_concrete_program(self, *specs):
        """The Trace for these specs (or those of the decorator)."""
        return Trace(self._function, list(specs) or self._input_spec or [], self._layer)

    def recorded_for(self, args, kwargs):
        """A new Trace for these arguments; tensors and arrays stand for their sizes and dtypes."""
        args, kwargs = self._bound(args, kwargs) if kwargs else (args, kwargs)
        tensors = []
        tree = structure.flatten((args, kwargs), tensors, _array_as_tensor)
        specs = [InputSpec(t.shape, t.dtype, stop_gradient=t.stop_gradient) for t in tensors]
        args, kwargs = structure.unflatten(tree, iter(specs))
        with _C.eager_mode():
            return Trace(self._function, args, self._layer, kwargs)

    @property
    def concrete_program(self):
        """The recording that was used last; without a call, one for the specs of the decorator."""
        if self._last is not None and self._last.trace is not None:
            return self._last.trace
        return self.get_concrete_program()

    @property
    def code(self):
        """The source of the function as it is recorded: converted, or as it is written where it is left alone."""
        return _code_of(self._function)

    @property
    def main_program(self):
        """The program of the last recording."""
        recorded = [r for r in self._recordings if r.module is not None]
        if not recorded:
            raise _C.located(RuntimeError(f"{self.__name__}: nothing is recorded yet; call it first"))
        return recorded[-1].trace.program


def _spec(tensor, declared, sizes):
    return InputSpec(
        [None if n < 0 else n for n in sizes],
        tensor.dtype,
        declared.name if declared is not None else None,
        stop_gradient=tensor.stop_gradient,
    )


def _pair(argument, spec, found):
    """Appends, for each tensor of an argument, the spec that is declared for it."""
    if argument is structure.TENSOR:
        found.append(spec if isinstance(spec, InputSpec) else None)
    elif isinstance(argument, dict):
        for key, item in argument.items():
            _pair(item, spec.get(key) if isinstance(spec, dict) else None, found)
    elif isinstance(argument, (list, tuple)):
        specs = list(spec) if isinstance(spec, (list, tuple)) else []
        for i, item in enumerate(argument):
            _pair(item, specs[i] if i < len(specs) else None, found)
    else:
        leaves = []
        structure.flatten(argument, leaves, lambda v: (v, v) if v is structure.TENSOR else None)
        found += [None] * len(leaves)


def _overwrite(tensor, value):
    """What the function did to an argument in place."""
    if tensor.stop_gradient and value.stop_gradient:
        _C.ops.store_(tensor, value)
    else:
        tensor[...] = value


def _sizes_text(sizes):
    return ", ".join("[" + ", ".join("?" if n < 0 else str(n) for n in s) + "]" for s in sizes) or "no tensors"


def _difference(a, b):
    if isinstance(a, structure.Constant) and isinstance(b, structure.Constant):
        return f"{b!r}, recorded for {a!r}"
    same = hasattr(a, "items") and hasattr(b, "items") and (a.type, a.keys) == (b.type, b.keys)
    if same and len(a.items) == len(b.items):
        return next(_difference(x, y) for x, y in zip(a.items, b.items, strict=True) if x != y)
    return "another structure"


def _tensor_difference(call, old, new):
    i = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    if old[i][0] != new[i][0]:
        return f"tensor {i} is {new[i][0].name}, recorded for {old[i][0].name}"
    return f"tensor {i} {'does not require' if new[i][1] else 'requires'} a gradient"


def to_static(function=None, input_spec=None, build_strategy=None, property=False):
    """Lets a function, or the `forward` of a layer, run as a recorded program.

    Args:
        function: what to record; without it, a decorator is returned.
        input_spec (list[InputSpec], optional): what calls must fit, and what `jit.save` records; for an argument that
            is a list or dict, a list or dict of them. Sizes that it leaves open are recorded open.
        build_strategy: not used.

    Returns:
        StaticFunction: to be called as the function; or the layer.

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
            forward = target.forward
            if isinstance(forward, StaticFunction):
                forward = forward.dygraph_function
            target.forward = StaticFunction(forward, input_spec, target)
            return target
        if isinstance(target, StaticFunction):
            target = target.dygraph_function
        return StaticFunction(target, input_spec)

    return decorate if function is None else decorate(function)


def not_to_static(func=None, *, function=None):
    """Marks a function that is not converted: what it does is recorded, but `if x > 0` of a tensor in it is an error.

    Args:
        func (Callable): it; without it, a decorator is returned.
        function: the name of `func` in 2.0 to 2.3.

    Examples:
        >>> @proa.jit.not_to_static
        ... def f(x):
        ...     return x + 1
        >>> f(1)
        2
    """
    func = function if func is None else func
    if func is None:
        return not_to_static
    calls.leave(func)
    return func
