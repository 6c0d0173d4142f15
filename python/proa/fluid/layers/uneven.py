"""Items of an array that differ in how many rows they have, with their sequences: all in a few tensors that a loop carries."""

from proa import _C
from proa.fluid.layers.blocks import blocks
from proa.static.sequences import levels_of, note

__all__ = ["UnevenItems"]


class _Cell:
    """One tensor that the blocks of loops carry from turn to turn."""

    def __init__(self, value, born_in):
        self.stacked, self.born_in = value, born_in
        self.touch()

    def touch(self):
        for block in blocks():
            block.note_array(self)
        return self.stacked

    def become(self, value):
        self.touch()
        self.stacked = value


def _number_of_rows(x):
    return _C.ops.shape(x)[:1].astype("int64")


def _opened(x):
    """x, of whose number of rows nothing is known: in a later turn there are others."""
    first = _C.ops.flatten(x, 1, -1)[:, 0] if len(x.shape) > 1 else x
    numbers = _C.ops.cumsum(_C.ops.full_like(first, 1).astype("int64"), 0)
    return _C.ops.gather(x, _C.ops.reshape(_C.ops.nonzero(numbers > 0), [-1]), 0)


class _Parts:
    """Tensors one after another, and how many rows each has."""

    def __init__(self, items, like, born_in):
        empty = like[:0]
        none = _C.ops.full([0], 0, _C.int64)
        self.rows = _Cell(_opened(_C.ops.concat([empty, *items], 0)), born_in)
        self.counts = _Cell(_opened(_C.ops.concat([none, *map(_number_of_rows, items)], 0)), born_in)

    def read(self, i):
        counts = self.counts.touch()
        begin = _C.ops.sum(counts[:i])
        return self.rows.touch()[begin : begin + counts[i]]

    def write(self, i, x):
        counts, rows = self.counts.touch(), self.rows.touch()
        begin = _C.ops.sum(counts[:i])
        end = begin + _C.ops.sum(counts[i : i + 1])
        self.rows.become(_C.ops.concat([rows[:begin], x.astype(rows.dtype), rows[end:]], 0))
        self.counts.become(_C.ops.concat([counts[:i], _number_of_rows(x), counts[i + 1 :]], 0))


class UnevenItems:
    """The items of an array.

    Args:
        items (list of Tensor): of one dtype, alike but for their first dims.
        like (Tensor): such as they are, if there are none.
        born_in (tuple): the blocks in which the array was made: these need not carry it.
    """

    def __init__(self, items, like, born_in):
        like = items[0] if items else like
        levels = len(levels_of(like))
        self._items = _Parts(items, like, born_in)
        none = _C.ops.full([0], 0, _C.int64)
        self._levels = [_Parts([levels_of(x)[k] for x in items], none, born_in) for k in range(levels)]

    @property
    def rows(self):
        return self._items.rows

    @property
    def counts(self):
        return self._items.counts

    @property
    def levels(self):
        """(lengths of all items one after another, how many each item has) for each level."""
        return [(part.rows.touch(), part.counts.touch()) for part in self._levels]

    def length(self):
        return _number_of_rows(self.counts.touch())

    def read(self, i):
        found = self._items.read(i)
        note(found, [part.read(i) for part in self._levels])
        return found

    def write(self, i, x):
        levels = levels_of(x) if self._levels else []  # where the first items have no sequences, none are kept
        if len(levels) != len(self._levels):
            raise _C.located(
                ValueError(
                    f"array_write: the items of the array have {len(self._levels)} levels of sequences, not {len(levels)}"
                )
            )
        self._items.write(i, x)
        for part, lengths in zip(self._levels, levels, strict=True):
            part.write(i, lengths)
