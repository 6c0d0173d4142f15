"""Control flow on values of a program, and lists of tensors."""

from proa.fluid.layers import math as _math
from proa.fluid.layers.loops import While, array_length, array_read, array_write, create_array, tensor_array_to_tensor
from proa.fluid.layers.ops import increment
from proa.fluid.layers.recurrent_blocks import DynamicRNN as DynamicRNN
from proa.fluid.layers.recurrent_blocks import StaticRNN as StaticRNN
from proa.fluid.layers.switches import IfElse as IfElse
from proa.fluid.layers.switches import Switch as Switch
from proa.framework import reports as _reports
from proa.framework.names import missing as _missing
from proa.static import Print
from proa.static.nn import case, cond, switch_case, while_loop

__all__ = [
    "Assert", "Print", "While", "array_length", "array_read", "array_write", "case", "cond", "create_array", "equal",
    "greater_equal", "greater_than", "increment", "is_empty", "less_equal", "less_than", "not_equal", "switch_case",
    "tensor_array_to_tensor", "while_loop",
]  # fmt: skip

__getattr__ = _missing(__name__)

equal, not_equal, less_than, less_equal, greater_than, greater_equal = (
    vars(_math)[name] for name in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
)


def is_empty(x, name=None):
    """Whether x has no elements: a bool tensor."""
    import proa

    return proa.is_empty(x)


def Assert(cond, data=None, summarize=20, name=None):
    """An error of the run, AssertionError, unless all elements of a bool tensor are true; part of what is saved.

    Args:
        cond (Tensor): bool.
        data (list[Tensor], optional): whose elements the error shows.
        summarize (int): how many of each; all if negative.
        name (str, optional): accepted.

    Raises:
        AssertionError: it does not hold: when the program runs.
        TypeError: cond is not bool.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [2])
        ...     proa.fluid.layers.Assert((x > 0).all(), [x])
        >>> proa.static.Executor().run(main, feed={"x": np.array([-1, 2], "float32")}, fetch_list=[])
        Traceback (most recent call last):
        AssertionError...
    """
    _reports.assertion(cond, "", () if data is None else data, summarize)
