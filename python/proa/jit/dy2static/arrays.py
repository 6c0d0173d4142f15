"""TensorArray: the list that a loop of the program appends to."""

import dataclasses

from proa import _C
from proa.framework import reports
from proa.jit.dy2static import lost
from proa.jit.dy2static.values import described, is_number, known_sizes, tensor_of


class TensorArray:
    """Tensors of one dtype, as many as only the run of the program knows: an EvenArray or a RaggedArray.

    What a list is in a converted function after a loop that depends on a tensor appended to it. It is read as a list is, and
    `paddle.stack`, `concat` and the `array_` functions take it; who gets it from a replay gets a list.
    """

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def pop(self, index=-1):
        item = self[index]
        if isinstance(index, int) and index == -1:
            self.drop_last()
        else:
            del self[index]
        return item

    def clear(self):
        del self[:]

    def copy(self):
        return self[:]

    def __getattr__(self, name):
        if not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'", name=name, obj=self)
        raise _C.located(
            NotImplementedError(
                f"{name}: of a list whose number of items depends on a tensor; it is read as a list is, and append, extend, "
                f"insert, pop, clear, copy, `del` and setitem change it; use the tensor paddle.stack(list) for {name}"
            )
        )

    def __len__(self):
        size = self.count
        if type(size) is int:
            return size
        raise _C.located(
            RuntimeError("len: of a list that a loop of the program made is known only when the program runs")
        )

    def __iter__(self):
        return iter(self.stacked)

    def _fitting(self, value, dtype):
        value = tensor_of(value) if is_number(value) else value
        if not isinstance(value, _C.Tensor) or value.dtype != dtype:
            kind = value.dtype.name if isinstance(value, _C.Tensor) else type(value).__name__
            raise _C.located(
                TypeError(
                    f"append: the number of its items depends on a tensor, and it holds tensors of {dtype.name}, not {kind}; give "
                    f"tensors of {dtype.name}"
                )
            )
        return value


@dataclasses.dataclass(eq=False)
class EvenArray(TensorArray):
    """Tensors of one shape.

    Args:
        stacked (Tensor): [n, ...].
    """

    stacked: _C.Tensor

    @property
    def contents(self):
        """What it holds, to be carried by a statement of the program."""
        return self.stacked

    @contents.setter
    def contents(self, value):
        self.stacked = value

    @property
    def count(self):
        """The number of items, a size."""
        return self.stacked.shape[0]

    @property
    def like(self):
        """A tensor as its items are."""
        return self.stacked[0]

    def append(self, value):
        row = _C.ops.unsqueeze(self._fitting(value, self.stacked.dtype), [0])
        empty = type(self.stacked.shape[0]) is int and self.stacked.shape[0] == 0
        self.stacked = row if empty else _C.ops.concat([self.stacked, row], 0)

    def drop_last(self):
        self.stacked = self.stacked[:-1]

    def insert(self, index, value):
        row = _C.ops.unsqueeze(self._fitting(value, self.stacked.dtype), [0])
        if type(self.stacked.shape[0]) is int and self.stacked.shape[0] == 0:
            self.stacked = row
        else:
            self.stacked = _C.ops.concat([self.stacked[:index], row, self.stacked[index:]], 0)

    def __delitem__(self, index):
        if not isinstance(index, slice):
            self.stacked = _C.ops.concat([self.stacked[:index], self._after(index)], 0)
            return
        if index.step not in (None, 1):
            raise _C.located(
                NotImplementedError("del: of a list whose number of items depends on a tensor, only slices of step 1")
            )
        first = self.stacked[:0] if index.start is None else self.stacked[: index.start]
        last = self.stacked[:0] if index.stop is None else self.stacked[index.stop :]
        self.stacked = _C.ops.concat([first, last], 0)

    def _after(self, index):
        """The items after one."""
        if isinstance(index, int) and index == -1:
            return self.stacked[:0]
        return self.stacked[index + 1 :]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return EvenArray(self.stacked[index])
        return self.stacked[index]

    def __setitem__(self, index, value):
        stacked = _C.ops.assign(self.stacked)
        stacked[index] = value
        self.stacked = stacked


@dataclasses.dataclass(eq=False)
class RaggedArray(TensorArray):
    """Tensors that differ in their first dim, such as the boxes that stay of each class.

    Args:
        rows (Tensor): those of all items, one after another.
        lengths (Tensor): int64, [n]: how many each item has.
    """

    rows: _C.Tensor
    lengths: _C.Tensor

    @property
    def contents(self):
        return self.rows, self.lengths

    @contents.setter
    def contents(self, value):
        self.rows, self.lengths = value

    @property
    def count(self):
        return self.lengths.shape[0]

    @property
    def like(self):
        return self.rows

    @property
    def stacked(self):
        """The items as one tensor, [n, ...]: they must be of one size then, else the run fails."""
        zero = _C.ops.full([1], 0, _C.int64)
        size = _C.ops.max(_C.ops.concat([self.lengths, zero], 0), 0)
        reports.assertion(
            (self.lengths == size).all(),
            "the tensors of a list differ in their first dim; only paddle.concat along it takes them",
        )
        sizes = [_C.ops.shape(self.lengths).astype("int64"), _C.ops.reshape(size, [1])]
        rest = _C.ops.shape(self.rows)[1:].astype("int64")
        return _C.ops.reshape(self.rows, _C.ops.concat([*sizes, rest], 0))

    def append(self, value):
        value = self._fitting(value, self.rows.dtype)
        self.rows = _C.ops.concat([self.rows, value], 0)
        self.lengths = _C.ops.concat([self.lengths, _C.ops.shape(value)[:1].astype("int64")], 0)

    def drop_last(self):
        left = _C.ops.sum(self.lengths[:-1])
        self.rows, self.lengths = self.rows[:left], self.lengths[:-1]

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise _C.located(
                NotImplementedError(
                    "a slice of a list whose number of items depends on a tensor, and whose tensors differ in their first dim; "
                    "take single items, or paddle.concat(list)"
                )
            )
        ends = _C.ops.cumsum(self.lengths, 0)
        end = ends[index]
        return self.rows[end - self.lengths[index] : end]

    def __setitem__(self, index, value):
        raise _C.located(
            NotImplementedError(
                "setitem: of a list whose number of items depends on a tensor, and whose tensors differ in their first dim; append "
                "to a new list, or pad the tensors to one size"
            )
        )

    def insert(self, index, value):
        raise self._refused("insert")

    def __delitem__(self, index):
        raise self._refused("del")

    @staticmethod
    def _refused(what):
        return _C.located(
            NotImplementedError(
                f"{what}: of a list whose number of items depends on a tensor, and whose tensors differ in their first dim; pad the "
                "tensors to one size, or append to a new list"
            )
        )


def grows(container, before, after):
    """Whether a list got more or fewer items, or became an array."""
    return isinstance(container, list) and (len(after) != len(before) or any(isinstance(v, Moved) for v in after))


def _rewrite(others):
    """What to write in the place of a list that holds these besides tensors."""
    if not others:
        return "use a list for each kind"
    if isinstance(others[0], (list, tuple)):
        return f"append each part of a {type(others[0]).__name__} to a list of its own"
    if isinstance(others[0], dict):
        return "append the value of each key to a list of its own"
    return lost.rewrite(others[0])


def element(name, after, where):
    """The item that stands for those of a list that a turn appended to; an error where they are not alike."""
    if any(isinstance(v, Moved) for v in after):
        return next(v.like for v in after if isinstance(v, Moved))
    items = [tensor_of(v) if is_number(v) else v for v in after]
    kinds = {(t.dtype.name, len(t.shape)) for t in items if isinstance(t, _C.Tensor)}
    others = [v for v in items if not isinstance(v, _C.Tensor)]
    if len(kinds) != 1 or others:
        raise _C.located(
            TypeError(
                f"{where}: how many items {name} has depends on a tensor, so it must hold tensors of one dtype and number of "
                f"dims; it holds {', '.join(dict.fromkeys(described(v) for v in items))}; {_rewrite(others)}"
            )
        )
    return next((t for t in items if varies(t)), items[-1])


def varies(tensor):
    """Whether the first dim of a tensor is a number that the run computes, and not one of the inputs' sizes."""
    if not _C.is_symbolic(tensor) or not tensor.shape or type(tensor.shape[0]) is int:
        return False
    program = _C.program_of(tensor)
    inputs = (program.find(name) for name in program.input_names)
    return all(_C.dim_name(tensor, 0) != _C.dim_name(t, i) for t in inputs for i in range(len(t.shape)))


def of_list(items, like):
    """The array of a list; an empty one for elements like a tensor."""
    items = [tensor_of(v, like.dtype) for v in items]
    if varies(like) and all(type(n) is int for n in like.shape[1:]):
        array = RaggedArray(_C.ops.full([0, *like.shape[1:]], 0, like.dtype), _C.ops.full([0], 0, _C.int64))
        array.extend(items)
        return array
    if items:
        return EvenArray(_C.ops.stack(items, 0))
    return EvenArray(_C.ops.full([0, *known_sizes(like)], 0, like.dtype))


class Moved:
    """Stands in a list that became a TensorArray, for those who hold the list by another name."""

    def __init__(self, like):
        self.like = like

    def __repr__(self):
        return "items of a list that a loop of the program appended to; use the name that the loop used"
