"""Functions of libraries that call what they are given: converted functions give them converted ones."""

import functools
import types

from proa.jit.dy2static import calls


def _convert(value):
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return calls.call(value)
    if type(value) in (list, tuple):  # pairs of case and switch_case
        return type(value)(_convert(item) for item in value)
    if type(value) is dict:
        return {key: _convert(item) for key, item in value.items()}
    return value


def taker(function):
    """The function, given converted ones."""

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        return function(*map(_convert, args), **{key: _convert(value) for key, value in kwargs.items()})

    return call


_NAMES = {
    "proa.static.nn": ("cond", "while_loop"),
    "proa.static.nn.choices": ("case", "switch_case"),
    "proa.autograd.recomputation": ("recompute", "recompute_sequential"),
}


def _replacement(function):
    """What is called in place of a function of a library that is known to call what it is given; None for others."""
    return taker(function) if function.__name__ in _NAMES.get(function.__module__, ()) else None


calls.of_libraries.append(_replacement)
