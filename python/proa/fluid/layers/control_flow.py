"""Control flow on values of a program, and lists of tensors."""

from proa.fluid.layers.math import (
    equal,
    greater_equal,
    greater_than,
    less_equal,
    less_than,
    not_equal,
)
from proa.fluid.layers.ops import increment
from proa.framework.names import missing as _missing
from proa.static import Print
from proa.static.nn import case, cond, switch_case, while_loop
from proa.tensor.array import array_length, array_read, array_write, create_array

__all__ = [
    "Print", "array_length", "array_read", "array_write", "case", "cond", "create_array", "equal", "greater_equal",
    "greater_than", "increment", "is_empty", "less_equal", "less_than", "not_equal", "switch_case", "while_loop",
]  # fmt: skip

__getattr__ = _missing(__name__)


def is_empty(x, name=None):
    """Whether x has no elements: a bool tensor."""
    import proa

    return proa.is_empty(x)
