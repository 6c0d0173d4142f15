"""Functions of static mode: in eager mode they say so, and what to call there."""

import functools

from proa import _C
from proa.framework.nested import flatten

__all__ = ["static_only"]


def static_only(instead):
    """Decorates a function that works on programs alone.

    Args:
        instead (str): what an eager program does, "use paddle.nn.Embedding".

    Raises (the function): RuntimeError unless static mode is on or an argument is a value of a program.
    """

    def decorate(function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            if not _C.in_static_mode() and not any(_C.is_symbolic(t) for t in flatten([args, kwargs])):
                raise _C.located(
                    RuntimeError(
                        f"{function.__name__}: works on programs, but static mode is off; call paddle.enable_static() "
                        f"first, or {instead}"
                    )
                )
            return function(*args, **kwargs)

        return checked

    return decorate


def missing(name, instead):
    """Raises NotImplementedError: in static mode, of what programs cannot hold yet."""
    raise _C.located(NotImplementedError(f"{name}: programs cannot hold this yet; {instead}"))
