"""Functions that others call: what `map`, `cond`, `while_loop` and decorators are given is converted where they call it."""

import functools
import types

from proa.framework import grad_mode
from proa.jit.dy2static import calls, writes


def taker(function):
    """A function of Python that calls what it is given, given converted functions."""

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        return function(*map(_converted, args), **{key: _converted(value) for key, value in kwargs.items()})

    return call


def _converted(value):
    return calls.call(value) if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) else value


def block(function):
    """A function whose calls are a branch or a turn of the program: converted, with gradients that end where it ends them."""
    made = calls.call(function)

    def call(*args):
        with calls.converting(), writes.logging():
            return made(*args)

    return call


grad_mode.set_around(calls.recorded)
