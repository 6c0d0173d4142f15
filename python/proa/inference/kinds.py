"""Kinds of elements, places and precisions, by name."""

import enum

__all__ = ["DataType", "PlaceType", "PrecisionType", "get_num_bytes_of_data_type"]


class _Kind(enum.IntEnum):
    __str__ = enum.Enum.__str__


class DataType(_Kind):
    """Kinds of elements.

    Examples:
        >>> proa.inference.get_num_bytes_of_data_type(proa.inference.DataType.FLOAT32)
        4
    """

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    FLOAT16 = 5
    BOOL = 6
    FLOAT64 = 7
    BFLOAT16 = 8
    INT16 = 9


class PlaceType(_Kind):
    """Where tensors lie.

    Examples:
        >>> [place.name for place in proa.inference.PlaceType][:3]
        ['UNK', 'CPU', 'GPU']
    """

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    NPU = 3
    CUSTOM = 4


class PrecisionType(_Kind):
    """In what engines compute.

    Examples:
        >>> [precision.name for precision in proa.inference.PrecisionType]
        ['Float32', 'Int8', 'Half', 'Bfloat16']
    """

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


_SIZES = {"FLOAT32": 4, "INT64": 8, "INT32": 4, "UINT8": 1, "INT8": 1, "FLOAT16": 2, "BOOL": 1, "FLOAT64": 8,
          "BFLOAT16": 2, "INT16": 2}  # fmt: skip


def get_num_bytes_of_data_type(dtype):
    """How large an element is.

    Examples:
        >>> proa.inference.get_num_bytes_of_data_type(proa.inference.DataType.INT64)
        8
    """
    return _SIZES[dtype.name]
