"""Functions of the library that take lists of tensors, for the lists that loops of the program make."""

import functools

from proa import _C
from proa.jit.dy2static import calls
from proa.jit.dy2static.arrays import RaggedArray, TensorArray, moved
from proa.jit.dy2static.branches import in_region
from proa.jit.dy2static.values import is_late, tensor_of


def stack(array, axis=0, name=None):
    """`paddle.stack` of an array."""
    rows = array.stacked
    axis = axis + len(rows.shape) if axis < 0 else axis
    return rows if axis == 0 else _C.ops.transpose(rows, moved(0, axis, len(rows.shape)))


def concat(array, axis=0, name=None):
    """`paddle.concat` of an array."""
    if isinstance(array, RaggedArray) and axis in (array.axis, array.axis - len(array.rows.shape)):
        return array.rows
    rows = array.stacked
    dims = len(rows.shape)
    axis = axis + dims - 1 if axis < 0 else axis
    rows = rows if axis == 0 else _C.ops.transpose(rows, moved(0, axis, dims))
    return _C.ops.flatten(rows, axis, axis + 1)


def length(array):
    """The number of its items, a size."""
    return array.count


def read(array, i):
    """An item of it."""
    return array[tensor_of(i, None, []) if isinstance(i, _C.Tensor) else i]


def write(x, i, array):
    """Item i becomes x; the next one, too."""
    if not is_late(i):
        i = _C.to_tensor(int(i))
    i = tensor_of(i, _C.int64, [])
    array.append(x)
    array[i] = x
    count = _C.ops.shape(array.stacked)[0]
    array.stacked = array.stacked[: _C.ops.maximum(count - 1, i + 1)]
    return array


def _with_arrays(function, of_array, position):
    """The function, that of arrays where the argument at `position` is one."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = [*args[position : position + 1], *kwargs.values()]
        if any(isinstance(a, TensorArray) for a in given):
            named = {("array" if isinstance(v, TensorArray) else k): v for k, v in kwargs.items()}
            return of_array(*args, **named)
        return function(*args, **kwargs)

    return call


def _write_of(function):
    """`array_write` where the index is a value of the program and the array still a list: a loop makes an array of it."""
    of_array = _with_arrays(function, write, 2)

    @functools.wraps(function)
    def call(x, i, array=None):
        if is_late(i) and isinstance(array, list) and in_region():
            array.append(x)
            return array
        return of_array(x, i, array)

    return call


def _read_of(function):
    of_array = _with_arrays(function, read, 0)

    @functools.wraps(function)
    def call(array, i):
        if is_late(i) and isinstance(array, list):
            return _C.ops.stack(array, 0)[tensor_of(i, _C.int64, [])]
        return of_array(array, i)

    return call


_WRAPPERS = {
    "stack": lambda function: _with_arrays(function, stack, 0),
    "concat": lambda function: _with_arrays(function, concat, 0),
    "array_length": lambda function: _with_arrays(function, length, 0),
    "array_read": _read_of,
    "array_write": _write_of,
}


def _home(function):
    """The module of this package that defines a function, without the package, which proa.as_paddle calls paddle; else ""."""
    package, _, home = function.__module__.partition(".")
    return home if package in ("proa", "paddle") else ""


def _replacement(function):
    """What takes arrays too in place of a function of this package; None for others."""
    wrapper = _WRAPPERS.get(function.__name__)
    return wrapper(function) if wrapper is not None and _home(function).startswith(("_generated", "tensor")) else None


calls.of_libraries.append(_replacement)
