"""Numbers of rows, columns and boxes, also where a program knows how many only when it runs."""

from proa import _C


def upto(size, dtype):
    """0, 1, ..., size - 1 as a tensor [size]."""
    return _C.ops.cumsum(_C.ops.full([size], 1, dtype), 0) - _C.ops.full([1], 1, dtype)


def differ(shape, wanted):
    """Whether a shape is another than the one wanted, as far as both are known while a program is recorded."""
    return len(shape) != len(wanted) or any(type(a) is int and type(b) is int and a != b for a, b in zip(shape, wanted))
