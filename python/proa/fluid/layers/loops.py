"""While, a loop of a program by the value of a tensor, and arrays of tensors as long as only the run knows."""

import contextlib

from proa import _C
from proa.fluid.layers.blocks import Block, blocks, is_in_block, write
from proa.fluid.layers.uneven import UnevenItems
from proa.jit.dy2static import array_functions
from proa.jit.dy2static.arrays import EvenArray
from proa.static.program import default_main_program
from proa.tensor import array as lists

__all__ = ["Array", "While", "array_length", "array_read", "array_write", "create_array", "tensor_array_to_tensor"]


class While:
    """A block that is repeated as long as a bool tensor holds, which the block writes.

    What the block writes into tensors from outside (by `assign`, `increment`, `less_than(..., cond=...)`, `array_write` and
    other functions with an output) it finds there in its next turn, and the program finds it after the loop.
    Such a tensor must keep its dtype and number of dims. Gradients flow through the loop.

    Args:
        cond (Tensor): bool, of one element.
        is_test (bool), name (str, optional): accepted.

    Raises:
        TypeError: `cond` is no bool tensor of one element.
        ValueError: the block does not write `cond`, so that it would not end.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     n = fluid.data("n", [1], "int64")
        ...     i = fluid.layers.fill_constant([1], "int64", 0)
        ...     total = fluid.layers.fill_constant([1], "int64", 0)
        ...     goes_on = fluid.layers.less_than(i, n)
        ...     loop = fluid.layers.While(goes_on)
        ...     with loop.block():
        ...         i = fluid.layers.increment(i)
        ...         _ = fluid.layers.assign(total + i, total)
        ...         _ = fluid.layers.less_than(i, n, cond=goes_on)
        >>> fluid.Executor().run(main, feed={"n": np.array([4])}, fetch_list=[total])[0].tolist()
        [10]
    """

    def __init__(self, cond, is_test=False, name=None):
        cond = _C.tensor_argument(cond, "While", "cond")
        if cond.dtype != _C.bool or any(type(size) is int and size != 1 for size in cond.shape):
            raise _C.located(
                TypeError(f"While: cond must be bool, of one element; it is {list(cond.shape)} {cond.dtype.name}")
            )
        self._cond, self._done = cond, False

    @contextlib.contextmanager
    def block(self):
        """What is repeated: once."""
        if self._done:
            raise _C.located(RuntimeError("While: has its block already"))
        self._done = True
        block = Block("While")
        with block.recording(hides_constants=True):
            yield
        self._build(block)

    def _build(self, block):
        at = next((i for i, entry in enumerate(block.written) if entry[0] is self._cond), None)
        if at is None:
            raise _C.located(
                ValueError(
                    "While: the block does not write its condition, and would not end; layers.less_than(..., cond=cond)"
                )
            )
        places = block.written + block.arrays
        numbers = [entry[2] for entry in places]
        ends = [block.number(entry[0]) for entry in block.written]
        ends += [block.number(array.stacked) for array, *_ in block.arrays]

        def goes_on(*values):
            return [_C.ops.reshape(values[at], [])]

        def turn(*values):
            found = block.again(dict(zip(numbers, values, strict=True)), ends)
            return [
                v if v.dtype == before.dtype else v.astype(before.dtype)
                for v, before in zip(found, values, strict=True)
            ]

        results = _C.while_loop(goes_on, turn, [entry[1] for entry in places])
        for (tensor, before, _), value in zip(block.written, results):
            _C.rebind(tensor, before)  # in a case of a Switch that does not hold it stays so
            write(tensor, _C.ops.reshape(value, tensor.shape) if _is_known(tensor) else value)
        for (array, *_), value in zip(block.arrays, results[len(block.written) :]):
            array.become(value)


def _is_known(tensor):
    return all(type(size) is int and size >= 0 for size in tensor.shape)


class Array(list):
    """The array of tensors of a program: a list, until a value of the program says which item is meant.

    `stacked` has the items then, [n, ...], which must be of one dtype and shape. In programs with inputs of two levels of
    sequences, as beam searches have, `uneven` has them: items may differ in how many rows they have, and keep their sequences.
    """

    stacked = uneven = None

    def __init__(self, items=()):
        super().__init__(items)
        self.born_in = blocks()

    def become(self, stacked):
        """From now on its items are the rows of a tensor."""
        for block in blocks():
            if self.stacked is not None:
                block.note_array(self)
        self.clear()
        self.stacked = stacked

    def stack(self, like=None):
        """Puts the items into one tensor; of none, one for items as `like`."""
        if self.stacked is None:
            if not self and like is None:
                raise _C.located(IndexError("array_read: the array is empty"))
            rows = _C.ops.stack(list(self), 0) if self else _C.ops.unsqueeze(like, [0])[:0]
            self.become(rows)
        for block in blocks():
            block.note_array(self)
        return self.stacked

    @property
    def is_late(self):
        """Whether its items stand in tensors."""
        return self.stacked is not None or self.uneven is not None

    def spread(self, like=None):
        """Its items as an UnevenItems, if they may differ in their rows; else None."""
        if self.uneven is None and self.stacked is None and _has_two_levels():
            if not self and like is None:
                raise _C.located(IndexError("array_read: the array is empty"))
            self.uneven = UnevenItems(list(self), like, self.born_in)
            self.clear()
        return self.uneven


def _has_two_levels():
    return any(levels > 1 for levels in default_main_program()._leveled.values())


def _is_late(i):
    return isinstance(i, _C.Tensor) and _C.is_symbolic(i)


def create_array(dtype, initialized_list=None):
    """An empty array of tensors, or one with those of a list; see `paddle.tensor.create_array`."""
    items = lists.create_array(dtype, initialized_list)
    return Array(items) if _C.in_static_mode() else items


def array_write(x, i, array=None):
    """Makes x item i of an array, of a new one unless given; i is at most its length, which it then extends.

    Where the index is a value of the program, or in the block of a While, items must have one dtype and shape.

    Returns:
        the array.
    """
    if array is None:
        array = create_array(x.dtype)
    if not isinstance(array, Array) or not (array.is_late or is_in_block() or not _is_constant(i)):
        return lists.array_write(x, i, array)
    if array.spread(x) is not None:
        array.uneven.write(_index(i), x)
        return array
    array.stack(x)
    array.stacked = _written(array.stacked, _index(i), x)
    return array


def _is_constant(i):
    """Whether an index has its value now."""
    if not _is_late(i):
        return True
    try:
        i.item()
    except Exception:
        return False
    return True


def _index(i):
    if not isinstance(i, _C.Tensor):
        return _C.ops.full([], i, _C.int64)
    return _C.ops.reshape(i, []).astype("int64")


def _written(rows, i, x):
    """rows with x as row i, of one more row if that is the next. All is computed from elements: a later turn has more rows."""
    row = _C.ops.unsqueeze(x, [0])
    longer = _C.ops.concat([rows, row], 0)
    numbers = _C.ops.cumsum(_C.ops.full_like(_first(longer), 1).astype("int64"), 0) - 1
    here = _C.ops.reshape(numbers == i, [-1, *[1] * len(x.shape)])
    last = _C.ops.maximum(_C.ops.max(numbers, 0) - 1, i)
    kept = _C.ops.reshape(_C.ops.nonzero(numbers <= last), [-1])
    return _C.ops.gather(_C.ops.where(here, row, longer), kept, 0)


def _first(rows):
    """An element of each row: [n]."""
    rows = _C.ops.flatten(rows, 1, -1) if len(rows.shape) > 2 else rows
    return rows[:, 0] if len(rows.shape) > 1 else rows


def array_read(array, i):
    """Item i of an array.

    Raises:
        IndexError: it has none so far.
    """
    if not isinstance(array, Array) or not array.is_late and _is_constant(i) and not is_in_block():
        return lists.array_read(array, i)
    if array.spread() is not None:
        return array.uneven.read(_index(i))
    return array.stack()[_index(i)]


def array_length(array):
    """The number of items: in a program an int64 tensor of one element."""
    if not isinstance(array, Array):
        return lists.array_length(array)
    if not array.is_late and not is_in_block():
        return _C.ops.full([1], len(array), _C.int64)
    if array.uneven is not None:
        return array.uneven.length()
    return _C.ops.shape(array.stack())[:1].astype("int64")


def tensor_array_to_tensor(input, axis=1, name=None, use_stack=False):
    """(the items of an array along `axis`: one after another, or stacked; int32 sizes of each along it).

    Args:
        input (list[Tensor]): the array.
        axis (int): where.
        use_stack (bool): along a new axis.
    """
    if isinstance(input, Array) and input.uneven is not None:
        if axis != 0 or use_stack:
            raise _C.located(
                NotImplementedError(
                    "tensor_array_to_tensor: of items that differ in their rows, only axis=0 without use_stack"
                )
            )
        return input.uneven.rows.stacked, input.uneven.counts.stacked.astype("int32")
    items = EvenArray(input.stacked) if isinstance(input, Array) and input.stacked is not None else None
    if items is None:
        items = list(input)
        joined = _C.ops.stack(items, axis) if use_stack else _C.ops.concat(items, axis)
        return joined, _C.to_tensor([1 if use_stack else x.shape[axis] for x in items], dtype="int32")
    joined = (array_functions.stack if use_stack else array_functions.concat)(items, axis)
    size = 1 if use_stack else items.stacked.shape[1:][axis]
    return joined, _C.ops.full_like(_first(items.stacked), 0).astype("int32") + size
