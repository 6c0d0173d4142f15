"""Row-sparse gradients between processes: rows are gathered, without the zeros between them."""

from proa import _C
from proa.distributed import objects

__all__ = ["gathered_rows"]


def gathered_rows(parameter, grad, group, average=True):
    """The row-sparse gradient that has the rows of all processes; all of the group call it together.

    Args:
        parameter (Tensor): whose gradient it is.
        grad (Tensor, optional): row-sparse; None adds no rows.
        group (Group): of several processes.
        average (bool): the mean in place of the sum.

    Returns:
        Tensor: row-sparse; rows that several processes have occur several times.
    """
    rest = parameter.shape[1:]
    if grad is None:
        held, values = _C.ops.full([0], 0, "int64"), _C.ops.full([0, *rest], 0, parameter.dtype)
    else:
        held, values = _C.ops.held_rows(grad), _C.ops.held_values(grad)
    sizes = objects.gather_sizes(held.shape[0], group)
    all_held = _C.ops.full([sum(sizes)], 0, held.dtype)
    all_values = _C.ops.full([sum(sizes), *rest], 0, values.dtype)
    group.carrier.start("all_gather", held, all_held, out_splits=sizes)
    group.carrier.start("all_gather", values, all_values, out_splits=sizes)
    if average:
        all_values = _C.ops.scale(all_values, 1.0 / group.nranks)
    return _C.ops.row_sparse(all_held, all_values, parameter.shape[0])
