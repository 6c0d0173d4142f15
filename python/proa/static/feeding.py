"""What an input of a program is fed, from the values that samples have for it."""

import numpy as np

from proa import _C
from proa.framework.dtype import convert_dtype

__all__ = ["column"]


def column(tensor, values):
    """The values that the samples of a batch have for an input: an array, or of an input that holds sequences a LoDTensor.

    Args:
        tensor (Tensor): the input.
        values (list): one for each sample; of sequences a list of rows each, nested as deep as the input has levels.

    Raises:
        ValueError: the values do not make an array of the dims of the input.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     words = proa.static.data("words", [None, 1], "int64", lod_level=1)
        >>> fed = proa.static.feeding.column(words, [[3, 1, 4], [1, 5]])
        >>> np.asarray(fed)[:, 0].tolist(), fed.recursive_sequence_lengths()
        ([3, 1, 4, 1, 5], [[3, 2]])
    """
    levels = tensor.lod_level
    if not levels:
        return _array(tensor, values)
    from proa.fluid.lod_tensor import LoDTensor

    rows, lengths = list(values), []
    for level in range(levels):
        try:
            lengths.append([len(row) for row in rows])
        except TypeError:
            raise _C.located(
                ValueError(
                    f"feed of {tensor.name!r}: it has lod_level {levels}, so a sample is a list nested {levels} deep; "
                    f"one is not at level {level}"
                )
            ) from None
        rows = [item for row in rows for item in row]
    fed = LoDTensor()
    fed.set(_array(tensor, rows))
    fed.set_recursive_sequence_lengths(lengths)
    return fed


def _array(tensor, values):
    inner = list(tensor.shape[1:])
    known = all(type(size) is int and size >= 0 for size in inner)
    try:
        array = np.array(values, dtype=convert_dtype(tensor.dtype))
        if known and list(array.shape[1:]) != inner:
            array = array.reshape([len(values) if 0 in inner else -1, *inner])
    except ValueError as error:
        raise _C.located(
            ValueError(
                f"feed of {tensor.name!r}, {list(tensor.shape)} {tensor.dtype.name}: the samples do not fit: {error}"
            )
        ) from None
    return array
