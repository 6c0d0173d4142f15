"""How samples become a batch."""

import numbers
from collections.abc import Mapping, Sequence

import numpy as np

from proa import _C


def default_collate_fn(batch):
    """Puts samples of one structure together: arrays, tensors and numbers get a new first dim.

    Lists and tuples are taken apart field by field, dicts key by key; strings stay lists.

    Examples:
        >>> from proa.io import default_collate_fn
        >>> x, y = default_collate_fn([([1.0, 2.0], 0), ([3.0, 4.0], 1)])
        >>> y.tolist()
        [0, 1]
    """
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return _C.ops.stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        return _C.to_tensor(_stacked(batch))
    if isinstance(first, (numbers.Number, np.generic)):
        return _C.to_tensor(np.array(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate_fn([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise _C.located(
                ValueError(f"DataLoader: the samples of a batch have different numbers of fields: {sorted(lengths)}")
            )
        return [default_collate_fn(list(fields)) for fields in zip(*batch)]
    raise _C.located(
        TypeError(
            f"DataLoader: samples of type {type(first).__name__} cannot be put together; "
            "use arrays, tensors, numbers, str, lists, tuples or dicts, or give a collate_fn"
        )
    )


def _stacked(batch):
    try:
        return np.stack(batch)
    except ValueError:
        shapes = sorted({a.shape for a in batch})
        raise _C.located(
            ValueError(f"DataLoader: the arrays of a batch have different shapes: {shapes}; give a collate_fn")
        ) from None


def default_convert_fn(sample):
    """One sample with its arrays and numbers as tensors, without a new dim."""
    if isinstance(sample, (np.ndarray, np.generic)):
        return _C.to_tensor(np.asarray(sample))
    if isinstance(sample, Mapping):
        return {key: default_convert_fn(value) for key, value in sample.items()}
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return [default_convert_fn(field) for field in sample]
    return sample
