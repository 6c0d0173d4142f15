"""Switching the recording of gradients: context managers that are decorators too."""

import functools
import types

from proa import _C

is_grad_enabled = _C.is_grad_enabled
_around = None  # gives what is called in place of a decorated function


def set_around(function):
    """Lets proa.jit convert what is decorated."""
    global _around
    _around = function


class _GradMode:
    """Sets the mode of this thread inside `with`, or inside a decorated function, generator or class."""

    _mode = True
    __slots__ = ("_saved",)

    def __new__(cls, func=None):
        self = super().__new__(cls)
        self._saved = []
        if func is None:
            return self
        return self(func)  # @no_grad, without parentheses

    def __enter__(self):
        self._saved.append(_C.set_grad_enabled(self._mode))
        return self

    def __exit__(self, *_):
        _C.set_grad_enabled(self._saved.pop())

    def _again(self):
        return type(self)()

    def __call__(self, func):
        """Wraps `func`, so that each call (each step of a generator, each method of a class) runs in this mode."""
        if isinstance(func, type):
            return self._wrap_methods(func)
        if not callable(func):
            raise _C.located(
                TypeError(f"{type(self).__name__}: can decorate what is callable, not {type(func).__name__}")
            )
        import inspect  # takes longer to import than the package, in which nothing is decorated while it is imported

        if inspect.isgeneratorfunction(func):
            return self._wrap_generator(func)

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with self._again():
                return (func if _around is None else _around(func))(*args, **kwargs)

        return wrapper

    def _wrap_methods(self, cls):
        for name, value in list(vars(cls).items()):
            if isinstance(value, (staticmethod, classmethod)):
                setattr(cls, name, type(value)(self._again()(value.__func__)))
            elif isinstance(value, types.FunctionType):
                setattr(cls, name, self._again()(value))
        return cls

    def _wrap_generator(self, func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            generator = func(*args, **kwargs)
            step, argument = generator.send, None
            try:
                while True:
                    with self._again():
                        value = step(argument)
                    try:
                        step, argument = generator.send, (yield value)
                    except GeneratorExit:
                        raise
                    except BaseException as e:
                        step, argument = generator.throw, e
            except StopIteration as stop:
                return stop.value
            finally:
                with self._again():
                    generator.close()

        return wrapper


class no_grad(_GradMode):
    """Ops called inside record no gradients.

    Examples:
        >>> x = proa.ones([2]); x.stop_gradient = False
        >>> with proa.no_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        True
        >>> @proa.no_grad()
        ... def double(x):
        ...     return x * 2
    """

    _mode = False
    __slots__ = ()


class enable_grad(_GradMode):
    """Ops called inside record gradients, also within `no_grad`.

    Examples:
        >>> x = proa.to_tensor([1.0], stop_gradient=False)
        >>> with proa.no_grad(), proa.enable_grad():
        ...     y = x * 2.0
        >>> y.stop_gradient
        False
    """

    __slots__ = ()


class set_grad_enabled(_GradMode):
    """`enable_grad` or `no_grad`, by a flag. Holds from the call on, or, as a context manager, until the end of `with`.

    Examples:
        >>> x = proa.ones([2]); x.stop_gradient = False
        >>> with proa.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.stop_gradient
        True
        >>> _ = proa.set_grad_enabled(False)
        >>> (x * 2).stop_gradient
        True
        >>> _ = proa.set_grad_enabled(True)
    """

    __slots__ = ("_before", "_mode")

    def __new__(cls, mode):
        self = object.__new__(cls)
        self._saved = []
        self._mode = bool(mode)
        # What is called and not entered holds from here on; `with` goes back to what was before the call.
        self._before = [_C.set_grad_enabled(self._mode)]
        return self

    def __enter__(self):
        before = _C.set_grad_enabled(self._mode)
        self._saved.append(self._before.pop() if self._before else before)
        return self

    def __call__(self, func):
        """Wraps `func`; the mode around it stays what it was."""
        if self._before:
            _C.set_grad_enabled(self._before.pop())
        return super().__call__(func)

    def _again(self):
        return set_grad_enabled(self._mode)
