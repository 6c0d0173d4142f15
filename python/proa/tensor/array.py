"""Arrays of tensors: Python lists with the functions of Paddle's LoDTensorArray.

An array holds its tensors as a list does: what was written is kept, and nothing else. Memory is given back when an
element is overwritten, or with the array.
"""

from proa import _C
from proa.framework.compat import in_dynamic_mode


def _position(op, i):
    """The index i of a call: an integer, or an integer tensor of one element whose value is known."""
    if isinstance(i, _C.Tensor):
        if i.size != 1 or i.is_floating_point() or i.is_complex() or i.dtype == _C.bool:
            raise _C.located(
                TypeError(f"{op}: i must be an integer or an integer tensor of one element; it is {i.shape} {i.dtype}")
            )
        i = i.item()
    if isinstance(i, bool) or not isinstance(i, int):
        raise _C.located(TypeError(f"{op}: i must be an integer or an integer tensor, not {type(i).__name__}"))
    if i < 0:
        raise _C.located(IndexError(f"{op}: i must not be negative; it is {i}"))
    return i


def _need_array(op, array):
    if not isinstance(array, list):
        raise _C.located(
            TypeError(f"{op}: array must be a list of tensors, as create_array makes it, not {type(array).__name__}")
        )


def create_array(dtype, initialized_list=None):
    """An array of tensors, empty or with those of a list.

    Args:
        dtype (str|DType): of the tensors to come; a remark, as elements keep the dtypes they have.
        initialized_list (list[Tensor]|tuple[Tensor], optional): the first elements.

    Returns:
        list[Tensor]

    Examples:
        >>> array = proa.tensor.create_array("float32", [proa.ones([2])])
        >>> proa.tensor.array_length(array)
        1
    """
    if isinstance(dtype, str):
        _C.DType(dtype)
    array = [] if initialized_list is None else initialized_list
    if not isinstance(array, (list, tuple)):
        raise _C.located(
            TypeError(f"create_array: initialized_list must be a list or tuple of tensors, not {type(array).__name__}")
        )
    for k, element in enumerate(array):
        if not isinstance(element, _C.Tensor):
            raise _C.located(
                TypeError(f"create_array: initialized_list[{k}] must be a Tensor, not {type(element).__name__}")
            )
    return list(array)


def array_write(x, i, array=None):
    """Makes x element i of an array: of one that exists, or the next one.

    Args:
        x (Tensor): any shape and dtype; it is kept, not copied.
        i (int|Tensor): at most the length of the array, which it then extends.
        array (list[Tensor], optional): the array; a new one by default.

    Returns:
        list[Tensor]: the array.

    Raises:
        IndexError: for an index beyond the end.

    Examples:
        >>> array = proa.tensor.array_write(proa.full([1], 5.0), 0)
        >>> array = proa.tensor.array_write(proa.full([1], 6.0), proa.to_tensor(1), array)
        >>> [x.item() for x in array]
        [5.0, 6.0]
    """
    if not isinstance(x, _C.Tensor):
        raise _C.located(TypeError(f"array_write: x must be a Tensor, not {type(x).__name__}"))
    i = _position("array_write", i)
    array = [] if array is None else array
    _need_array("array_write", array)
    if i > len(array):
        raise _C.located(
            IndexError(
                f"array_write: i must be at most the length of the array, {len(array)}, which extends it; it is {i}"
            )
        )
    array[i : i + 1] = [x]
    return array


def array_read(array, i):
    """Element i of an array.

    Args:
        array (list[Tensor]): the array.
        i (int|Tensor): less than its length.

    Raises:
        IndexError: for an index beyond the end.

    Examples:
        >>> array = proa.tensor.array_write(proa.full([1], 5.0), 0)
        >>> proa.tensor.array_read(array, 0).item()
        5.0
    """
    _need_array("array_read", array)
    i = _position("array_read", i)
    if i >= len(array):
        raise _C.located(
            IndexError(f"array_read: i must be less than the length of the array, {len(array)}; it is {i}")
        )
    return array[i]


def array_length(array):
    """The number of tensors in an array: an int, in static mode an int64 tensor [1].

    Examples:
        >>> proa.tensor.array_length([])
        0
    """
    _need_array("array_length", array)
    return len(array) if in_dynamic_mode() else _C.ops.full([1], len(array), _C.int64)
