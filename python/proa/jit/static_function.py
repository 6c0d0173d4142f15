"""to_static: a function or layer whose calls run as a recorded program."""

import contextlib
import functools
import inspect
import itertools
import threading
import types
import warnings

from proa import _C
from proa.autograd.py_layer import noting_layers
from proa.framework import flags, recorded_rates
from proa.framework.once import changing
from proa.framework.size import at_least_two
from proa.jit import context, declared, inner_hooks, reasons, refusals, settings, structure
from proa.jit.dy2static import calls, functions, tracebacks
from proa.jit.input_spec import InputSpec
from proa.jit.program_cache import ProgramCache, functions_alive
from proa.jit.reasons import sizes_text
from proa.jit.sizes import WIDE, SizeHistory, fits
from proa.jit.tracing import Trace

# A function keeps so many recordings; those that were not used for the longest time go first.
MAX_RECORDINGS = 64
# Calls whose recording is found without a comparison of sizes.
_MAX_KNOWN = 1024

_uses = itertools.count(1)


def code_of(function):
    """The source of a function after conversion; as it is written where there is none."""
    inner = getattr(function, "__func__", function)
    if isinstance(inner, types.FunctionType) and calls.why_left(inner) is None:
        conversion = functions.conversion_of(inner)
        if conversion.code is not None:
            return conversion.text()
    return inspect.getsource(function)


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


def _spec_or_array(value):
    return (structure.TENSOR, value) if isinstance(value, InputSpec) else _array_as_tensor(value)


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
    recorded; but for counters that it changes itself, which are values of the program (proa.jit.baked).

    The second size of a dim makes a recording with that dim open, which then holds for all sizes from 2 on; where the
    function needs the number, each size has its own recording. At most 64 recordings are kept (MAX_RECORDINGS).
    `explain()` lists them, with the reason for each.

    Gradients flow through a replay as through the function. What depends on the value of a tensor (`if x > 0:`) is
    recorded with all its ways (proa.jit.dy2static), or is an error that says why not. A PyLayer is recorded with its backward; one that does what cannot be recorded runs as it is written, with a warning.
    """

    runs_inner_hooks = True

    def __init__(self, function, input_spec=None, layer=None, passes=None):
        self._function, self._passes = function, passes
        self._input_spec = list(input_spec) if input_spec is not None else None
        self._layer = layer
        self._forget()
        self._lock = threading.RLock()
        functools.update_wrapper(self, function)
        functions_alive.add(self)

    def _forget(self):
        # By _C.call_key, or (context, tree, kinds, sizes): the recording that was used last. The former holds for the
        # flags of now.
        self._known = {}
        self._meaning = None
        self._recordings = []
        self._histories = {}  # by (tree, kinds): the sizes seen
        self._last = None
        self._of_specs = {}  # by the specs: what get_concrete_program recorded
        self._dropped = 0

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        bound = StaticFunction(self._function.__get__(instance, owner), self._input_spec, instance, self._passes)
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
        return StaticFunction(function, self._input_spec, copy.deepcopy(self._layer, memo), self._passes)

    def __reduce__(self):
        return StaticFunction, (self._function, self._input_spec, self._layer, self._passes)

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
        if not settings.enabled:
            return self._as_written(args, kwargs)
        # Of a call with tensors alone one object says all that it is looked up by.
        quick = _C.call_key(args) if not kwargs else None
        if quick is not None:
            if self._meaning is not flags.with_meaning():
                self._known.clear()
                self._meaning = flags.with_meaning()
            recording = self._known.get(quick)
            if recording is not None and recording.module is not None and recording.stale() is None:
                return self._replay(recording, args)
        elif _C.in_static_mode():
            return self._as_written(args, kwargs)
        if kwargs:
            args, kwargs = self._bound(args, kwargs)
        call = _Call(args, kwargs)
        if any(map(_C.is_symbolic, call.tensors)):
            return self._whole()(*args, **kwargs)
        state = context.current()
        key = (state, call.tree, call.kinds, call.sizes)
        recording = self._known.get(key) if quick is None else None
        if recording is None or recording.stale() is not None:
            try:
                recording = self._find(call, state, key)
            except Exception as error:
                raise tracebacks.of_user(error)  # noqa: B904 (it is the same error)
            self._remember(key if quick is None else quick, recording)
        if recording.module is None:
            recording.calls += 1
            self._last = recording
            return self._whole()(*args, **kwargs)
        return self._replay(recording, call.tensors)

    def _as_written(self, args, kwargs):
        function = self._whole()
        return (calls.call(function) if calls.is_converting() else function)(*args, **kwargs)

    def _whole(self):
        """What is recorded: the function, behind those hooks of its layer that belong to the forward."""
        is_forward = self._layer is not None and getattr(self._layer, "forward", None) is self
        return inner_hooks.with_hooks(self._function, self._layer) if is_forward else self._function

    def _remember(self, key, recording):
        with self._lock:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = recording

    def _replay(self, recording, tensors):
        recorded_rates.refresh()
        recording.used = next(_uses)
        recording.calls += 1
        self._last = recording
        trace = recording.trace
        module = recording.module
        results = changing(lambda: module.changed, lambda: module.call(tensors))
        if trace.checks:
            trace.check(results)
        if trace.changed:
            for i, value in zip(trace.changed, results[trace.num_results : trace.first_check], strict=True):
                _overwrite(tensors[i], value)
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
        declared.check(self._input_spec, call, self._described)
        with self._lock:
            for recording in self._recordings:
                if recording.key == key[:3] and fits(recording.sizes, call.sizes):
                    recording.broken = recording.stale()
                    if recording.broken is None:
                        break
            else:
                recording = self._record(call, state, key[:3])
            return recording

    def _record(self, call, state, key):
        reason = reasons.reason(self._recordings, self._dropped, call, key)
        history = self._histories.get(key[1:])
        if history is None:
            history = self._histories[key[1:]] = SizeHistory(declared.sizes(self._input_spec, call))
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
        settings.show(settings.verbosity, f"proa.jit: {self._described()} was recorded: {recording.reason}")
        if recording.module is not None:
            if settings.code_level:
                with contextlib.suppress(OSError, TypeError):
                    settings.show(settings.code_level, f"proa.jit: {self._described()}\n{self.code}")
            settings.show(settings.code_level, f"proa.jit: {self._described()}\n{recording.trace.program}")
        return recording

    def _recorded(self, call, key, sizes, reason):
        specs = [
            declared.spec_of(t, spec, size)
            for t, spec, size in zip(call.tensors, declared.of_call(self._input_spec, call), sizes, strict=True)
        ]
        args, kwargs = structure.unflatten(call.tree, iter(specs))
        recording = _Recording(key, sizes, reason)
        gradients = _C.is_grad_enabled()
        # Sizes that nobody declared open: the function knows nothing of it.
        wide = at_least_two() if any(n == WIDE for s in sizes for n in s) else contextlib.nullcontext()
        with _C.eager_mode(), noting_layers() as layers, wide:
            try:
                recording.trace = Trace(self._whole(), args, self._layer, kwargs, follow=gradients)
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
            if self._passes is not None:
                self._passes.choose(trace.program)
            recording.module = trace.module()
            trace.outputs = None  # with the graph that hangs on them
        return recording

    def explain(self):
        """The recordings of this function: for which sizes, how often used, and why each was made; as text."""
        lines = [f"{self._described()}: {len(self._recordings)} recordings, {self._dropped} dropped"]
        for i, r in enumerate(self._recordings):
            kind = "runs as written" if r.module is None else f"{r.trace.program.num_operations} operations"
            state = f"; not used any more: {r.broken}" if r.broken else ""
            lines.append(f"  {i}: {sizes_text(r.sizes)}, {kind}, {r.calls} calls; {r.reason}{state}")
        return "\n".join(lines)

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

    def get_concrete_program(self, *specs, **keywords):
        """(what was recorded for these specs, or those of the decorator; what calls it).

        It is kept: equal specs, their names among them, give the same one again, and `program_cache` counts it. Arguments
        that are no specs belong to it as they are; tensors and arrays stand for their sizes and dtypes.
        """
        if keywords:
            specs, keywords = self._bound(specs, keywords)
        leaves = []
        tree = structure.flatten((list(specs) or self._input_spec or [], keywords), leaves, _spec_or_array)
        wanted = [v if isinstance(v, InputSpec) else InputSpec(v.shape, v.dtype) for v in leaves]
        key = tree, tuple(wanted)
        with self._lock:
            if key not in self._of_specs:
                specs, keywords = structure.unflatten(tree, iter(wanted))
                self._of_specs[key] = Trace(self._whole(), specs, self._layer, keywords)
        trace = self._of_specs[key]
        return trace, trace.module()

    def recorded_for(self, args, kwargs):
        """A new Trace for these arguments; tensors and arrays stand for their sizes and dtypes."""
        args, kwargs = self._bound(args, kwargs) if kwargs else (args, kwargs)
        tensors = []
        tree = structure.flatten((args, kwargs), tensors, _array_as_tensor)
        specs = [InputSpec(t.shape, t.dtype, stop_gradient=t.stop_gradient) for t in tensors]
        args, kwargs = structure.unflatten(tree, iter(specs))
        with _C.eager_mode():
            return Trace(self._whole(), args, self._layer, kwargs)

    @property
    def concrete_program(self):
        """The recording that was used last; without a call, one for the specs of the decorator."""
        if self._last is not None and self._last.trace is not None:
            return self._last.trace
        return self.get_concrete_program()[0]

    @property
    def program_cache(self):
        """The recordings: a ProgramCache."""
        return ProgramCache(self)

    @property
    def code(self):
        """The source of the function as it is recorded: converted, or as it is written where it is left alone."""
        return code_of(self._function)

    @property
    def inputs(self):
        """The tensors of the program of the last recording that stand for the arguments."""
        return list(self.last_trace().inputs)

    @property
    def outputs(self):
        """The tensors of the program of the last recording that are its results, in the order of the result."""
        return self.last_trace().results

    def last_trace(self):
        """The Trace of the last recording; what an input_spec says is recorded when it is asked for."""
        if self._last is None or self._last.trace is None:
            if self._input_spec is not None:
                return self.concrete_program
            raise _C.located(RuntimeError(f"{self.__name__}: nothing is recorded yet; call it first"))
        return self._last.trace

    @property
    def main_program(self):
        """The program of the last recording; what an input_spec says is recorded when it is asked for."""
        recorded = [r for r in self._recordings if r.module is not None]
        if not recorded and self._input_spec is not None:
            return self.concrete_program.main_program
        if not recorded:
            raise _C.located(RuntimeError(f"{self.__name__}: nothing is recorded yet; call it first"))
        return recorded[-1].trace.program


def _overwrite(tensor, value):
    """What the function did to an argument in place."""
    if tensor.stop_gradient and value.stop_gradient:
        _C.ops.store_(tensor, value)
    else:
        tensor[...] = value


def to_static(function=None, input_spec=None, build_strategy=None, property=False, backend=None, full_graph=True):
    """Lets a function, or the `forward` of a layer, run as a recorded program.

    Args:
        function: what to record; without it, a decorator is returned.
        input_spec (list[InputSpec], optional): what calls must fit, and what `jit.save` records; for an argument that
            is a list or dict, a list or dict of them. Sizes that it leaves open are recorded open.
        build_strategy (static.BuildStrategy, optional): the passes that run over each recording.
        backend: a name of 2.5; not used.
        full_graph (bool): a name of 2.5; a function is always recorded as a whole.

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

    passes = None if build_strategy is None else build_strategy._finalize_strategy_and_create_passes()

    def decorate(target):
        if isinstance(target, Layer):
            forward = target.forward
            if isinstance(forward, StaticFunction):
                forward = forward.dygraph_function
            target.forward = StaticFunction(forward, input_spec, target, passes)
            return target
        if isinstance(target, StaticFunction):
            target = target.dygraph_function
        return StaticFunction(target, input_spec, None, passes)

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
