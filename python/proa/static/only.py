"""Functions of static mode: in eager mode they say so, and what to call there."""

import functools
import inspect

from proa import _C
from proa.framework.nested import flatten

__all__ = ["static_only"]


def static_only(instead, none=()):
    """Decorates a function that works on programs alone.

    None is a value of parameters whose default it is, and of flags; of the others it is refused.

    Args:
        instead (str): what an eager program does, "use paddle.nn.Embedding".
        none (tuple[str]): parameters that take None as well, for their default if they have one.

    Raises (the function): RuntimeError unless static mode is on or an argument is a value of a program; TypeError for None.
    """

    def decorate(function):
        parameters = inspect.signature(function).parameters
        defaults = {}  # of what does not take None
        for name, parameter in parameters.items():
            named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if named and parameter.default is not None and not isinstance(parameter.default, bool):
                defaults[name] = parameter.default
        order = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

        def value(name, given):
            if given is not None or name not in defaults:
                return given
            if name in none:
                return None if defaults[name] is inspect.Parameter.empty else defaults[name]
            raise _C.located(TypeError(f"{function.__name__}: {name} must not be None"))

        @functools.wraps(function)
        def checked(*args, **kwargs):
            if not _C.in_static_mode() and not any(_C.is_symbolic(t) for t in flatten([args, kwargs])):
                raise _C.located(
                    RuntimeError(
                        f"{function.__name__}: works on programs, but static mode is off; call paddle.enable_static() "
                        f"first, or {instead}"
                    )
                )
            args = [value(name, given) for name, given in zip(order, args)] + list(args[len(order) :])
            return function(*args, **{name: value(name, given) for name, given in kwargs.items()})

        return checked

    return decorate


def missing(name, instead):
    """Raises NotImplementedError: in static mode, of what programs cannot hold yet."""
    raise _C.located(NotImplementedError(f"{name}: programs cannot hold this yet; {instead}"))
