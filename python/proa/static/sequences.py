"""Sequences of different lengths, one after another in the rows of a tensor: how long they are, and where each row is.

What 1.x called a LoD is here a tensor of lengths beside the rows. A program knows the lengths by the size of the rows: an input
with `lod_level` brings them, and every value with as many rows as that input (its embedding, a layer of it) has its sequences, for
sizes have an identity (proa.framework.size). Functions that make other sequences (static.nn.sequence_expand) say so of their results.
"""

from functools import cache, cached_property
from numbers import Integral

from proa import _C
from proa.framework.requirements import require
from proa.framework.size import Size

_MOST_LEVELS = 8

__all__ = ["Layout", "declare", "layout_of", "lengths_name", "levels_of", "note"]


def lengths_name(name, level):
    """What the input is called that takes the lengths of a level of input `name`."""
    return f"{name}@LENGTHS{level}"


def declare(name, tensor, lod_level):
    """Gives an input of the default main program inputs for the lengths of its sequences, outermost level first."""
    from proa.static.program import default_main_program

    if type(lod_level) is not int or not 0 < lod_level <= _MOST_LEVELS:
        raise _C.located(ValueError(f"data: lod_level must be an int from 0 to {_MOST_LEVELS}; it is {lod_level!r}"))
    main = default_main_program()
    levels = []
    for level in range(lod_level):
        lengths = main._program.add_input(lengths_name(name, level), [-1], _C.int64)
        lengths.name = lengths_name(name, level)
        levels.append(lengths)
    main._leveled[name] = lod_level
    note(tensor, levels)


def _table(tensor):
    """The lengths that the tensor's program knows, by the name of a size; None of what is no Program's."""
    from proa.static.program import default_main_program
    from proa.static.scope import programs

    own, main = _C.program_of(tensor), default_main_program()
    if main._program is own:
        return main._levels
    return next((program._levels for program in list(programs) if program._program is own), None)


def _rows(tensor):
    """What the lengths of a value of a program are kept by: the name of its number of rows; where that is known, the value."""
    if not _C.is_symbolic(tensor) or not tensor.shape:
        return None
    if isinstance(tensor.shape[0], Size):
        return _C.dim_name(tensor, 0)
    return "value", _C.program_of(tensor).value_number(tensor)


def note(tensor, levels):
    """The rows of a value of a program are sequences of these lengths (a list of int64 tensors, the last for the rows)."""
    rows = _rows(tensor)
    table = _table(tensor) if rows is not None else None
    if table is not None and levels:
        table[rows] = list(levels)


def as_first_of(result, inputs):
    """A result whose rows are those of several inputs put together: with the sequences of the first that has any."""
    if not levels_of(result):
        note(result, next((levels for x in inputs if (levels := levels_of(x))), []))
    return result


def as_rows_of(result, x):
    """A result that has a row for each row of x: with the same number of rows, by name, and the same sequences."""
    if _C.is_symbolic(result) and _C.is_symbolic(x) and isinstance(x.shape[0], Size):
        result = _C.ops.reshape(result, [x.shape[0], *result.shape[1:]])
    return result


def levels_of(tensor):
    """The lengths of the sequences that the rows are, outermost level first; [] where nothing is known of any."""
    rows = _rows(tensor)
    table = _table(tensor) if rows is not None else None
    if not table:
        return []
    found = table.get(rows)
    if found is None and isinstance(tensor.shape[0], Size):
        found = table[rows] = _inherited(tensor, table)
    return list(found or ())


def _inherited(tensor, table):
    """The lengths of what a value was computed from element by element: where inputs of one length each meet, their sizes have
    different names, and the result has a new one."""
    program = _C.program_of(tensor)
    makers, waiting, seen = _makers(program), [program.value_number(tensor)], set()
    while waiting:
        number = waiting.pop(0)
        if number in seen:
            continue
        seen.add(number)
        operand = program.value(number)
        found = table.get(_rows(operand)) if operand.shape and isinstance(operand.shape[0], Size) else None
        if found:
            return found
        call = makers.get(number)
        if call is not None and call.op in _elementwise():
            waiting += [n for n in call.values() if n not in seen and len(program.value(n).shape) == len(operand.shape)]
    return ()


def _makers(program):
    """The calls of a program by the numbers of their results."""
    from proa.static.replay import parse

    makers = {}
    for call in parse(str(program))[1]:
        for part in call.results:
            makers.update((n, call) for n in (part if isinstance(part, list) else [part]))
    return makers


@cache
def _elementwise():
    """Ops that compute element by element."""
    return {op["name"] for op in _C.op_registry() if op["fuse"] == "pointwise"}


def as_lengths(op, lengths, name="lengths"):
    """A list, array or integer tensor [sequences] or [sequences, 1] as int64 [sequences]."""
    if isinstance(lengths, (list, tuple)) and all(isinstance(n, Integral) for n in lengths):
        lengths = _C.to_tensor(lengths, dtype="int64")
    else:
        lengths = _C.tensor_argument(lengths, op, name)
    if lengths.is_floating_point() or lengths.dtype == _C.bool or len(lengths.shape) not in (1, 2):
        raise _C.located(
            TypeError(f"{op}: {name} must hold integers, [sequences]; it is {list(lengths.shape)} {lengths.dtype.name}")
        )
    return _C.ops.reshape(lengths, [-1]).astype("int64")


def layout_of(op, x, lengths=None, level=-1, name="input"):
    """The Layout of the sequences in x: of `lengths`, or of what its program knows.

    Raises:
        ValueError: nothing is known; or the lengths are not those of the rows.
    """
    _C.tensor_argument(x, op, name)
    if not x.shape:
        raise _C.located(ValueError(f"{op}: {name} must have rows, the first dim; it is [] {x.dtype.name}"))
    if lengths is None:
        levels = levels_of(x)
        if not levels:
            raise _C.located(
                _C.ArgumentTypeError(
                    f"(InvalidArgument) {op}: nothing is known of sequences in {name} {list(x.shape)} {x.dtype.name}; lengths must be given, "
                    "an int64 tensor [sequences], or the input be declared by static.data(..., lod_level=1)"
                )
            )
        return Layout(levels[level])
    lengths = as_lengths(op, lengths)
    if level == -1:
        shape = _C.ops.shape(x)
        total = _C.ops.sum(lengths, [0], keepdim=True) == _C.ops.slice(shape, [0], [0], [1])
        says = f"{op}: lengths {{}} are not those of the rows of {name}, whose shape is {{}}"
        lengths = require(lengths, _C.ops.concat([lengths >= 0, total], 0), says, lengths, shape)
    return Layout(lengths)


def count(like):
    """0, 1, 2 ... for the elements of a tensor of one dim."""
    return _C.ops.cumsum(_C.ops.full_like(like, 1), 0) - 1


def take(rows, index):
    """rows[index], for an index of any dims."""
    return _C.ops.gather_nd(rows, _C.ops.unsqueeze(index, [-1]))


def take_or(rows, index, valid, value):
    """rows[index] where `valid`, elsewhere rows of `value`, which gets no gradient."""
    other = _C.ops.full([1, *rows.shape[1:]], value, rows.dtype)
    index = _C.ops.where(valid, index + 1, _C.ops.full_like(index, 0))
    return take(_C.ops.concat([other, rows], 0), index)


class Layout:
    """Where the rows of sequences are that stand one after another.

    Args:
        lengths (Tensor): int64, [sequences].
    """

    def __init__(self, lengths):
        self.lengths = lengths

    @cached_property
    def begins(self):
        """The first row of each sequence."""
        return _C.ops.cumsum(self.lengths, 0) - self.lengths

    @cached_property
    def sequence(self):
        """For each row, which sequence it belongs to."""
        from proa.tensor.creation import arange

        rows = arange(0, _C.ops.sum(self.lengths), 1, "int64")
        return _C.ops.searchsorted(_C.ops.cumsum(self.lengths, 0), rows, False, True)

    @cached_property
    def position(self):
        """For each row, its place in its sequence."""
        return count(self.sequence) - self.of_sequence(self.begins)

    def of_sequence(self, values):
        """For each row, the value of its sequence."""
        return take(values, self.sequence)

    def longest(self, least=0):
        """The length of the longest sequence, and not less than `least`: a 0-d tensor."""
        return _C.ops.max(_C.ops.concat([self.lengths, _C.ops.full([1], least, _C.int64)], 0))

    def steps(self, size):
        """0, 1 ... size - 1 as [1, size], and which of them are rows of which sequence: bool [sequences, size]."""
        from proa.tensor.creation import arange

        steps = _C.ops.unsqueeze(arange(0, size, 1, "int64"), [0])
        return steps, steps < _C.ops.unsqueeze(self.lengths, [1])

    def padded(self, rows, value, size=None):
        """The sequences side by side, [sequences, size, ...], filled up by `value`; `size` is that of the longest (1 at least)."""
        steps, valid = self.steps(self.longest(1) if size is None else size)
        return take_or(rows, _C.ops.unsqueeze(self.begins, [1]) + steps, valid, value)

    def unpadded(self, padded):
        """The rows of [sequences, size, ...]."""
        index = _C.ops.stack([self.sequence, self.position], 1)
        return _C.ops.gather_nd(padded, index)
