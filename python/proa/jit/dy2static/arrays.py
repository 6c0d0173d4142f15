"""TensorArray: the list that a loop of the program appends to."""

import dataclasses

from proa import _C
from proa.jit.dy2static.values import is_number, known_sizes, tensor_of


@dataclasses.dataclass(eq=False)
class TensorArray:
    """Tensors of one shape and dtype, as many as only the run of the program knows.

    What a list is in a converted function after a loop that depends on a tensor appended to it. It is read as a list is, and
    `paddle.stack`, `concat` and the `array_` functions take it; who gets it from a replay gets a list.

    Args:
        stacked (Tensor): [n, ...].
    """

    stacked: _C.Tensor

    def append(self, value):
        value = tensor_of(value) if is_number(value) else value
        if not isinstance(value, _C.Tensor) or value.dtype != self.stacked.dtype:
            kind = value.dtype.name if isinstance(value, _C.Tensor) else type(value).__name__
            raise _C.located(TypeError(f"append: the list holds tensors of {self.stacked.dtype.name}, not {kind}"))
        row = _C.ops.unsqueeze(value, [0])
        empty = type(self.stacked.shape[0]) is int and self.stacked.shape[0] == 0
        self.stacked = row if empty else _C.ops.concat([self.stacked, row], 0)

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def pop(self, index=-1):
        last = self[index]
        if not (isinstance(index, int) and index == -1):
            raise _C.located(NotImplementedError("pop: of a list that a loop of the program made, only the last item"))
        self.stacked = self.stacked[:-1]
        return last

    def __getitem__(self, index):
        if isinstance(index, slice):
            return TensorArray(self.stacked[index])
        return self.stacked[index]

    def __setitem__(self, index, value):
        stacked = _C.ops.assign(self.stacked)
        stacked[index] = value
        self.stacked = stacked

    def __len__(self):
        size = self.stacked.shape[0]
        if type(size) is int:
            return size
        raise _C.located(
            RuntimeError("len: of a list that a loop of the program made is known only when the program runs")
        )

    def __iter__(self):
        return iter(self.stacked)


def grows(container, before, after):
    """Whether a list got more items, or became an array."""
    return isinstance(container, list) and (len(after) > len(before) or any(isinstance(v, Moved) for v in after))


def element(name, before, after, where):
    """The item that stands for those of a list that a turn appended to; an error where they are not alike."""
    if any(isinstance(v, Moved) for v in after):
        return next(v.like for v in after if isinstance(v, Moved))
    items = [tensor_of(v) if is_number(v) else v for v in after]
    if any(a is not b for a, b in zip(before, after, strict=False)):
        raise _C.located(
            NotImplementedError(
                f"{where}: {name} is changed and grows in a loop that depends on a tensor; only append to it"
            )
        )
    kinds = {(t.dtype.name, len(t.shape)) for t in items if isinstance(t, _C.Tensor)}
    if len(kinds) != 1 or not all(isinstance(t, _C.Tensor) for t in items):
        raise _C.located(
            TypeError(
                f"{where}: {name} grows in a loop that depends on a tensor, so it must hold tensors of one dtype and shape"
            )
        )
    return items[-1]


def of_list(items, like):
    """The array of a list; an empty one for elements like a tensor."""
    items = [tensor_of(v, like.dtype) for v in items]
    if items:
        return TensorArray(_C.ops.stack(items, 0))
    return TensorArray(_C.ops.full([0, *known_sizes(like)], 0, like.dtype))


class Moved:
    """Stands in a list that became a TensorArray, for those who hold the list by another name."""

    def __init__(self, stacked):
        self.like = stacked[0]

    def __repr__(self):
        return "items of a list that a loop of the program appended to; use the name that the loop used"
