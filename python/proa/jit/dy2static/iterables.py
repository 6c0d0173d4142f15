"""What a `for` goes over when the number of its items is known only when the program runs.

`range`, `enumerate`, `zip` and `reversed` of converted functions give these where their arguments are such; a tensor with an
open first dim is one.
"""

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static.arrays import TensorArray
from proa.jit.dy2static.values import is_late


class Late:
    """Items by number. `count()` gives their number as an int64 tensor [], `item(i)` takes such a tensor."""

    def count(self):
        raise NotImplementedError

    def item(self, number):
        raise NotImplementedError

    def __iter__(self):
        raise _C.located(
            RuntimeError(
                f"{type(self).__name__.lower()}: how many items there are is known only when the program runs; go over them "
                "by a `for` statement of a function that is converted"
            )
        )


class Range(Late):
    """`range` of tensors or open sizes."""

    def __init__(self, *args):
        args = [_number(a) for a in args]
        self.start, self.stop, self.step = {
            1: lambda: (0, args[0], 1),
            2: lambda: (*args, 1),
            3: lambda: tuple(args),
        }[len(args)]()

    def count(self):
        span, step = self.stop - self.start, self.step
        if isinstance(step, int):
            if not step:
                raise _C.located(ValueError("range: the step must not be zero"))
            turns = (span + (step - 1)) // step if step > 0 else (-span + (-step - 1)) // -step
        else:
            up = _C.ops.greater_than(step, _C.ops.full_like(step, 0))
            one = _C.ops.full_like(step, 1)
            turns = (span + _C.ops.where(up, step - one, step + one)) // step
        return turns if isinstance(turns, _C.Tensor) else _C.to_tensor(turns)

    def item(self, number):
        return self.start + number * self.step


class Numbers(Late):
    """A range of Python's numbers, by an index that is a tensor."""

    def __init__(self, numbers):
        self._numbers = numbers

    def count(self):
        return _C.to_tensor(len(self._numbers))

    def item(self, number):
        return number * self._numbers.step + self._numbers.start


class Rows(Late):
    """The rows of a tensor."""

    def __init__(self, tensor):
        self._tensor = tensor

    def count(self):
        size = self._tensor.shape[0]
        return size.tensor() if isinstance(size, Size) else _C.to_tensor(size)

    def item(self, number):
        return self._tensor[number]


class Items(Late):
    """The items of an array as it is now."""

    def __init__(self, array):
        self._array = array.now()

    def count(self):
        size = self._array.count
        return size.tensor() if isinstance(size, Size) else _C.to_tensor(size)

    def item(self, number):
        return self._array[number]


class Enumerate(Late):
    """`enumerate` of such items."""

    def __init__(self, items, start=0):
        self._items, self._start = items, start

    def count(self):
        return self._items.count()

    def item(self, number):
        return number + self._start, self._items.item(number)


class Zip(Late):
    """`zip` of such items, and of lists of tensors of one shape."""

    def __init__(self, parts):
        self._parts = parts

    def count(self):
        count, *more = (part.count() for part in self._parts)
        for other in more:
            count = _C.ops.minimum(count, other)
        return count

    def item(self, number):
        return tuple(part.item(number) for part in self._parts)


class Reversed(Late):
    """`reversed` of such items."""

    def __init__(self, items):
        self._items = items

    def count(self):
        return self._items.count()

    def item(self, number):
        return self._items.item(self._items.count() - 1 - number)


def _number(value):
    """A number of a range: an int64 tensor [] where it is not known."""
    if isinstance(value, Size):
        return value.tensor()
    if is_late(value):
        if value.is_floating_point():
            raise _C.located(TypeError(f"range: takes integers, not a tensor of {value.dtype.name}"))
        return _C.ops.cast(value if not value.shape else _C.ops.reshape(value, []), _C.int64)
    return value.__index__() if isinstance(value, _C.Tensor) else value


def late(iterable):
    """The items of an iterable as Late, or None where Python knows how many there are."""
    if isinstance(iterable, Late):
        return iterable
    if isinstance(iterable, TensorArray):
        return Items(iterable)
    if isinstance(iterable, _C.Tensor) and iterable.shape and isinstance(iterable.shape[0], Size):
        return Rows(iterable)
    return None


def as_late(iterable):
    """The same, of sequences that are known too: lists of tensors of one shape, tensors, ranges."""
    found = late(iterable)
    if found is not None:
        return found
    if isinstance(iterable, range):
        return Numbers(iterable)
    if isinstance(iterable, _C.Tensor) and iterable.shape:
        return Rows(iterable)
    if isinstance(iterable, (list, tuple)) and all(isinstance(t, _C.Tensor) for t in iterable) and iterable:
        return Rows(_C.ops.stack(list(iterable)))
    raise _C.located(
        TypeError(
            f"zip: the number of items is known only when the program runs; a {type(iterable).__name__} cannot be taken by a "
            "number of the program; give tensors or lists of tensors"
        )
    )
