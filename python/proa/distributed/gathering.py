"""Collectives of which a list has the tensors of all processes: all_gather, gather and scatter."""

from proa import _C
from proa.distributed.calls import (
    Done,
    check_list,
    check_rank,
    check_tensor,
    copy_into,
    flattened,
    is_op,
    is_outside,
    place,
    start,
    untraced,
    zeros_of,
)
from proa.distributed.groups import resolve

__all__ = ["all_gather", "fill_with", "gather", "scatter"]


def all_gather(tensor_list, tensor, group=None, sync_op=True, use_calc_stream=True):
    """Appends the tensors of all processes to `tensor_list`, by number; fills the tensors that it has.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather(found, proa.ones([2])).wait()
        True
        >>> len(found)
        1
    """
    check_tensor("all_gather", "tensor", tensor)
    group = resolve(group)
    into_one = isinstance(tensor_list, _C.Tensor)
    if not into_one:
        _check_found("all_gather", "tensor_list", tensor_list, group)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        if into_one:
            place(tensor_list, tensor.reshape(tensor_list.shape))
        else:
            _find_own(tensor_list, tensor)
        return Done()
    if is_op(tensor):
        rows = _rows(_C.ops.all_gather(tensor, group.nranks, group.id), group, tensor)
        if into_one:
            tensor_list[...] = _C.ops.reshape(rows, tensor_list.shape)
        else:
            tensor_list[:] = [rows[i] for i in range(group.nranks)]
        return Done()
    if into_one:
        return start(group, sync_op, "all_gather", tensor, tensor_list)
    rows = zeros_of([group.nranks, *tensor.shape], tensor)
    return start(group, sync_op, "all_gather", tensor, rows, fill_with(rows, tensor_list))


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True, use_calc_stream=True):
    """Appends the tensors of all processes to the `gather_list` of process `dst`; fills the tensors that it has.

    With gradients, those of process `dst` come back to the tensors; all processes of the group run backward from what they made
    of their `tensor` then.

    Args:
        tensor (Tensor): of one shape and dtype on all processes; stays.
        gather_list (list[Tensor], optional): of process `dst`: empty, or one tensor for each process. Others need none.
        dst (int): a process of the group.
        group (Group, optional): all processes unless given.
        sync_op (bool): wait for the result.

    Returns:
        a task with `wait()` and `is_completed()`.

    Raises:
        TypeError: process `dst` gives no list.
        ValueError: a list of another length, or a process that is not of the group.
        RuntimeError: processes disagree on the call, one of them is gone, or did not come in time.

    Examples:
        >>> found = []
        >>> _ = proa.distributed.gather(proa.ones([2]), found, dst=0)
        >>> found[0].tolist()
        [1.0, 1.0]
    """
    check_tensor("gather", "tensor", tensor)
    root, group = check_rank("gather", "dst", dst, group), resolve(group)
    mine = group.rank == root
    if mine:
        _check_found("gather", "gather_list", gather_list, group)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        _find_own(gather_list, tensor)
        return Done()
    if is_op(tensor):
        rows = _rows(_C.ops.gather_to(tensor, root, group.nranks, group.id), group, tensor)
        if mine:
            gather_list[:] = [rows[i] for i in range(group.nranks)]
        elif not tensor.stop_gradient:
            # Zeros here; so backward of this process comes by, and takes what `dst` has for it.
            tensor[...] = tensor + rows[group.rank]
        return Done()
    if not mine:
        return start(group, sync_op, "gather", tensor, None, peer=root)
    rows = zeros_of([group.nranks, *tensor.shape], tensor)
    return start(group, sync_op, "gather", tensor, rows, fill_with(rows, gather_list), peer=root)


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True, use_calc_stream=True):
    """Gives each process one of the tensors that process `src` has, into `tensor`.

    Where gradients are to come back to `tensor_list`, `tensor` of the other processes was computed from what requires grad, too.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.scatter(x, [proa.ones([2])], src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    check_tensor("scatter", "tensor", tensor)
    root, group = check_rank("scatter", "src", src, group), resolve(group)
    mine = group.rank == root
    if mine:
        check_list("scatter", "tensor_list", [] if tensor_list is None else tensor_list, group.nranks)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        place(tensor, tensor_list[0])
        return Done()
    parts = tensor_list if mine else [tensor] * group.nranks  # of others only the shape counts
    if is_op(tensor, *parts):
        rows = _C.ops.concat([part if part.shape else _C.ops.reshape(part, [1]) for part in parts], 0)
        tensor[...] = _C.ops.reshape(_C.ops.scatter_from(rows, root, group.nranks, group.id), tensor.shape)
        return Done()
    return start(group, sync_op, "scatter", flattened(parts) if mine else None, tensor, peer=root)


def _rows(found, group, tensor):
    """What has come, by process."""
    return _C.ops.reshape(found, [group.nranks, *tensor.shape])


def _check_found(what, name, found, group):
    """A list of tensors, of none or of one for each process."""
    check_list(what, name, found)
    if found:
        check_list(what, name, found, group.nranks)


def _find_own(found, tensor):
    """What a process alone finds: its own."""
    if found:
        place(found[0], tensor)
    else:
        found.append(tensor.clone())


def fill_with(rows, found):
    """What is left to do when `rows` are there; None where `found`, empty before, is made of them."""
    if not found:
        found.extend(untraced(lambda: [rows[i] for i in range(rows.shape[0])]))
        return None
    given = list(found)

    def finish():
        for i, part in enumerate(given):
            copy_into(part, untraced(lambda i=i: rows[i]))

    return finish
