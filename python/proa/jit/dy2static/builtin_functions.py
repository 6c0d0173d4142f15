"""Functions of Python that converted functions call with tensors: `len`, `int`, `range`, `print` and their like.

For everything else they are what they are.
"""

import builtins
import copy as copies
import math

from proa import _C
from proa.framework.dtype import is_floating
from proa.framework.size import Size
from proa.jit.dy2static import calls, checks, iterables, runtime
from proa.jit.dy2static.arrays import TensorArray
from proa.jit.dy2static.values import condition, is_late, tensor_of, truth


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
            value = condition(args[0]) if dtype is None else args[0]
            if is_late(value):
                return truth(value) if dtype is None else _C.ops.cast(_scalar(value).detach(), dtype())
            if isinstance(value, Size) and kind is int:
                return value
            return kind(value)
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
            return args[0].now()
        return kind(*args)

    return collect


def range_(*args):
    """`range`, of tensors and sizes too."""
    if args and any(isinstance(a, Size) or is_late(a) for a in args):
        return iterables.Range(*args)
    return range(*args)


def enumerate_(iterable, start=0):
    """`enumerate`, of what has an open number of items too."""
    items = iterables.late(iterable)
    return enumerate(iterable, start) if items is None else iterables.Enumerate(items, start)


def zip_(*parts, **kwargs):
    """`zip`, of the same."""
    if all(iterables.late(p) is None for p in parts):
        return zip(*parts, **kwargs)
    return iterables.Zip([iterables.as_late(p) for p in parts])


def reversed_(iterable):
    """`reversed`, of the same."""
    items = iterables.late(iterable)
    return reversed(iterable) if items is None else iterables.Reversed(items)


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


def _by_op(function, op):
    """A function of `math`, of a tensor that only the run knows: a number, as `float` and `int` make of one."""

    def compute(*args):
        if not any(map(is_late, args)):
            return function(*args)
        numbers = [_scalar(tensor_of(v)).detach() for v in args]
        kind = next((t.dtype for t in numbers if is_floating(t.dtype)), _C.get_default_dtype())
        found = op(*[_C.ops.cast(t, kind) for t in numbers])
        return _C.ops.cast(found, _C.int64) if function in _WHOLE else found

    return compute


_WHOLE = (math.floor, math.ceil, math.trunc)
_NAMES = [
    "sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
    "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "erf", "lgamma", "atan2",
]  # fmt: skip
_OTHERS = {"fabs": "abs", "pow": "pow"}


def _log(function):
    one = _by_op(function, _C.ops.log)
    return lambda x, *base: one(x) if not base else one(x) / one(*base)


def _copied(function):
    """`copy.copy` or `deepcopy`, of a tensor that only the run knows, or a list, tuple or dict that holds one."""

    def copy(value, *memo):
        if is_late(value):
            return _C.ops.assign(value.detach())
        deep = function is copies.deepcopy
        if deep and type(value) in (list, tuple) and any(map(is_late, value)):
            return type(value)(map(copy, value))
        if deep and type(value) is dict and any(map(is_late, value.values())):
            return {key: copy(item) for key, item in value.items()}
        return function(value, *memo)

    return copy


calls.methods["item"] = _item
calls.of_libraries.append({f: _copied(f) for f in (copies.copy, copies.deepcopy)}.get)
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
        **{getattr(math, n): _by_op(getattr(math, n), getattr(_C.ops, n)) for n in _NAMES if hasattr(_C.ops, n)},
        **{getattr(math, n): _by_op(getattr(math, n), getattr(_C.ops, op)) for n, op in _OTHERS.items()},
        math.log: _log(math.log),
        builtins.any: any_,
        builtins.all: all_,
    }
)
