"""TensorArray: the list that a loop of the program appends to."""

import dataclasses

from proa import _C
from proa.framework import reports
from proa.framework.size import Size
from proa.jit.dy2static import lost
from proa.jit.dy2static.item_kinds import Form, Kind, differing, parts_of, together
from proa.jit.dy2static.values import Counted, described, is_number, known_sizes, tensor_of


class TensorArray(Counted):
    """Tensors of one dtype, as many as only the run of the program knows: an EvenArray or a RaggedArray; or tuples of such.

    What a list is in a converted function after a loop that depends on a tensor appended to it. It is read as a list is, and
    `paddle.stack`, `concat` and the `array_` functions take it; who gets it from a replay gets a list.
    """

    def __repr__(self):
        return f"a list of {described(self[0])}"

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

    def sort(self, *, key=None, reverse=False):
        from proa.jit.dy2static.ordering import ordered

        self.contents = ordered("sort", self, key, reverse).contents

    def __getattr__(self, name):
        if not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'", name=name, obj=self)
        raise _C.located(
            NotImplementedError(
                f"{name}: of a list whose number of items depends on a tensor; it is read as a list is, and append, extend, "
                f"insert, pop, clear, copy, sort, `del` and setitem change it; use the tensor paddle.stack(list) for {name}"
            )
        )

    def __len__(self):
        size = self.count
        if type(size) is int:
            return size
        raise _C.located(
            RuntimeError("len: of a list that a loop of the program made is known only when the program runs")
        )

    def truth(self):
        """`bool` of it in a function that is converted: a tensor where that depends on the run."""
        return self.count.truth() if isinstance(self.count, Size) else self.count > 0

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


@dataclasses.dataclass(eq=False, repr=False)
class EvenArray(TensorArray):
    """Tensors of one shape.

    Args:
        stacked (Tensor): [n, ...].
    """

    stacked: _C.Tensor

    wish = None  # names the list in wishes.py

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
    def kind(self):
        """What its items are like."""
        return Kind(Form(self.stacked.dtype, self.stacked.shape[1:]))

    def now(self):
        """What it holds now, whatever becomes of it."""
        return EvenArray(self.stacked)

    def append(self, value):
        value = self._fitting(value, self.stacked.dtype)
        axis = differing([self.stacked.shape[1:], value.shape])
        if axis is not None and self.wish is not None:
            error = _C.located(ValueError(f"append: the tensors of the list differ in dim {axis}"))
            error._proa_wish = ("ragged", *self.wish, axis)
            raise error
        row = _C.ops.unsqueeze(value, [0])
        empty = type(self.stacked.shape[0]) is int and self.stacked.shape[0] == 0
        self.stacked = row if empty else _C.ops.concat([self.stacked, row], 0)

    def taken(self, order):
        """Items of it, by their numbers: int64 [m]."""
        return EvenArray(_C.ops.gather(self.stacked, order, 0))

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


@dataclasses.dataclass(eq=False, repr=False)
class RaggedArray(TensorArray):
    """Tensors that differ in one dim, such as the boxes that stay of each class.

    Args:
        rows (Tensor): those of all items, one after another.
        lengths (Tensor): int64, [n]: how many each item has.
        axis (int): the dim.
    """

    rows: _C.Tensor
    lengths: _C.Tensor
    axis: int = 0

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
    def kind(self):
        return Kind(self.rows, self.axis)

    def now(self):
        return RaggedArray(self.rows, self.lengths, self.axis)

    @property
    def stacked(self):
        """The items as one tensor, [n, ...]: they must be of one size then, else the run fails."""
        zero = _C.ops.full([1], 0, _C.int64)
        size = _C.ops.max(_C.ops.concat([self.lengths, zero], 0), 0)
        which = "their first dim" if self.axis == 0 else f"dim {self.axis}"
        reports.assertion(
            (self.lengths == size).all(),
            f"the tensors of a list differ in {which}; only paddle.concat along it takes them",
        )
        sizes = [_C.ops.shape(self.lengths).astype("int64"), _C.ops.reshape(size, [1])]
        dims = len(self.rows.shape)
        rows = _C.ops.transpose(self.rows, moved(self.axis, 0, dims)) if self.axis else self.rows
        rest = _C.ops.shape(rows)[1:].astype("int64")
        rows = _C.ops.reshape(rows, _C.ops.concat([*sizes, rest], 0))
        return _C.ops.transpose(rows, moved(1, self.axis + 1, dims + 1)) if self.axis else rows

    def append(self, value):
        value = self._fitting(value, self.rows.dtype)
        self.rows = _C.ops.concat([self.rows, value], self.axis)
        self.lengths = _C.ops.concat([self.lengths, _size(value, self.axis)], 0)

    def _rows(self, begin, end):
        return self.rows[(slice(None),) * self.axis + (slice(begin, end),)]

    def drop_last(self):
        left = _C.ops.sum(self.lengths[:-1])
        self.rows, self.lengths = self._rows(None, left), self.lengths[:-1]

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise _C.located(
                NotImplementedError(
                    "a slice of a list whose number of items depends on a tensor, and whose tensors differ in a dim; "
                    "take single items, or paddle.concat(list)"
                )
            )
        ends = _C.ops.cumsum(self.lengths, 0)
        end = ends[index]
        return self._rows(end - self.lengths[index], end)

    def __setitem__(self, index, value):
        raise _C.located(
            NotImplementedError(
                "setitem: of a list whose number of items depends on a tensor, and whose tensors differ in a dim; append "
                "to a new list, or pad the tensors to one size"
            )
        )

    def taken(self, order):
        raise self._refused("order")

    def insert(self, index, value):
        raise self._refused("insert")

    def __delitem__(self, index):
        raise self._refused("del")

    @staticmethod
    def _refused(what):
        return _C.located(
            NotImplementedError(
                f"{what}: of a list whose number of items depends on a tensor, and whose tensors differ in a dim; pad the "
                "tensors to one size, or append to a new list"
            )
        )


@dataclasses.dataclass(eq=False, repr=False)
class TupleArray(TensorArray):
    """Tuples or dicts of tensors: an array for each part.

    Args:
        keys: as in Kind.
    """

    parts: tuple
    keys: object = None

    @property
    def contents(self):
        return tuple(part.contents for part in self.parts)

    @contents.setter
    def contents(self, value):
        for part, contents in zip(self.parts, value, strict=True):
            part.contents = contents

    @property
    def count(self):
        return self.parts[0].count

    @property
    def kind(self):
        return Kind(tuple(part.kind for part in self.parts), keys=self.keys)

    def now(self):
        return TupleArray(tuple(part.now() for part in self.parts), self.keys)

    @property
    def stacked(self):
        raise _C.located(
            NotImplementedError(
                "a list of tuples or dicts, of which only the run of the program knows how many there are, is no tensor; go over it "
                "by a `for`, or append each part to a list of its own"
            )
        )

    def _apart(self, value):
        parts, keys = parts_of([value])
        is_one = (
            set(keys) == set(self.keys)
            if isinstance(self.keys, tuple) and isinstance(keys, tuple)
            else keys == self.keys
        )
        if parts is not None and is_one and len(parts) == len(self.parts):
            values = map(value.get, self.keys) if isinstance(keys, tuple) else [v for (v,) in parts]
            return zip(self.parts, values, strict=True)
        what = (
            f"dicts of {', '.join(map(repr, self.keys))}"
            if isinstance(self.keys, tuple)
            else f"{(self.keys or tuple).__name__}s of {len(self.parts)}"
        )
        raise _C.located(
            TypeError(
                f"append: the number of its items depends on a tensor, and it holds {what}, not {described(value)}"
            )
        )

    def append(self, value):
        for part, item in self._apart(value):
            part.append(item)

    def insert(self, index, value):
        for part, item in self._apart(value):
            part.insert(index, item)

    def taken(self, order):
        return TupleArray(tuple(part.taken(order) for part in self.parts), self.keys)

    def __repr__(self):
        kind = "dict" if isinstance(self.keys, tuple) else (self.keys or tuple).__name__
        return f"a list of {kind}s of {len(self.parts)}"

    def drop_last(self):
        for part in self.parts:
            part.drop_last()

    def __delitem__(self, index):
        for part in self.parts:
            del part[index]

    def __getitem__(self, index):
        found = [part[index] for part in self.parts]
        return TupleArray(tuple(found), self.keys) if isinstance(index, slice) else together(found, self.keys)

    def __setitem__(self, index, value):
        for part, item in self._apart(value):
            part[index] = item


def moved(begin, end, dims):
    """The order of dims with the one at `begin` at `end`."""
    order = [i for i in range(dims) if i != begin]
    order.insert(end, begin)
    return order


def _size(tensor, axis):
    """Its size along a dim: int64, [1]."""
    return _C.ops.shape(tensor)[axis : axis + 1].astype("int64")


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
        return "give all its dicts the same keys, or append the value of each key to a list of its own"
    return lost.rewrite(others[0])


def element(name, after, where):
    """The Kind of the items of a list that a turn appended to; an error where they are not alike."""
    if any(isinstance(v, Moved) for v in after):
        return next(v.kind for v in after if isinstance(v, Moved))
    parts, keys = parts_of(after)
    if parts:
        return Kind(tuple(element(name, part, where) for part in parts), keys=keys)
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
    axis = differing([t.shape for t in items], may=True)
    if axis is not None:
        return Kind(items[-1], axis)
    axes = [(t, _made_axis(t)) for t in items]
    return next((Kind(t, axis) for t, axis in axes if axis is not None), Kind(items[-1]))


def _made_axis(tensor):
    """The dim of a tensor that is a number which the run computes, and not one of the inputs' sizes; of several none but the first."""
    if not _C.is_symbolic(tensor):
        return None
    program = _C.program_of(tensor)
    inputs = [program.find(name) for name in program.input_names]
    known = {_C.dim_name(t, i) for t in inputs for i in range(len(t.shape))}
    made = [i for i, n in enumerate(tensor.shape) if type(n) is not int and _C.dim_name(tensor, i) not in known]
    return made[0] if made[:1] == [0] or len(made) == 1 else None


def of_list(items, kind, wish=None):
    """The array of a list; an empty one for items of a Kind. `wish`: what an error says that finds them to differ in a dim."""
    if isinstance(kind.like, tuple):
        parts = parts_of(items)[0] or [[]] * len(kind.like)
        return TupleArray(tuple(of_list(part, k) for part, k in zip(parts, kind.like, strict=True)), kind.keys)
    like, axis = kind.like, kind.axis
    items = [tensor_of(v, like.dtype) for v in items]
    if axis is not None and (items or all(type(n) is int for n in kind.other_sizes())):
        if items:
            lengths = _C.ops.concat([_size(t, axis) for t in items], 0)
            return RaggedArray(_C.ops.concat(items, axis), lengths, axis)
        sizes = [0 if i == axis else n for i, n in enumerate(like.shape)]
        return RaggedArray(_C.ops.full(sizes, 0, like.dtype), _C.ops.full([0], 0, _C.int64), axis)
    stacked = _C.ops.stack(items, 0) if items else _C.ops.full([0, *known_sizes(like)], 0, like.dtype)
    made = EvenArray(stacked)
    made.wish = wish
    return made


def kind_of(value, where):
    """The Kind of the items of an array or list; None of a list without items."""
    if isinstance(value, TensorArray):
        return value.kind
    return element("the list", value, where) if value else None


def lifted(value, kind):
    """A list or array as an array of a Kind that it may be of."""
    if type(value) is list:
        return of_list(value, kind)
    if isinstance(value, TupleArray):
        return TupleArray(tuple(lifted(part, k) for part, k in zip(value.parts, kind.like, strict=True)), kind.keys)
    if not isinstance(value, EvenArray) or kind.axis is None:
        return value.now()
    axis, stacked = kind.axis, value.stacked
    each = _C.ops.shape(stacked)[axis + 1 : axis + 2].astype("int64")
    rows = _C.ops.transpose(stacked, moved(0, axis, len(stacked.shape))) if axis else stacked
    lengths = _C.ops.broadcast_to(each, _C.ops.shape(stacked)[:1].astype("int64"))
    return RaggedArray(_C.ops.flatten(rows, axis, axis + 1), lengths, axis)


class Moved:
    """Stands in a list that became a TensorArray, for those who hold the list by another name."""

    def __init__(self, kind):
        self.kind = kind

    def __repr__(self):
        return "items of a list that a loop of the program appended to; use the name that the loop used"
