"""Pieces of tensors: what one process has of a tensor that processes hold together.

A tensor may be divided along an axis (tensor parallel layers): a process has a box of it. The box may be divided further
into runs of its elements, one after the other (sharding of states, gradients and parameters).
"""

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Piece", "local", "of_parameter", "overlap", "whole"]


class Piece(NamedTuple):
    """A box of a tensor, and the run of the box's elements that is here.

    Attributes:
        shape (tuple): of the whole tensor.
        offset, size (tuple): of the box.
        begin, end (int): the run.
        padded (int): how long the run is in memory, with zeros at its end; None: the box itself is there.
    """

    shape: tuple
    offset: tuple
    size: tuple
    begin: int
    end: int
    padded: "int | None" = None

    @property
    def is_box(self):
        """Whether all of the box is here."""
        return self.begin == 0 and self.end == math.prod(self.size)


def whole(shape):
    """The piece of a process that has all of a tensor."""
    shape = tuple(shape)
    return Piece(shape, (0,) * len(shape), shape, 0, math.prod(shape))


def of_parameter(parameter):
    """The piece that a parameter is, by what its layer and the optimizer have noted on it."""
    size = list(getattr(parameter, "whole_shape", parameter.shape))
    shape, offset = list(size), [0] * len(size)
    group = getattr(parameter, "split_group", None)
    if group is not None and group.nranks > 1:
        axis = parameter.split_axis
        shape[axis], offset[axis] = size[axis] * group.nranks, size[axis] * group.rank
    count = math.prod(size)
    group = getattr(parameter, "part_group", None)
    if group is None:
        return Piece(tuple(shape), tuple(offset), tuple(size), 0, count)
    length = -(-count // group.nranks)
    begin = min(count, group.rank * length)
    return Piece(tuple(shape), tuple(offset), tuple(size), begin, min(count, begin + length), length)


def overlap(a, b):
    """(slices in a's box, slices in b's box) of what two pieces' boxes have in common; None if it is nothing."""
    in_a, in_b = [], []
    for begin_a, size_a, begin_b, size_b in zip(a.offset, a.size, b.offset, b.size):
        begin, end = max(begin_a, begin_b), min(begin_a + size_a, begin_b + size_b)
        if begin >= end:
            return None
        in_a.append(slice(begin - begin_a, end - begin_a))
        in_b.append(slice(begin - begin_b, end - begin_b))
    return tuple(in_a), tuple(in_b)


def local(box, piece):
    """What a process has in memory of a box's elements."""
    if piece.padded is None:
        return box
    run = np.zeros([piece.padded], box.dtype)
    run[: piece.end - piece.begin] = box.reshape(-1)[piece.begin : piece.end]
    return run
