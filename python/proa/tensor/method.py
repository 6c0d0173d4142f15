"""How functions of this package become methods of Tensor: where they are defined, `@method` says so."""

from proa import _C

TYPE_CHECKING = False  # `typing` costs more to import than this module.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


def method(function: "Function") -> "Function":
    """Makes a function, whose first parameter is a tensor, a method of Tensor by its name; the function itself again.

    The stub of Tensor has these methods too: python/core/generate_python.py looks for the decorator.
    """
    setattr(_C.Tensor, function.__name__, function)
    return function
