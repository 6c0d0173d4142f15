"""recompute: parts of a model whose intermediate tensors are computed again in backward instead of being kept."""

import contextlib
import sys
import threading
import warnings

from proa import _C
from proa.framework.nested import flatten, rebuild
from proa.framework.once import Run
from proa.nn.layer import use

__all__ = ["recompute", "recompute_sequential"]


class _RandomState:
    """Random numbers of `with` are those that follow `state`; afterwards the generator goes on as it was."""

    def __init__(self, state):
        self._state = state

    def __enter__(self):
        self._before = _random_states()
        _set_random_states(self._state)

    def __exit__(self, *_):
        _set_random_states(self._before)


def _tracker():
    """The states by name of model-parallel layers, if there are any."""
    module = sys.modules.get("proa.distributed.fleet.layers.mpu.random")
    return None if module is None else module.get_rng_state_tracker()


def _random_states():
    tracker = _tracker()
    return _C.get_rng_state(), None if tracker is None else tracker.get_states_tracker()


def _set_random_states(states):
    _C.set_rng_state(states[0])
    if states[1] is not None:
        _tracker().set_states_tracker(states[1])


_open = threading.local()  # what the innermost function that may be called again has left beside its result


@contextlib.contextmanager
def _collecting():
    before, _open.left = getattr(_open, "left", None), {}
    try:
        yield _open.left
    finally:
        _open.left = before


def leaves_beside(owner, name):
    """Says that the tensor `owner.__dict__[name]` was set; where the function that did it is recomputed, it is one more result.

    Without that it would have no gradient: what a recomputed function computes has none but by its results.
    """
    left = getattr(_open, "left", None)
    if left is not None:
        left[id(owner), name] = owner, name


class _Call:
    """A call of `function` that can be made again with other tensors in the places of its own."""

    def __init__(self, function, args, kwargs, state):
        self._function, self._state = function, state
        # The tensors themselves belong to the graph, which lets them go after backward.
        places = flatten([args, kwargs])
        self._arguments = rebuild([args, kwargs], iter(_Place() for _ in places))
        self.result = None  # of the first time
        self.beside = []  # where it left what else it computed, that time
        self._called = False
        self._once = None  # what was computed `once`, that time

    def __call__(self, tensors):
        args, kwargs = rebuild(self._arguments, iter(tensors), _Place)
        if self._called:
            return self._again(args, kwargs)
        self._called = True
        with _collecting() as left, Run() as run:
            self.result = self._function(*args, **kwargs)
        self._once = run.values
        self.beside = [place for place in left.values() if isinstance(_at(place), _C.Tensor)]
        return [*flatten(self.result), *map(_at, self.beside)]

    def _again(self, args, kwargs):
        before = [_at(place) for place in self.beside]
        try:
            with (
                _collecting(),
                Run(self._once),
                contextlib.nullcontext() if self._state is None else _RandomState(self._state),
            ):
                results = flatten(self._function(*args, **kwargs))
            return [*results, *map(_at, self.beside)]
        finally:
            for (owner, name), value in zip(self.beside, before):
                owner.__dict__[name] = value


def _at(place):
    owner, name = place
    return owner.__dict__.get(name)


class _Place:
    """Where a tensor goes."""

    __slots__ = ()


def recompute(function, *args, **kwargs):
    """Calls `function(*args, **kwargs)` without keeping what it computes on the way; backward calls it again.

    Memory between forward and backward is that of the arguments and results; backward costs one more
    forward. Gradients, of the arguments and of all parameters that the function uses, are the same as
    without it, for `backward` and for `grad`, and of higher order too (but then the second run is kept).

    Running statistics of batch normalization and the vectors of `spectral_norm` move on in the first call alone, as without
    it; so does all that a converted or loaded layer changes, of which the tensors are kept as they were. What else the function does it does twice: counters of its own advance.
    It must compute the same both times, and must not change its arguments in place (both are checked).
    Parameters that change between forward and backward are not noticed. The random state is that of the
    process: other threads that draw numbers while backward runs disturb it.

    In a program (symbolic tensors, static mode) and without gradients it is simply called.

    Args:
        function (Callable): a Layer or any function; gives Tensors in nested lists, tuples and dicts.
        *args: Tensors, nestings of them, any other values.
        preserve_rng_state (bool): use the same random numbers again (the same dropout); True.
        use_reentrant (bool): accepted for programs that pass it; there is one implementation.
        **kwargs: passed on.

    Returns:
        What the function gives.

    Examples:
        >>> block = proa.nn.Sequential(proa.nn.Linear(4, 64), proa.nn.ReLU(), proa.nn.Linear(64, 4))
        >>> x = proa.ones([2, 4]); x.stop_gradient = False
        >>> proa.autograd.recompute(block, x).sum().backward()
        >>> x.grad.shape
        [2, 4]
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    kwargs.pop("use_reentrant", None)
    if not callable(function):
        raise _C.located(TypeError(f"recompute: function must be callable, not {type(function).__name__}"))
    function = use.recorded(function)
    tensors = flatten([args, kwargs])
    if not _C.is_grad_enabled() or _C.in_static_mode() or any(_C.is_symbolic(t) for t in tensors):
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs, _random_states() if preserve else None)
    results = _C.recompute(call, tensors)
    if results and all(t.stop_gradient for t in results):
        _hint_once()
    result, call.result = call.result, None
    own = len(results) - len(call.beside)
    for (owner, name), value in zip(call.beside, results[own:]):
        owner.__dict__[name] = value
        leaves_beside(owner, name)  # of a function around this one
    return rebuild(result, iter(results[:own]))


_hinted = False


def _hint_once():
    """In the first step of a training, not in each."""
    global _hinted
    if not _hinted:
        _hinted = True
        warnings.warn(
            "recompute: no argument or parameter of the function requires a gradient, so that there is nothing to "
            "compute again; a plain call does the same. Was stop_gradient = False forgotten? (This is said once.)",
            RuntimeWarning,
            stacklevel=3,
        )


def recompute_sequential(ctx, functions, *args, **kwargs):
    """Recomputes a chain of layers in segments.

    Args:
        ctx (dict|int): the number of segments, or a dict with "segments" (default 1) and
            "preserve_rng_state" (default True).
        functions (Sequential|list): called one after the other, each with the result of the one before.
        *args: of the first; a tuple that a function gives becomes the arguments of the next.
        **kwargs: `preserve_rng_state`; others are passed to the first function.

    Returns:
        What the last function gives.

    Examples:
        >>> net = proa.nn.Sequential(*[proa.nn.Linear(8, 8) for _ in range(6)])
        >>> y = proa.autograd.recompute_sequential({"segments": 3}, net, proa.ones([1, 8]))
        >>> y.shape
        [1, 8]
    """
    ctx = {"segments": ctx} if isinstance(ctx, int) else ctx or {}
    segments = ctx.get("segments", 1)
    preserve = kwargs.pop("preserve_rng_state", ctx.get("preserve_rng_state", True))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not functions:
        raise _C.located(ValueError("recompute_sequential: there are no functions"))
    if not 1 <= segments <= len(functions):
        raise _C.located(ValueError(f"recompute_sequential: {segments} segments for {len(functions)} functions"))
    bounds = [len(functions) * i // segments for i in range(segments + 1)]
    result = args
    for begin, end in zip(bounds, bounds[1:]):
        given = result if isinstance(result, tuple) else (result,)
        result = recompute(_chain(functions[begin:end]), *given, preserve_rng_state=preserve, **kwargs)
        kwargs = {}
    return result


def _chain(functions):
    def run(*args, **kwargs):
        for function in functions:
            result = use.recorded(function)(*args, **kwargs)
            args, kwargs = result if isinstance(result, tuple) else (result,), {}
        return result

    return run
