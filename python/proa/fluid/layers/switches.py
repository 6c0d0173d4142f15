"""Blocks of 1.x that are made where a condition holds: Switch, which assigns, and IfElse, which parts the rows of a batch."""

import contextlib

from proa import _C
from proa.fluid.layers.blocks import case as _case

__all__ = ["IfElse", "Switch"]


class Switch:
    """Of several blocks the first whose condition holds: what `assign`, `increment` and others write is written there alone.

    Blocks compute their values whether or not they are the one; what they write into tensors from outside counts.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     step = fluid.data("step", [1])
        ...     rate = fluid.layers.fill_constant([1], "float32", 0.0)
        ...     with fluid.layers.Switch() as switch:
        ...         with switch.case(step < 10.0):
        ...             _ = fluid.layers.assign(step * 0.01, rate)
        ...         with switch.default():
        ...             _ = fluid.layers.assign(step * 0.0 + 0.1, rate)
        >>> exe = fluid.Executor()
        >>> [round(exe.run(main, feed={"step": np.array([n], "float32")}, fetch_list=[rate])[0].item(), 3) for n in (5, 20)]
        [0.05, 0.1]
    """

    def __init__(self, name=None):
        self._before = None  # whether a case before holds

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    @contextlib.contextmanager
    def case(self, condition):
        """A block; `condition` is a bool tensor of one element."""
        condition = _C.tensor_argument(condition, "Switch.case", "condition")
        if condition.dtype != _C.bool:
            raise _C.located(TypeError(f"Switch.case: condition must be bool, not {condition.dtype.name}"))
        condition = _C.ops.reshape(condition, [])
        before = self._before
        holds = condition if before is None else _C.ops.logical_and(condition, _C.ops.logical_not(before))
        self._before = condition if before is None else _C.ops.logical_or(before, condition)
        with _case(holds):
            yield

    @contextlib.contextmanager
    def default(self):
        """The block of no case."""
        if self._before is None:
            raise _C.located(ValueError("Switch.default: there is no case before it"))
        with _case(_C.ops.logical_not(self._before)):
            yield


class IfElse:
    """Two blocks, for the rows where a condition holds and for the others; their outputs are put together row by row.

    Args:
        cond (Tensor): bool, [rows, 1] or [rows].

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     x = fluid.data("x", [None, 1])
        ...     choice = fluid.layers.IfElse(x > 0.0)
        ...     with choice.true_block():
        ...         choice.output(choice.input(x) * 10.0)
        ...     with choice.false_block():
        ...         choice.output(-choice.input(x))
        ...     y, = choice()
        >>> fluid.Executor().run(main, feed={"x": np.array([[1], [-2]], "float32")}, fetch_list=[y])[0].tolist()
        [[10.0], [2.0]]
    """

    def __init__(self, cond, name=None):
        cond = _C.tensor_argument(cond, "IfElse", "cond")
        if cond.dtype != _C.bool:
            raise _C.located(TypeError(f"IfElse: cond must be bool, [rows, 1], not {cond.dtype.name}"))
        flags = _C.ops.reshape(cond, [-1])
        self._rows = [_C.ops.reshape(_C.ops.nonzero(part), [-1]) for part in (flags, _C.ops.logical_not(flags))]
        self._outputs = [[], []]
        self._block = None

    @contextlib.contextmanager
    def _in(self, number):
        if self._block is not None:
            raise _C.located(RuntimeError("IfElse: a block in the other one"))
        self._block = number
        try:
            yield
        finally:
            self._block = None

    def true_block(self):
        """For the rows where the condition holds."""
        return self._in(0)

    def false_block(self):
        """For the other rows."""
        return self._in(1)

    def _need_block(self, what):
        if self._block is None:
            raise _C.located(RuntimeError(f"IfElse.{what}: belongs into a block"))

    def input(self, x):
        """The rows of x that are those of the block."""
        self._need_block("input")
        return _C.ops.gather(x, self._rows[self._block], 0)

    def output(self, *outs):
        """What the block gives, with a row for each of its rows."""
        self._need_block("output")
        self._outputs[self._block] += outs

    def __call__(self):
        """The outputs, a list: with the rows of both blocks in the order of the condition's."""
        first, second = self._outputs
        if len(first) != len(second) or not first:
            raise _C.located(
                ValueError(f"IfElse: the blocks give {len(first)} and {len(second)} outputs; they must be as many")
            )
        places = _C.ops.concat(self._rows, 0)
        order = _C.ops.argsort(places)
        return [_C.ops.gather(_C.ops.concat([a, b], 0), order, 0) for a, b in zip(first, second, strict=True)]
