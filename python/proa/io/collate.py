"""How samples become a batch."""

import numbers
from collections.abc import Mapping, Sequence

import numpy as np

from proa import _C
from proa.framework.attributes import wrong


def default_collate_fn(batch):
    """Puts samples of one structure together: arrays, tensors and numbers get a new first dim.

    Lists and tuples are taken apart field by field, dicts key by key; strings stay lists. What offers an array (images of
    Pillow, rows of pandas) counts as one.

    Examples:
        >>> from proa.io import default_collate_fn
        >>> x, y = default_collate_fn([([1.0, 2.0], 0), ([3.0, 4.0], 1)])
        >>> y.tolist()
        [0, 1]
    """
    if not isinstance(batch, Sequence) or not len(batch):
        raise wrong("default_collate_fn", "batch", "a list of samples that is not empty", batch)
    return collated(batch, lambda rows: _own(np.stack(rows)), _C.to_tensor)


# What a tensor may take over as it is; others become other dtypes.
_SHARED = frozenset(map(np.dtype, ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")))


def _own(array):
    """A tensor of an array that nobody else has: of a big one over its memory, without another copy."""
    if array.nbytes >= 1 << 16 and array.dtype in _SHARED and _C.get_device() == "cpu":
        return _C.from_dlpack(array)
    return _C.to_tensor(array)


def _stacked(tensors):
    return _C.ops.stack(list(tensors), 0)


def collated(batch, stack, made, together=_stacked):
    """`default_collate_fn`, where `stack` makes one of arrays of one shape, `made` what an array of numbers becomes, and
    `together` one of tensors.
    """
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return together(batch)
    if isinstance(first, np.ndarray):
        for place, row in enumerate(batch):
            if not isinstance(row, np.ndarray):
                raise _C.located(
                    TypeError(
                        f"DataLoader: sample {place} of a batch is a {type(row).__name__} where the first is an array; "
                        "every sample must be of one type, or give a collate_fn"
                    )
                )
        if any(row.shape != first.shape for row in batch):
            shapes = sorted({a.shape for a in batch})
            raise _C.located(
                ValueError(f"DataLoader: the arrays of a batch have different shapes: {shapes}; give a collate_fn")
            )
        return stack(batch)
    if isinstance(first, (numbers.Number, np.generic)):
        return made(np.array(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: collated([sample[key] for sample in batch], stack, made, together) for key in first}
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise _C.located(
                ValueError(f"DataLoader: the samples of a batch have different numbers of fields: {sorted(lengths)}")
            )
        return [collated(list(fields), stack, made, together) for fields in zip(*batch)]
    if hasattr(first, "__array__") or hasattr(first, "__array_interface__"):  # images of Pillow, rows of pandas
        return collated([_numbers(sample) for sample in batch], stack, made, together)
    raise _C.located(
        TypeError(
            f"DataLoader: samples of type {type(first).__name__} cannot be put together; "
            "use arrays, tensors, numbers, str, lists, tuples or dicts, or give a collate_fn"
        )
    )


def _numbers(sample):
    """An array of what offers one."""
    array = np.asarray(sample)
    if array.dtype.kind not in "biufc":
        raise _C.located(
            TypeError(
                f"DataLoader: a sample of type {type(sample).__name__} holds elements of {array.dtype}, not numbers of one "
                "dtype; choose the columns or convert them first, or give a collate_fn"
            )
        )
    return array


def default_convert_fn(sample):
    """One sample with its arrays and numbers as tensors, without a new dim.

    Examples:
        >>> proa.io.default_convert_fn([np.ones(2), "text"])[0].shape
        [2]
    """
    if isinstance(sample, (np.ndarray, np.generic)):
        return _C.to_tensor(np.asarray(sample))
    if isinstance(sample, Mapping):
        return {key: default_convert_fn(value) for key, value in sample.items()}
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return [default_convert_fn(field) for field in sample]
    return sample


def with_leaves(batch, change):
    """A batch with `change` of its arrays and tensors; dicts and lists (of other sequences too) are kept."""
    if isinstance(batch, (np.ndarray, _C.Tensor, Rows)):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: with_leaves(value, change) for key, value in batch.items()}
    if isinstance(batch, Sequence) and not isinstance(batch, (str, bytes)):
        return [with_leaves(value, change) for value in batch]
    return batch


def is_numeric(array):
    """Whether an array may become a tensor."""
    return array.dtype.kind in "biufc"


def as_tensors(batch):
    """A batch with its arrays as tensors."""

    def change(leaf):
        return _C.to_tensor(leaf) if isinstance(leaf, np.ndarray) and is_numeric(leaf) else leaf

    return with_leaves(batch, change)


class Rows:
    """Arrays of one shape that will be one array, where somebody has room for it."""

    def __init__(self, rows):
        self.rows = rows
        self.shape = (len(rows), *rows[0].shape)
        self.dtype = np.result_type(*{row.dtype for row in rows})

    def write(self, place):
        """Fills an array of `shape` and `dtype`."""
        np.stack(self.rows, out=place)


_OF_NUMPY = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def rows_of(tensors):
    """Rows of tensors that are alike and of a dtype that NumPy has, so that they are copied once; others stacked."""
    first = tensors[0]
    for t in tensors:
        if not isinstance(t, _C.Tensor) or t.dtype != first.dtype or t.shape != first.shape or not t.is_dense():
            return _stacked(tensors)
    return Rows([t.detach().numpy() for t in tensors]) if first.dtype.name in _OF_NUMPY else _stacked(tensors)
