"""Functions of Python that converted functions call with tensors: `len`, `int`, `range`, `print` and their like.

For everything else they are what they are.
"""

import builtins

from proa import _C
from proa.framework.size import Size
from proa.jit.dy2static import calls, checks, iterables, runtime
from proa.jit.dy2static.arrays import EvenArray, TensorArray
from proa.jit.dy2static.values import is_late, truth


def len_(value):
    """`len`, of tensors with open sizes and arrays too."""
    if isinstance(value, TensorArray):
        return value.count
    if isinstance(value, _C.Tensor) and value.shape and isinstance(value.shape[0], Size):
        return value.shape[0]
    return len(value)


def _casts(kind, dtype):
    def cast(*args, **kwargs):
        if len(args) == 1 and not kwargs:
            (value,) = args
            if is_late(value):
                return truth(value) if dtype is None else _C.ops.cast(_scalar(value).detach(), dtype())
            if isinstance(value, Size) and kind is int:
                return value
        return kind(*args, **kwargs)

    return cast


def _scalar(value):
    if value.shape and all(type(n) is int for n in value.shape) and value.size != 1:
        raise _C.located(TypeError(f"a tensor of {value.size} elements is no number; it is {list(value.shape)}"))
    return value if not value.shape else _C.ops.reshape(value, [])


def _item(tensor, method):
    """`tensor.item`: of what only the run knows the element as a tensor, as `int` and `float` give it."""

    def item(*args):
        if not is_late(tensor):
            return method(*args)
        element = tensor if not args else tensor.flatten()[args[0]] if len(args) == 1 else tensor[tuple(args)]
        return _scalar(element).detach()

    return item


def sum_(items, /, start=0):
    """`sum`, of lists that loops of the program made too."""
    return sum(items, start) if not isinstance(items, TensorArray) else items.stacked.sum(0) + start


def _collects(kind):
    """`list` or `tuple`, of what a loop of the program made too: items of a number that only the run knows."""

    def collect(*args):
        if len(args) == 1 and isinstance(args[0], TensorArray):
            return EvenArray(args[0].stacked)
        return kind(*args)

    return collect


def range_(*args):
    """`range`, of tensors and sizes too."""
    if args and any(isinstance(a, Size) or is_late(a) for a in args):
        return iterables.Range(*args)
    return range(*args)


def enumerate_(iterable, start=0):
    """`enumerate`, of what has an open number of items too."""
    items = iterables.late(_plain(iterable))
    return enumerate(iterable, start) if items is None else iterables.Enumerate(items, start)


def zip_(*parts, **kwargs):
    """`zip`, of the same."""
    parts = [_plain(p) for p in parts]
    if all(iterables.late(p) is None for p in parts):
        return zip(*parts, **kwargs)
    return iterables.Zip([iterables.as_late(p) for p in parts])


def reversed_(iterable):
    """`reversed`, of the same."""
    items = iterables.late(_plain(iterable))
    return reversed(iterable) if items is None else iterables.Reversed(items)


def _plain(iterable):
    return iterable.stacked if isinstance(iterable, TensorArray) else iterable


def print_(*values, **kwargs):
    """`print`, which the run does where it has tensors."""
    if any(is_late(v) for v in values):
        checks.shown(values, kwargs)
    else:
        print(*values, **kwargs)


def any_(items):
    """True at the first that holds; a tensor where that depends on one."""
    found = False
    for item in items:
        found = runtime.any_of(lambda found=found: found, lambda item=item: item) if is_late(found) else item
        if not is_late(found) and found:
            return True
    return found if is_late(found) else False


def all_(items):
    """`all`: False at the first that does not hold; a tensor where that depends on one."""
    found = True
    for item in items:
        found = runtime.all_of(lambda found=found: found, lambda item=item: item) if is_late(found) else item
        if not is_late(found) and not found:
            return False
    return found if is_late(found) else True


calls.methods["item"] = _item
calls.replaced.update(
    {
        builtins.len: len_,
        builtins.int: _casts(int, lambda: _C.int64),
        builtins.float: _casts(float, _C.get_default_dtype),
        builtins.bool: _casts(bool, None),
        builtins.range: range_,
        builtins.sum: sum_,
        builtins.enumerate: enumerate_,
        builtins.list: _collects(list),
        builtins.tuple: _collects(tuple),
        builtins.zip: zip_,
        builtins.reversed: reversed_,
        builtins.print: print_,
        builtins.any: any_,
        builtins.all: all_,
    }
)
