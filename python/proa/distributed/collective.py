"""Collectives among the processes of a group.

Without gradients they work in place on memory, and `sync_op=False` returns a task that is done later. Where a gradient is
to flow, and in programs, they are ops (`ops/collective`), which are recorded and differentiated like others. In a group
of one they check their arguments and do what is left to do: nothing, or a copy.
"""

import pickle
from types import SimpleNamespace as _Namespace

import numpy as np

from proa import _C
from proa.distributed.environment import is_initialized
from proa.distributed.groups import Group, context, resolve

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
    "get_group",
    "irecv",
    "is_initialized",
    "isend",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "split",
    "stream",
    "wait",
]


class ReduceOp:
    """How `all_reduce` and `reduce` combine: SUM, MAX, MIN, PROD, AVG.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.all_reduce(x, proa.distributed.ReduceOp.MAX)
        >>> x.tolist()
        [1.0, 1.0]
    """

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


_OPS = {ReduceOp.SUM: "sum", ReduceOp.MAX: "max", ReduceOp.MIN: "min", ReduceOp.PROD: "prod", ReduceOp.AVG: "avg"}


class _Done:
    """The task of a collective that is over."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def synchronize(self):
        return True


class _Task:
    """A collective that runs: `wait` returns when it is over, or raises what went wrong in it."""

    def __init__(self, work, finish=None):
        self._work, self._finish = work, finish

    def wait(self, timeout=None):
        """Waits, at most `timeout` seconds; False if it is not over then."""
        if not self._work.wait(timeout):
            return False
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    def is_completed(self):
        """Whether `wait` would return at once."""
        return self._work.is_completed()

    def synchronize(self):
        """`wait()`."""
        return self.wait()


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
        backend (str, optional): accepted; bytes go as they go in the group of all.
        timeout (float | datetime.timedelta, optional): how long its collectives wait for others; 30 minutes unless given.

    Raises:
        ValueError: a number that no process has.

    Examples:
        >>> proa.distributed.new_group([0]).nranks
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
    return job.new_group(ranks) if timeout is None else job.new_group(ranks, float(timeout))


def _check_tensor(what, name, tensor):
    if not isinstance(tensor, _C.Tensor):
        raise _C.located(TypeError(f"{what}: {name} must be a Tensor, not {type(tensor).__name__}"))


def _check_list(what, name, tensors, count=None):
    if not isinstance(tensors, (list, tuple)):
        raise _C.located(TypeError(f"{what}: {name} must be a list of tensors, not {type(tensors).__name__}"))
    for tensor in tensors:
        _check_tensor(what, f"each element of {name}", tensor)
    if count is not None and len(tensors) != count:
        raise _C.located(
            ValueError(f"{what}: {name} must have one tensor for each process, {count}; it has {len(tensors)}")
        )


def _check_rank(what, name, rank, group):
    """The place of a process of the job in the group."""
    members = resolve(group).ranks
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise _C.located(TypeError(f"{what}: {name} must be an int, not {type(rank).__name__}"))
    if rank not in members:
        raise _C.located(ValueError(f"{what}: {name} is {rank}, and the processes of the group are {members}"))
    return members.index(rank)


def _check_op(what, op):
    if op not in _OPS:
        raise _C.located(ValueError(f"{what}: op must be one of ReduceOp, not {op!r}"))
    return _OPS[op]


def _copy(target, source):
    with _C.eager_mode():
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            target.set_value(source.detach())
        finally:
            _C.set_grad_enabled(grad)


def _plain(function, *args):
    """An op of tensors at hand that leaves no trace."""
    with _C.eager_mode():
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            return function(*args)
        finally:
            _C.set_grad_enabled(grad)


def _is_op(*tensors):
    """Whether a call on the tensors is to be recorded or differentiated."""
    grad = _C.is_grad_enabled()
    return any(_C.is_symbolic(t) or (grad and not t.stop_gradient and not t.is_leaf) for t in tensors)


def _outside(group):
    """Whether this process has no part in the collective, as the reference has it: the call does nothing."""
    return not group.is_member()


def _start(group, sync, kind, input=None, output=None, finish=None, **rest):
    """Starts a collective on memory; its task, which is over if `sync`."""
    work = group.carrier.start(kind, input, output, wait=bool(sync), **rest)
    if sync:
        if finish is not None:
            finish()
        return _Done()
    task = _Task(work, finish)
    group.pending = [t for t in group.pending if not t.is_completed() or t._finish is not None]
    group.pending.append(task)
    return task


def _flat(tensors):
    """Their elements in one vector."""
    return _plain(lambda: _C.ops.concat([_C.ops.reshape(t.detach(), [-1]) for t in tensors], 0))


def _fill(tensors, flat):
    """The elements of a vector, into tensors."""
    at = 0
    for tensor in tensors:
        size = tensor.size
        _copy(tensor, _plain(lambda t=tensor, at=at, size=size: flat[at : at + size].reshape(t.shape)))
        at += size


def _empty(shape, like):
    return _plain(lambda: _C.ops.full(shape, 0, like.dtype))


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
    _check_tensor("all_reduce", "tensor", tensor)
    name, group = _check_op("all_reduce", op), resolve(group)
    if group.nranks == 1 or _outside(group):
        return _Done()
    if _is_op(tensor):
        tensor[...] = _C.ops.all_reduce(tensor, group.id, name)
        return _Done()
    return _start(group, sync_op, "all_reduce", tensor, tensor, reduce=name)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines `tensor` over all processes into that of process `dst`, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.reduce(x, dst=0)
    """
    _check_tensor("reduce", "tensor", tensor)
    root, name, group = _check_rank("reduce", "dst", dst, group), _check_op("reduce", op), resolve(group)
    if group.nranks == 1 or _outside(group):
        return _Done()
    if _is_op(tensor):
        tensor[...] = _C.ops.reduce_to_rank(tensor, root, group.id, name)
        return _Done()
    output = tensor if group.rank == root else None
    return _start(group, sync_op, "reduce", tensor, output, peer=root, reduce=name)


def broadcast(tensor, src, group=None, sync_op=True, use_calc_stream=True):
    """Copies the tensor of process `src` into those of all others, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.broadcast(x, src=0)
    """
    _check_tensor("broadcast", "tensor", tensor)
    root, group = _check_rank("broadcast", "src", src, group), resolve(group)
    if group.nranks == 1 or _outside(group):
        return _Done()
    if _is_op(tensor):
        tensor[...] = _C.ops.broadcast_from(tensor, root, group.id)
        return _Done()
    return _start(group, sync_op, "broadcast", tensor, tensor, peer=root)


def barrier(group=None):
    """Waits for all processes; one waits for nobody.

    Examples:
        >>> _ = proa.distributed.barrier()
    """
    group = resolve(group)
    if group.nranks > 1 and not _outside(group):
        _start(group, True, "barrier")


def all_gather(tensor_list, tensor, group=None, sync_op=True, use_calc_stream=True):
    """Appends the tensors of all processes to `tensor_list`, by number; fills the tensors that it has.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather(found, proa.ones([2])).wait()
        True
        >>> len(found)
        1
    """
    _check_tensor("all_gather", "tensor", tensor)
    group = resolve(group)
    into_one = isinstance(tensor_list, _C.Tensor)
    if not into_one:
        _check_list("all_gather", "tensor_list", tensor_list)
        if tensor_list:
            _check_list("all_gather", "tensor_list", tensor_list, group.nranks)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        if into_one:
            _copy(tensor_list, tensor.reshape(tensor_list.shape))
        elif tensor_list:
            _copy(tensor_list[0], tensor)
        else:
            tensor_list.append(tensor.clone())
        return _Done()
    if _is_op(tensor):
        rows = _C.ops.all_gather(_C.ops.reshape(tensor, [1, *tensor.shape]), group.nranks, group.id)
        if into_one:
            tensor_list[...] = _C.ops.reshape(rows, tensor_list.shape)
        else:
            tensor_list[:] = [rows[i] for i in range(group.nranks)]
        return _Done()
    if into_one:
        return _start(group, sync_op, "all_gather", tensor, tensor_list)
    rows = _empty([group.nranks, *tensor.shape], tensor)
    if tensor_list:
        given = list(tensor_list)

        def finish():
            for i, part in enumerate(given):
                _copy(part, _plain(lambda i=i: rows[i]))
    else:
        finish = None
        tensor_list.extend(_plain(lambda: [rows[i] for i in range(group.nranks)]))
    return _start(group, sync_op, "all_gather", tensor, rows, finish)


def _to_bytes(obj):
    return _C.to_tensor(np.frombuffer(pickle.dumps(obj), np.uint8).copy())


def _from_bytes(tensor):
    return pickle.loads(tensor.numpy().tobytes())


def all_gather_object(object_list, obj, group=None):
    """Appends the objects of all processes to `object_list`. They are pickled: between processes that trust each other.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather_object(found, {"a": 1})
        >>> found
        [{'a': 1}]
    """
    if not isinstance(object_list, list):
        raise _C.located(TypeError(f"all_gather_object: object_list must be a list, not {type(object_list).__name__}"))
    group = resolve(group)
    if _outside(group):
        return
    if group.nranks == 1:
        object_list.append(obj)
        return
    own = _to_bytes(obj)
    sizes = _gather_sizes(own.size, group)
    flat = _empty([sum(sizes)], own)
    _start(group, True, "all_gather", own, flat, out_splits=sizes)
    at = 0
    for size in sizes:
        object_list.append(_from_bytes(flat[at : at + size]))
        at += size


def _gather_sizes(size, group):
    sizes = _C.to_tensor(np.zeros(group.nranks, np.int64))
    _start(group, True, "all_gather", _C.to_tensor(np.array([size], np.int64)), sizes)
    return sizes.tolist()


def broadcast_object_list(object_list, src, group=None):
    """Copies the objects of process `src` into the lists of all others.

    Examples:
        >>> objects = [{"a": 1}]
        >>> proa.distributed.broadcast_object_list(objects, src=0)
        >>> objects
        [{'a': 1}]
    """
    root, group = _check_rank("broadcast_object_list", "src", src, group), resolve(group)
    if group.nranks == 1 or _outside(group):
        return
    mine = group.rank == root
    data = _to_bytes(object_list) if mine else None
    size = _C.to_tensor(np.array([data.size if mine else 0], np.int64))
    _start(group, True, "broadcast", size, size, peer=root)
    if not mine:
        data = _empty([size.item()], _C.to_tensor(np.zeros(1, np.uint8)))
    _start(group, True, "broadcast", data, data, peer=root)
    if not mine:
        object_list[:] = _from_bytes(data)


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True, use_calc_stream=True):
    """Gives each process one of the tensors that process `src` has, into `tensor`.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.scatter(x, [proa.ones([2])], src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    _check_tensor("scatter", "tensor", tensor)
    root, group = _check_rank("scatter", "src", src, group), resolve(group)
    mine = group.rank == root
    if mine:
        _check_list("scatter", "tensor_list", [] if tensor_list is None else tensor_list, group.nranks)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        _copy(tensor, tensor_list[0])
        return _Done()
    input = _flat(tensor_list) if mine else None
    return _start(group, sync_op, "scatter", input, tensor, peer=root)


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """Gives each process one of the objects that process `src` has, into `out_object_list`.

    Examples:
        >>> found = []
        >>> proa.distributed.scatter_object_list(found, [{"a": 1}], src=0)
        >>> found
        [{'a': 1}]
    """
    root, group = _check_rank("scatter_object_list", "src", src, group), resolve(group)
    mine = group.rank == root
    if mine and (not isinstance(in_object_list, list) or len(in_object_list) != group.nranks):
        raise _C.located(
            ValueError(f"scatter_object_list: in_object_list must be a list of one object a process, {group.nranks}")
        )
    if _outside(group):
        return
    if group.nranks == 1:
        out_object_list[:] = in_object_list
        return
    found = [in_object_list if mine else None]
    broadcast_object_list(found, group.ranks[root], group)
    out_object_list[:] = [found[0][group.rank]]


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
    _check_list("alltoall", "in_tensor_list", in_tensor_list, group.nranks)
    _check_list("alltoall", "out_tensor_list", out_tensor_list)
    if out_tensor_list:
        _check_list("alltoall", "out_tensor_list", out_tensor_list, group.nranks)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        if out_tensor_list:
            _copy(out_tensor_list[0], in_tensor_list[0])
        else:
            out_tensor_list.append(in_tensor_list[0].clone())
        return _Done()
    shapes = [t.shape for t in (out_tensor_list or in_tensor_list)]
    gives = [t.size for t in in_tensor_list]
    gets = [int(np.prod(shape)) for shape in shapes]
    if _is_op(*in_tensor_list):
        flat = _C.ops.concat([_C.ops.reshape(t, [-1]) for t in in_tensor_list], 0)
        parts = _C.ops.split(_C.ops.all_to_all(flat, group.id, gives, gets), gets, 0)
        out_tensor_list[:] = [_C.ops.reshape(p, s) for p, s in zip(parts, shapes)]
        return _Done()
    into = _empty([sum(gets)], in_tensor_list[0])
    if out_tensor_list:
        given = list(out_tensor_list)

        def finish():
            _fill(given, into)
    else:
        finish, at = None, 0
        for size, shape in zip(gets, shapes):
            part = _plain(lambda at=at, size=size, shape=shape: into[at : at + size].reshape(shape))
            out_tensor_list.append(part)
            at += size
    return _start(group, sync_op, "all_to_all", _flat(in_tensor_list), into, finish, in_splits=gives, out_splits=gets)


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
    _check_tensor("alltoall_single", "out_tensor", out_tensor)
    _check_tensor("alltoall_single", "in_tensor", in_tensor)
    group = resolve(group)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        _copy(out_tensor, in_tensor)
        return _Done()
    gives = gets = []
    if in_split_sizes or out_split_sizes:
        gives = _sizes("in_split_sizes", in_split_sizes, in_tensor, group)
        gets = _sizes("out_split_sizes", out_split_sizes, out_tensor, group)
    if _is_op(in_tensor):
        out_tensor[...] = _C.ops.all_to_all(in_tensor, group.id, gives, gets)
        return _Done()
    return _start(group, sync_op, "all_to_all", in_tensor, out_tensor, in_splits=gives, out_splits=gets)


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
    _check_tensor("reduce_scatter", "tensor", tensor)
    name, group = _check_op("reduce_scatter", op), resolve(group)
    whole = isinstance(tensor_list, _C.Tensor)
    if not whole:
        _check_list("reduce_scatter", "tensor_list", tensor_list, group.nranks)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        _copy(tensor, tensor_list if whole else tensor_list[0])
        return _Done()
    if _is_op(*([tensor_list] if whole else tensor_list)):
        flat = tensor_list if whole else _C.ops.concat([_C.ops.reshape(t, [-1]) for t in tensor_list], 0)
        part = _C.ops.reduce_scatter(flat, group.nranks, group.id, name)
        tensor[...] = _C.ops.reshape(part, tensor.shape)
        return _Done()
    input = tensor_list if whole else _flat(tensor_list)
    return _start(group, sync_op, "reduce_scatter", input, tensor, reduce=name)


def _message(kind, tensor, peer, group, sync):
    what, name = ("send", "dst") if kind == "send" else ("recv", "src")
    _check_tensor(what, "tensor", tensor)
    place, group = _check_rank(what, name, peer, group), resolve(group)
    if _outside(group):
        return _Done()
    if group.nranks == 1:
        raise _C.located(RuntimeError(f"{what}: there is one process, and nobody else to exchange tensors with"))
    if _C.is_symbolic(tensor):
        if kind == "send":
            _C.ops.send_to_(tensor, _C.distributed.turn(), place, group.id)
        else:
            tensor[...] = _C.ops.receive_from_(place, _C.distributed.turn(), tensor.shape, tensor.dtype, group.id)
        return _Done()
    tensors = {"input": tensor} if kind == "send" else {"output": tensor}
    return _start(group, sync, kind, peer=place, **tensors)


def send(tensor, dst=0, group=None, sync_op=True, use_calc_stream=True):
    """Sends `tensor` to process `dst`, which must call `recv`.

    Raises:
        RuntimeError: there is nobody else.

    Examples:
        >>> proa.distributed.send(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...
    """
    return _message("send", tensor, dst, group, sync_op)


def recv(tensor, src=0, group=None, sync_op=True, use_calc_stream=True):
    """Receives `tensor` from process `src`, which must call `send`.

    Raises:
        RuntimeError: there is nobody else.

    Examples:
        >>> proa.distributed.recv(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    return _message("receive", tensor, src, group, sync_op)


def isend(tensor, dst, group=None):
    """`send` that does not wait: returns a task. The tensor must not be changed before it is over.

    Examples:
        >>> proa.distributed.isend(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    return _message("send", tensor, dst, group, False)


def irecv(tensor, src=None, group=None):
    """`recv` that does not wait: returns a task.

    Examples:
        >>> proa.distributed.irecv(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    return _message("receive", tensor, 0 if src is None else src, group, False)


class P2POp:
    """One send or receive of `batch_isend_irecv`.

    Examples:
        >>> proa.distributed.P2POp(proa.distributed.isend, proa.ones([1]), 0).peer
        0
    """

    def __init__(self, op, tensor, peer, group=None):
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


def batch_isend_irecv(p2p_op_list):
    """Starts several sends and receives; a task for each.

    Examples:
        >>> proa.distributed.batch_isend_irecv([])
        []
    """
    return [p2p.op(p2p.tensor, p2p.peer, p2p.group) for p2p in p2p_op_list]


def wait(tensor, group=None, use_calc_stream=True):
    """Waits until the collectives of the group that were started with `sync_op=False` are over.

    Examples:
        >>> proa.distributed.wait(proa.ones([1]))
    """
    _check_tensor("wait", "tensor", tensor)
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
        num_partitions (int): processes of the job, or of fleet's model-parallel group.
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
    broadcast=broadcast,
    reduce=reduce,
    reduce_scatter=reduce_scatter,
    scatter=scatter,
)


# Names by which model-parallel code of 2.x reaches exchanges with gradients; in a group of one they give the tensor itself.
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
