"""Collectives among the processes of a group.

Without gradients they work in place on memory, and `sync_op=False` returns a task that is done later. Where a gradient is
to flow, and in programs, they are ops (`ops/collective`), which are recorded and differentiated like others. In a group
of one they check their arguments and do what is left to do: nothing, or a copy.
"""

from types import SimpleNamespace as _Namespace

import numpy as np

from proa import _C
from proa.distributed.calls import (
    Done,
    ReduceOp,
    check_list,
    check_op,
    check_rank,
    check_tensor,
    fill,
    flattened,
    is_op,
    is_outside,
    place,
    start,
    untraced,
    zeros_of,
)
from proa.distributed.environment import is_initialized
from proa.distributed.gathering import all_gather, fill_with, gather, scatter
from proa.distributed.groups import DEFAULT_TIMEOUT, Group, context, resolve
from proa.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from proa.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)

__all__ = [
    "Group",
    "P2POp",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "get_group",
    "irecv",
    "is_initialized",
    "isend",
    "new_group",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "split",
    "stream",
    "wait",
]


def get_group(id=0):
    """The group of this number; 0 is the group of all processes.

    Examples:
        >>> proa.distributed.get_group().nranks
        1
    """
    return resolve(id)


def new_group(ranks=None, backend=None, timeout=None, nccl_comm_init_option=0):
    """A group of some of the processes. All processes of the job call it, in the same order.

    Args:
        ranks (list[int], optional): their numbers; all unless given.
        backend (str, optional): what moves the data: "proa", in common memory or by sockets, or "gloo", the library of
            that name over TCP; `PADDLE_DISTRI_BACKEND`, else "proa", unless given. The same on all ranks.
        timeout (float | datetime.timedelta, optional): how long its collectives wait for others; 30 minutes unless given.

    Raises:
        ValueError: a number that no process has, or a backend that is not there.
        RuntimeError: ranks name different backends.

    Examples:
        >>> proa.distributed.new_group([0], backend="gloo").nranks
        1
    """
    job = context()
    ranks = list(range(job.size)) if ranks is None else sorted(set(ranks))
    wrong = [rank for rank in ranks if rank not in range(job.size)]
    if wrong and job.size == 1:
        raise _C.located(ValueError(f"new_group: the job has one process, number 0; ranks names {wrong[0]}"))
    if wrong:
        raise _C.located(ValueError(f"new_group: the job has processes 0 to {job.size - 1}; ranks names {wrong[0]}"))
    if hasattr(timeout, "total_seconds"):
        timeout = timeout.total_seconds()
    return job.new_group(ranks, DEFAULT_TIMEOUT if timeout is None else float(timeout), backend)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines `tensor` over all processes, in place; sums go in the order of ranks.

    Args:
        tensor (Tensor): changed in place; of one process it stays.
        op (int): one of ReduceOp.
        group (Group, optional): all processes unless given.
        sync_op (bool): wait for the result.

    Returns:
        a task with `wait()` and `is_completed()`.

    Raises:
        RuntimeError: processes disagree on the call, one of them is gone, or did not come in time.

    Examples:
        >>> x = proa.ones([2])
        >>> proa.distributed.all_reduce(x).wait()
        True
    """
    check_tensor("all_reduce", "tensor", tensor)
    name, group = check_op("all_reduce", op), resolve(group)
    if group.nranks == 1 or is_outside(group):
        return Done()
    if is_op(tensor):
        tensor[...] = _C.ops.all_reduce(tensor, group.id, name)
        return Done()
    return start(group, sync_op, "all_reduce", tensor, tensor, reduce=name)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines `tensor` over all processes into that of process `dst`, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.reduce(x, dst=0)
    """
    check_tensor("reduce", "tensor", tensor)
    root, name, group = check_rank("reduce", "dst", dst, group), check_op("reduce", op), resolve(group)
    if group.nranks == 1 or is_outside(group):
        return Done()
    if is_op(tensor):
        tensor[...] = _C.ops.reduce_to_rank(tensor, root, group.id, name)
        return Done()
    output = tensor if group.rank == root else None
    return start(group, sync_op, "reduce", tensor, output, peer=root, reduce=name)


def broadcast(tensor, src, group=None, sync_op=True, use_calc_stream=True):
    """Copies the tensor of process `src` into those of all others, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.broadcast(x, src=0)
    """
    check_tensor("broadcast", "tensor", tensor)
    root, group = check_rank("broadcast", "src", src, group), resolve(group)
    if group.nranks == 1 or is_outside(group):
        return Done()
    if is_op(tensor):
        tensor[...] = _C.ops.broadcast_from(tensor, root, group.id)
        return Done()
    return start(group, sync_op, "broadcast", tensor, tensor, peer=root)


def barrier(group=None):
    """Waits for all processes; one waits for nobody.

    Examples:
        >>> _ = proa.distributed.barrier()
    """
    group = resolve(group)
    if group.nranks > 1 and not is_outside(group):
        start(group, True, "barrier")


def alltoall(in_tensor_list, out_tensor_list, group=None, use_calc_stream=True, sync_op=True):
    """Sends the i-th tensor of `in_tensor_list` to process i, and appends what comes to `out_tensor_list`.

    Tensors may have different shapes if `out_tensor_list` holds tensors of those that come.

    Examples:
        >>> out = []
        >>> _ = proa.distributed.alltoall([proa.ones([2])], out)
        >>> out[0].tolist()
        [1.0, 1.0]
    """
    # Releases after 2.4 have the two the other way round: the list to be filled is the one that may be empty.
    if isinstance(in_tensor_list, list) and not in_tensor_list and out_tensor_list:
        in_tensor_list, out_tensor_list = out_tensor_list, in_tensor_list
    group = resolve(group)
    check_list("alltoall", "in_tensor_list", in_tensor_list, group.nranks)
    check_list("alltoall", "out_tensor_list", out_tensor_list)
    if out_tensor_list:
        check_list("alltoall", "out_tensor_list", out_tensor_list, group.nranks)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        if out_tensor_list:
            place(out_tensor_list[0], in_tensor_list[0])
        else:
            out_tensor_list.append(in_tensor_list[0].clone())
        return Done()
    shapes = [t.shape for t in (out_tensor_list or in_tensor_list)]
    gives = [t.size for t in in_tensor_list]
    gets = [int(np.prod(shape)) for shape in shapes]
    if all(shape == shapes[0] for shape in [*shapes, *[t.shape for t in in_tensor_list]]):
        return _alltoall_of_one_shape(in_tensor_list, out_tensor_list, shapes[0], group, sync_op)
    if is_op(*in_tensor_list):
        flat = _C.ops.concat([_C.ops.reshape(t, [-1]) for t in in_tensor_list], 0)
        parts = _C.ops.split(_C.ops.all_to_all(flat, group.id, gives, gets), gets, 0)
        out_tensor_list[:] = [_C.ops.reshape(p, s) for p, s in zip(parts, shapes)]
        return Done()
    into = zeros_of([sum(gets)], in_tensor_list[0])
    if out_tensor_list:
        given = list(out_tensor_list)

        def finish():
            fill(given, into)
    else:
        finish, at = None, 0
        for size, shape in zip(gets, shapes):
            part = untraced(lambda at=at, size=size, shape=shape: into[at : at + size].reshape(shape))
            out_tensor_list.append(part)
            at += size
    return start(
        group, sync_op, "all_to_all", flattened(in_tensor_list), into, finish, in_splits=gives, out_splits=gets
    )


def _alltoall_of_one_shape(gives, gets, shape, group, sync):
    """`alltoall` where all tensors are alike: rows, so that processes that have another shape are told."""
    if is_op(*gives):
        rows = _C.ops.all_to_all(_C.ops.stack(gives, 0), group.id)
        gets[:] = [rows[i] for i in range(group.nranks)]
        return Done()
    sent = untraced(lambda: _C.ops.stack([t.detach() for t in gives], 0))
    into = zeros_of(sent.shape, sent)
    finish = fill_with(into, gets)
    return start(group, sync, "all_to_all", sent, into, finish)


def alltoall_single(
    out_tensor, in_tensor, in_split_sizes=None, out_split_sizes=None, group=None, sync_op=True, use_calc_stream=True
):
    """`alltoall` of parts of one tensor: rows of dim 0, equally many unless sizes are given.

    Args:
        out_tensor (Tensor): is filled.
        in_tensor (Tensor): is divided.
        in_split_sizes (list[int], optional): rows that go to each process.
        out_split_sizes (list[int], optional): rows that come from each.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.alltoall_single(x, proa.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    # Releases before 2.5 have the input first; a reader of either names them.
    check_tensor("alltoall_single", "out_tensor", out_tensor)
    check_tensor("alltoall_single", "in_tensor", in_tensor)
    group = resolve(group)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        place(out_tensor, in_tensor)
        return Done()
    gives = gets = []
    if in_split_sizes or out_split_sizes:
        gives = _sizes("in_split_sizes", in_split_sizes, in_tensor, group)
        gets = _sizes("out_split_sizes", out_split_sizes, out_tensor, group)
    if is_op(in_tensor):
        out_tensor[...] = _C.ops.all_to_all(in_tensor, group.id, gives, gets)
        return Done()
    return start(group, sync_op, "all_to_all", in_tensor, out_tensor, in_splits=gives, out_splits=gets)


def _sizes(name, sizes, tensor, group):
    rows = tensor.shape[0] if tensor.shape else 0
    sizes = [rows // group.nranks] * group.nranks if not sizes else [int(n) for n in sizes]
    if len(sizes) != group.nranks or sum(sizes) != rows or min(sizes) < 0:
        raise _C.located(
            ValueError(
                f"alltoall_single: {name} must be {group.nranks} numbers of rows that add up to the {rows} of the tensor, "
                f"not {sizes}"
            )
        )
    return sizes


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines lists of tensors over all processes, and gives each process its part.

    Args:
        tensor (Tensor): is filled.
        tensor_list (list[Tensor] | Tensor): one for each process, or one whose dim 0 is divided.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.reduce_scatter(x, [proa.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    check_tensor("reduce_scatter", "tensor", tensor)
    name, group = check_op("reduce_scatter", op), resolve(group)
    whole = isinstance(tensor_list, _C.Tensor)
    if not whole:
        check_list("reduce_scatter", "tensor_list", tensor_list, group.nranks)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        place(tensor, tensor_list if whole else tensor_list[0])
        return Done()
    if is_op(*([tensor_list] if whole else tensor_list)):
        rows = tensor_list
        if not whole:
            rows = _C.ops.concat([t if t.shape else _C.ops.reshape(t, [1]) for t in tensor_list], 0)
        part = _C.ops.reduce_scatter(rows, group.nranks, group.id, name)
        tensor[...] = _C.ops.reshape(part, tensor.shape)
        return Done()
    input = tensor_list if whole else flattened(tensor_list)
    return start(group, sync_op, "reduce_scatter", input, tensor, reduce=name)


def wait(tensor, group=None, use_calc_stream=True):
    """Waits until the collectives of the group that were started with `sync_op=False` are over.

    Examples:
        >>> proa.distributed.wait(proa.ones([1]))
    """
    check_tensor("wait", "tensor", tensor)
    group = resolve(group)
    pending, group.pending = group.pending, []
    for task in pending:
        task.wait()


def split(x, size, operation, axis=0, num_partitions=1, gather_out=True, weight_attr=None, bias_attr=None, name=None):
    """A linear layer or an embedding whose parameter is divided among `num_partitions` processes, applied to `x`.

    Each call makes a layer; make the layers of `fleet.meta_parallel` instead where a model is called more than once.

    Args:
        x (Tensor): what the layer is applied to.
        size (list[int]): [in, out] of the whole layer, or [rows, size] of the table.
        operation (str): "linear" or "embedding".
        axis (int): of a linear layer: 0 divides the inputs (rows of the weight), 1 the outputs; of an embedding 0.
        num_partitions (int): processes of fleet's model-parallel group (`mp_degree`, or `tensor_parallel_configs`), else of the job.
        gather_out (bool): the whole output on each process, where the outputs are divided.
        weight_attr, bias_attr: as in Linear.

    Raises:
        ValueError: another number of processes, another operation or axis, or sizes that they do not divide.

    Examples:
        >>> x = proa.ones([4, 3])
        >>> proa.distributed.split(x, [3, 5], "linear").shape
        [4, 5]
        >>> proa.distributed.split(proa.to_tensor([1, 7]), [10, 2], "embedding").shape
        [2, 2]
    """
    from proa import nn

    if operation not in ("linear", "embedding"):
        raise _C.located(ValueError(f"split: operation must be 'linear' or 'embedding', not {operation!r}"))
    if num_partitions == 1 and context().size == 1:
        if operation == "linear":
            return nn.Linear(*size, weight_attr=weight_attr, bias_attr=bias_attr)(x)
        return nn.Embedding(*size, weight_attr=weight_attr)(x)
    from proa.distributed.fleet import meta_parallel as layers
    from proa.distributed.fleet.layers.mpu.mp_ops import model_group

    group = model_group()
    if group.nranks == 1 and num_partitions == context().size:
        group = get_group(0)  # nobody has said how else to divide the workers
    if num_partitions != group.nranks:
        who = "there is one process" if context().size == 1 else f"{group.nranks} processes divide a model"
        raise _C.located(ValueError(f"split: {who}, so num_partitions must be {group.nranks}, not {num_partitions}"))
    if axis not in ((0, 1) if operation == "linear" else (0,)):
        raise _C.located(ValueError(f"split: axis must be 0{' or 1' if operation == 'linear' else ''}, not {axis!r}"))
    has_bias = bias_attr is not False
    if operation == "embedding":
        layer = layers.VocabParallelEmbedding(*size, weight_attr=weight_attr, mp_group=group)
    elif axis == 0:
        layer = layers.RowParallelLinear(*size, weight_attr=weight_attr, has_bias=has_bias, mp_group=group)
    else:
        layer = layers.ColumnParallelLinear(
            *size, weight_attr=weight_attr, has_bias=has_bias, gather_output=gather_out, mp_group=group
        )
    return layer(x)


stream = _Namespace(
    all_gather=all_gather,
    all_reduce=all_reduce,
    alltoall=alltoall,
    alltoall_single=alltoall_single,
    broadcast=broadcast,
    gather=gather,
    recv=recv,
    reduce=reduce,
    reduce_scatter=reduce_scatter,
    scatter=scatter,
    send=send,
)


# Names by which model-parallel code of 2.x reaches exchanges with gradients; in a group of one they give the tensor itself.
def _get_default_group():
    """The group of all processes."""
    return get_group(0)


def _c_identity(tensor, group=None):
    from proa.distributed.fleet.layers.mpu import mp_ops

    return mp_ops.copy_in(tensor, group)


def _c_split(tensor, group=None):
    from proa.distributed.fleet.layers.mpu import mp_ops

    return mp_ops.split_last(tensor, group)


def _c_concat(tensor, group=None):
    from proa.distributed.fleet.layers.mpu import mp_ops

    return mp_ops.gather_last(tensor, group)


_concat = _c_concat


def _mp_allreduce(tensor, op=ReduceOp.SUM, group=None, use_calc_stream=True, use_model_parallel=True):
    from proa.distributed.fleet.layers.mpu import mp_ops

    return mp_ops.sum_up(tensor, group)


def _c_lookup_table(table, index, start_index=0, name=None):
    """Rows of this process's part of a table; zeros for indices of other parts."""
    from proa.distributed.fleet.layers.mpu.mp_layers import _local
    from proa.nn import functional

    here, at = _local(index, start_index, table.shape[0])
    return functional.embedding(at, table) * here.unsqueeze(-1).astype(table.dtype)
