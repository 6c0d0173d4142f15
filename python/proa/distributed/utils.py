"""Exchanges of rows for mixtures of experts."""

import numpy as np

from proa import _C
from proa.distributed.calls import check_tensor
from proa.distributed.groups import resolve

__all__ = ["global_gather", "global_scatter"]


def _counts(what, name, value, group):
    """int64 [processes, experts]: rows of each expert of each process."""
    counts = value.numpy() if isinstance(value, _C.Tensor) else np.asarray(value)
    if counts.ndim != 1 or counts.size % group.nranks or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise _C.located(
            ValueError(
                f"{what}: {name} must be a vector of integers, as many for each of {group.nranks} processes as it has "
                f"experts; it has shape {list(counts.shape)}"
            )
        )
    return counts.reshape(group.nranks, -1).astype("int64")


def _order(arriving):
    """Where the rows that came process by process are, expert by expert."""
    begins = np.concatenate([[0], arriving.reshape(-1).cumsum()])[:-1].reshape(arriving.shape)
    runs = [np.arange(b, b + n) for b, n in zip(begins.T.reshape(-1), arriving.T.reshape(-1))]
    return np.concatenate(runs).astype("int64")


def _exchange(what, x, local_count, global_count, group, back):
    check_tensor(what, "x", x)
    group = resolve(group)
    local, arriving = (
        _counts(what, name, value, group)
        for name, value in (("local_count", local_count), ("global_count", global_count))
    )
    here = arriving if back else local
    if x.ndim != 2 or x.shape[0] != here.sum():
        raise _C.located(
            ValueError(
                f"{what}: x must be [rows, size] with the {here.sum()} rows of {'global' if back else 'local'}_count; it is "
                f"{list(x.shape)}"
            )
        )
    order = _order(arriving)
    gives, gets = local.sum(1).tolist(), arriving.sum(1).tolist()
    if back:
        x = _C.ops.gather(x, _index(np.argsort(order)), 0)
        return x if group.nranks == 1 else _C.ops.all_to_all(x, group.id, gets, gives)
    if group.nranks > 1:
        x = _C.ops.all_to_all(x, group.id, gives, gets)
    return _C.ops.gather(x, _index(order), 0)


def _index(order):
    with _C.eager_mode():
        return _C.to_tensor(np.asarray(order, "int64"))


def global_scatter(x, local_count, global_count, group=None, use_calc_stream=True):
    """Sends rows of `x` to the processes of their experts; gradients come back the same way.

    With n experts on each process, number `p * n + e` of a count is expert e of process p in `local_count`, and what
    comes from process p for expert e here in `global_count`.

    Args:
        x (Tensor): [rows, size]; rows in the order of `local_count`.
        local_count (Tensor): int64 [processes * n], rows that go to each expert.
        global_count (Tensor): int64 [processes * n], rows that come from each process for each expert here.
        group (Group, optional): all processes unless given.

    Returns:
        Tensor: the rows that came, expert by expert, of each in the order of processes.

    Raises:
        ValueError: counts that do not fit.

    Examples:
        >>> x = proa.to_tensor([[1.0], [2.0], [3.0]])
        >>> counts = proa.to_tensor([1, 2])
        >>> proa.distributed.utils.global_scatter(x, counts, counts).tolist()
        [[1.0], [2.0], [3.0]]
    """
    return _exchange("global_scatter", x, local_count, global_count, group, back=False)


def global_gather(x, local_count, global_count, group=None, use_calc_stream=True):
    """Brings rows back from the processes of their experts: undoes `global_scatter` with the same counts.

    Examples:
        >>> x = proa.to_tensor([[1.0], [2.0], [3.0]])
        >>> counts = proa.to_tensor([1, 2])
        >>> proa.distributed.utils.global_gather(x, counts, counts).tolist()
        [[1.0], [2.0], [3.0]]
    """
    return _exchange("global_gather", x, local_count, global_count, group, back=True)
