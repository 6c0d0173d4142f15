"""Tensors with lengths of sequences beside them, as 1.x programs feed them."""

import numpy as np

from proa import _C

__all__ = ["LoDTensor", "create_lod_tensor", "create_random_int_lodtensor"]


class LoDTensor:
    """An array, and the lengths of the sequences that its rows are."""

    def __init__(self):
        self._array = np.zeros([0], "float32")
        self._lengths = []

    def set(self, array, place=None):
        """Takes an array."""
        self._array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)

    def numpy(self):
        """The array."""
        return self._array

    def shape(self):
        return list(self._array.shape)

    def recursive_sequence_lengths(self):
        return self._lengths

    def set_recursive_sequence_lengths(self, lengths):
        """Says the lengths, a list for each level."""
        self._lengths = [list(level) for level in lengths]

    def lod(self):
        """The lengths as offsets."""
        return [[0, *np.cumsum(level).tolist()] for level in self._lengths]

    def set_lod(self, lod):
        """Says the lengths as offsets."""
        self._lengths = [np.diff(level).tolist() for level in lod]

    def has_valid_recursive_sequence_lengths(self):
        """Whether the lengths of the last level are those of all rows."""
        return not self._lengths or sum(self._lengths[-1]) == len(self._array)


def create_lod_tensor(data, recursive_seq_lens, place=None):
    """A LoDTensor of an array, or of a list of lists of one column each.

    Args:
        data (ndarray|list|LoDTensor): the rows.
        recursive_seq_lens (list[list[int]]): lengths of sequences.
        place: accepted.

    Raises:
        ValueError: the lengths are not those of the rows.
    """
    tensor = LoDTensor()
    if isinstance(data, list):
        data = np.concatenate([np.asarray(item) for item in data]).reshape(-1, 1)
    tensor.set(np.asarray(data))
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    if not tensor.has_valid_recursive_sequence_lengths():
        raise _C.located(
            ValueError(
                f"create_lod_tensor: the lengths {recursive_seq_lens} are not those of {len(np.asarray(data))} rows"
            )
        )
    return tensor


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high):
    """A LoDTensor of random integers from low to high."""
    rows = sum(recursive_seq_lens[-1])
    values = np.random.randint(low, high + 1, [rows, *base_shape]).astype("int64")
    return create_lod_tensor(values, recursive_seq_lens, place)
