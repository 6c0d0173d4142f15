"""PyLayer: functions with a backward of their own."""

import contextlib
import functools
import threading

from proa import _C
from proa._C import PyLayerContext

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]

_thread = threading.local()


@contextlib.contextmanager
def noting_layers():
    """Gives a list of the PyLayers that are applied inside, on this thread.

    For recorders of functions: a program holds what forward did, not that backward was written by hand.
    """
    before = getattr(_thread, "seen", None)
    _thread.seen = seen = []
    try:
        yield seen
    finally:
        _thread.seen = before
        if before is not None:
            before += seen


class PyLayer:
    """A function of tensors whose backward is written by hand.

    Subclasses have two static methods. `forward(ctx, *args, **kwargs)` takes what `apply` was given
    and gives a Tensor, or a tuple or list of Tensors and other values; nothing in it is recorded.
    `backward(ctx, *grads)` takes a gradient for each output that is a tensor (or holds some: then
    nested alike) and gives one for each argument that is or holds a tensor, None for zeros.
    `ctx` (PyLayerContext) carries values from one to the other. Keep tensors by `ctx.save_for_backward`,
    not as attributes: what is saved is checked for changes and let go after backward, and an output kept
    as an attribute is a reference cycle, which lives until the garbage collector comes.

    A program (static, converted or saved) holds forward and backward as they were when it was recorded. A
    function under `jit.to_static` whose PyLayer does what cannot be recorded runs as it is written (a warning
    says so once), and `jit.save` refuses it while gradients are on.

    An input that forward changes in place and returns gets this function as its history; one that it
    returns unchanged comes back as a new Tensor on the same elements. Backward is recorded when a
    higher order is asked for (`create_graph`), so that it can be differentiated itself.

    Examples:
        >>> class Tanh(proa.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = proa.tanh(x)
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, dy):
        ...         (y,) = ctx.saved_tensor()
        ...         return dy * (1 - y * y)
        >>> x = proa.to_tensor([0.0], stop_gradient=False)
        >>> Tanh.apply(x).backward()
        >>> x.grad.tolist()
        [1.0]
    """

    @staticmethod
    def forward(ctx, *args, **kwargs):
        """What the function computes. To be defined by subclasses."""
        raise _C.located(
            NotImplementedError("PyLayer: a subclass must define the static method forward(ctx, *args, **kwargs)")
        )

    @staticmethod
    def backward(ctx, *args, **kwargs):
        """Gradients of the inputs from those of the outputs. To be defined by subclasses."""
        raise _C.located(NotImplementedError("PyLayer: a subclass must define the static method backward(ctx, *grads)"))

    @classmethod
    def apply(cls, *args, **kwargs):
        """Calls `forward` with these arguments and records the call.

        Returns:
            What forward gives; its tensors require grad if a tensor among the arguments does.

        Raises:
            RuntimeError: forward changed a leaf in place that requires grad, or changed a tensor that
                requires grad without returning it. In backward: a saved tensor was changed or freed.
            ValueError, TypeError: in backward, for gradients of wrong number, shape or dtype.
        """
        if getattr(_thread, "seen", None) is not None:
            _thread.seen.append(cls)
        return _C.call_py_layer(cls, args, kwargs)

    def __call__(self, *args, **kwargs):
        raise _C.located(
            TypeError(f"{type(self).__name__}: instances cannot be called; use {type(self).__name__}.apply(...)")
        )


class _Once(PyLayer):
    """Passes gradients on; says so when somebody differentiates them."""

    @staticmethod
    def forward(ctx, name, sources, *grads):
        ctx.name = name
        return grads

    @staticmethod
    def backward(ctx, *grads):
        raise _C.located(RuntimeError(f"{ctx.name} is marked by once_differentiable: it has no second derivative"))


def once_differentiable(backward):
    """Decorates a `backward` that cannot be differentiated: asking for it is an error, not a wrong number."""

    @functools.wraps(backward)
    def wrapper(ctx, *grads):
        recording = _C.set_grad_enabled(False)
        try:
            found = backward(ctx, *grads)
        finally:
            _C.set_grad_enabled(recording)
        if not recording:
            return found
        many = isinstance(found, (tuple, list))
        given = [g for g in (found if many else (found,)) if isinstance(g, _C.Tensor)]
        marked = iter(_Once.apply(backward.__qualname__, [*grads, *ctx.saved_tensors], *given))
        swap = lambda g: next(marked) if isinstance(g, _C.Tensor) else g
        return tuple(map(swap, found)) if many else swap(found)

    return wrapper
