"""What a function refuses by the numbers in tensors, at once and in programs alike.

A check that nothing of a program depends on is not part of the program. So a check gives what it guards, and the function
computes with that:

    lengths = require(lengths, lengths >= 0, "f: lengths must not be negative; they are {}", lengths)
"""

from proa import _C
from proa.framework.size import Size, is_same

__all__ = ["as_tensor", "require", "require_multiple", "require_sizes", "with_size"]


def require(x, holds, message, *data):
    """x, where all elements of a bool tensor are true; else a ValueError when the call runs.

    Args:
        x (Tensor): what must not be used otherwise.
        holds (Tensor): bool, of any shape.
        message (str): of the error; each "{}" in it stands for the elements of a tensor of `data`, in turn.
        data (Tensor): those.
    """
    return _C.ops.require(x, holds, message, list(data))


def require_sizes(x, sizes, wanted, message, *tensors):
    """x, where sizes are those that are wanted; else a ValueError: now where they are known, or when the program runs.

    Args:
        x (Tensor): what must not be used otherwise.
        sizes, wanted (list[int|Size]): of one length.
        message (str): of the error; each "{}" in it stands for the shape of a tensor of `tensors`, in turn.
        tensors (Tensor): those.
    """
    late = [(a, b) for a, b in zip(sizes, wanted, strict=True) if not is_same(a, b)]
    if not late:
        return x
    if not any(isinstance(a, Size) or isinstance(b, Size) for a, b in late):
        for t in tensors:
            message = message.replace("{}", str(list(t.shape)), 1)
        raise _C.located(ValueError(message))
    holds = as_tensor([a for a, _ in late]) == as_tensor([b for _, b in late])
    return require(x, holds, message, *[_C.ops.shape(t) for t in tensors])


def require_multiple(x, size, factor, message, *tensors):
    """x, where a size is a multiple of factor; else a ValueError, as of `require_sizes`."""
    return require_sizes(x, [size % factor], [0], message, *tensors)


def with_size(x, axis, size, message):
    """x, whose dim `axis` is known to be `size` from here on; else a ValueError, as of `require_sizes`.

    Args:
        x (Tensor): of any shape that has the dim.
        axis (int): from 0.
        size (int): what its size has to be.
        message (str): of the error; "{}" in it stands for the shape of x.
    """
    if is_same(x.shape[axis], size):
        return x
    x = require_sizes(x, [x.shape[axis]], [size], message, x)
    return _C.ops.reshape(x, [*x.shape[:axis], size, *x.shape[axis + 1 :]])


def as_tensor(sizes):
    """A list of ints, of sizes of a program and of tensors of one integer as a tensor of int64."""
    if all(isinstance(n, int) for n in sizes):
        return _C.to_tensor(sizes, dtype="int64")
    return _C.ops.stack([_one(n) for n in sizes], 0)


def _one(size):
    if isinstance(size, _C.Tensor):
        return _C.ops.reshape(size, []).astype("int64")
    return size.tensor() if isinstance(size, Size) else _C.to_tensor(size, dtype="int64")
