"""Collectives among the processes of a group; every group here has this process alone.

Each function checks its arguments as it would for many members, then does what is left to do: nothing, or a copy.
"""

from types import SimpleNamespace as _Namespace

from proa import _C
from proa.distributed.environment import is_initialized, trainer_id

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


class Group:
    """Processes that take part in a collective together.

    Attributes:
        ranks (list[int]): their numbers in the job.
        nranks (int): how many they are.
        rank (int): this process's place among them, -1 if it is none of them.
        id (int): the group's number; 0 is the group of all.

    Examples:
        >>> group = proa.distributed.new_group([0])
        >>> group.ranks, group.nranks, group.rank, group.get_group_rank(3)
        ([0], 1, 0, -1)
    """

    def __init__(self, ranks, id=0, name=None):
        self.ranks = list(ranks)
        self.id = id
        self.name = name or f"_default_pg{id}"

    @property
    def nranks(self):
        return len(self.ranks)

    world_size = nranks

    @property
    def rank(self):
        return self.get_group_rank(trainer_id())

    def get_group_rank(self, rank):
        """The place of a process of the job in the group; -1 if it is not in it."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def is_member(self):
        """Whether this process is in it."""
        return self.rank >= 0

    @property
    def process_group(self):
        return self

    def __repr__(self):
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {', '.join(map(str, self.ranks))}"


_groups = {0: Group([0], 0)}


class _Done:
    """The task of a collective that is over."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def synchronize(self):
        return True


def get_group(id=0):
    """The group of this number; 0 is the group of all processes.

    Examples:
        >>> proa.distributed.get_group().nranks
        1
    """
    if id not in _groups:
        raise _C.located(ValueError(f"get_group: there is no group {id!r}; new_group makes one"))
    return _groups[id]


def new_group(ranks=None, backend=None, timeout=None, nccl_comm_init_option=0):
    """A group of some of the processes.

    Args:
        ranks (list[int], optional): their numbers; all unless given.
        backend, timeout: accepted.

    Raises:
        ValueError: a number that no process has.

    Examples:
        >>> proa.distributed.new_group([0]).nranks
        1
    """
    ranks = [0] if ranks is None else sorted(ranks)
    wrong = [rank for rank in ranks if rank != 0]
    if wrong:
        raise _C.located(ValueError(f"new_group: the job has one process, number 0; ranks names {wrong[0]}"))
    group = Group(ranks, max(_groups) + 1)
    _groups[group.id] = group
    return group


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
    members = (group or _groups[0]).ranks if not isinstance(group, int) else get_group(group).ranks
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise _C.located(TypeError(f"{what}: {name} must be an int, not {type(rank).__name__}"))
    if rank not in members:
        raise _C.located(ValueError(f"{what}: {name} is {rank}, and the processes of the group are {members}"))


def _check_op(what, op):
    if op not in (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG):
        raise _C.located(ValueError(f"{what}: op must be one of ReduceOp, not {op!r}"))


def _copy(target, source):
    with _C.eager_mode():
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            target.set_value(source.detach())
        finally:
            _C.set_grad_enabled(grad)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines `tensor` over all processes, in place.

    Args:
        tensor (Tensor): changed in place; of one process it stays.
        op (int): one of ReduceOp.
        group (Group, optional): all processes unless given.

    Examples:
        >>> x = proa.ones([2])
        >>> proa.distributed.all_reduce(x).wait()
        True
    """
    _check_tensor("all_reduce", "tensor", tensor)
    _check_op("all_reduce", op)
    return _Done()


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines `tensor` over all processes into that of process `dst`, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.reduce(x, dst=0)
    """
    _check_tensor("reduce", "tensor", tensor)
    _check_rank("reduce", "dst", dst, group)
    _check_op("reduce", op)
    return _Done()


def broadcast(tensor, src, group=None, sync_op=True, use_calc_stream=True):
    """Copies the tensor of process `src` into those of all others, in place.

    Examples:
        >>> x = proa.ones([2])
        >>> _ = proa.distributed.broadcast(x, src=0)
    """
    _check_tensor("broadcast", "tensor", tensor)
    _check_rank("broadcast", "src", src, group)
    return _Done()


def barrier(group=None):
    """Waits for all processes; one waits for nobody.

    Examples:
        >>> _ = proa.distributed.barrier()
    """


def all_gather(tensor_list, tensor, group=None, sync_op=True, use_calc_stream=True):
    """Appends the tensors of all processes to `tensor_list`, by number.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather(found, proa.ones([2])).wait()
        True
        >>> len(found)
        1
    """
    _check_tensor("all_gather", "tensor", tensor)
    if isinstance(tensor_list, _C.Tensor):
        _copy(tensor_list, tensor.reshape(tensor_list.shape))
        return _Done()
    _check_list("all_gather", "tensor_list", tensor_list)
    if not tensor_list:
        tensor_list.append(tensor.clone())
        return _Done()
    _check_list("all_gather", "tensor_list", tensor_list, 1)
    _copy(tensor_list[0], tensor)
    return _Done()


def all_gather_object(object_list, obj, group=None):
    """Appends the objects of all processes to `object_list`.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather_object(found, {"a": 1})
        >>> found
        [{'a': 1}]
    """
    if not isinstance(object_list, list):
        raise _C.located(TypeError(f"all_gather_object: object_list must be a list, not {type(object_list).__name__}"))
    object_list.append(obj)


def broadcast_object_list(object_list, src, group=None):
    """Copies the objects of process `src` into the lists of all others.

    Examples:
        >>> objects = [{"a": 1}]
        >>> proa.distributed.broadcast_object_list(objects, src=0)
        >>> objects
        [{'a': 1}]
    """
    _check_rank("broadcast_object_list", "src", src, group)


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True, use_calc_stream=True):
    """Gives each process one of the tensors that process `src` has, into `tensor`.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.scatter(x, [proa.ones([2])], src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    _check_tensor("scatter", "tensor", tensor)
    _check_rank("scatter", "src", src, group)
    _check_list("scatter", "tensor_list", [] if tensor_list is None else tensor_list, 1)
    _copy(tensor, tensor_list[0])
    return _Done()


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """Gives each process one of the objects that process `src` has, into `out_object_list`.

    Examples:
        >>> found = []
        >>> proa.distributed.scatter_object_list(found, [{"a": 1}], src=0)
        >>> found
        [{'a': 1}]
    """
    _check_rank("scatter_object_list", "src", src, group)
    if not isinstance(in_object_list, list) or len(in_object_list) != 1:
        raise _C.located(ValueError("scatter_object_list: in_object_list must be a list of one object a process, 1"))
    out_object_list[:] = in_object_list


def alltoall(in_tensor_list, out_tensor_list, group=None, use_calc_stream=True, sync_op=True):
    """Sends the i-th tensor of `in_tensor_list` to process i, and appends what comes to `out_tensor_list`.

    Examples:
        >>> out = []
        >>> _ = proa.distributed.alltoall([proa.ones([2])], out)
        >>> out[0].tolist()
        [1.0, 1.0]
    """
    # Releases after 2.4 have the two the other way round: the list to be filled is the one that may be empty.
    if isinstance(in_tensor_list, list) and not in_tensor_list and out_tensor_list:
        in_tensor_list, out_tensor_list = out_tensor_list, in_tensor_list
    _check_list("alltoall", "in_tensor_list", in_tensor_list, 1)
    _check_list("alltoall", "out_tensor_list", out_tensor_list)
    if out_tensor_list:
        _copy(out_tensor_list[0], in_tensor_list[0])
    else:
        out_tensor_list.append(in_tensor_list[0].clone())
    return _Done()


def alltoall_single(out_tensor, in_tensor, in_split_sizes=None, out_split_sizes=None, group=None, sync_op=True):
    """`alltoall` of parts of one tensor.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.alltoall_single(x, proa.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    _check_tensor("alltoall_single", "out_tensor", out_tensor)
    _check_tensor("alltoall_single", "in_tensor", in_tensor)
    _copy(out_tensor, in_tensor)
    return _Done()


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=True):
    """Combines lists of tensors over all processes, and gives each process its part.

    Examples:
        >>> x = proa.zeros([2])
        >>> _ = proa.distributed.reduce_scatter(x, [proa.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    _check_tensor("reduce_scatter", "tensor", tensor)
    _check_op("reduce_scatter", op)
    if not isinstance(tensor_list, _C.Tensor):
        _check_list("reduce_scatter", "tensor_list", tensor_list, 1)
        tensor_list = tensor_list[0]
    _copy(tensor, tensor_list)
    return _Done()


def _to_nobody(what):
    raise _C.located(RuntimeError(f"{what}: there is one process, and nobody else to exchange tensors with"))


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
    _check_tensor("send", "tensor", tensor)
    _check_rank("send", "dst", dst, group)
    _to_nobody("send")


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
    _check_tensor("recv", "tensor", tensor)
    _check_rank("recv", "src", src, group)
    _to_nobody("recv")


def isend(tensor, dst, group=None):
    """`send` that does not wait.

    Examples:
        >>> proa.distributed.isend(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    return send(tensor, dst, group)


def irecv(tensor, src=None, group=None):
    """`recv` that does not wait.

    Examples:
        >>> proa.distributed.irecv(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    return recv(tensor, 0 if src is None else src, group)


class P2POp:
    """One send or receive of `batch_isend_irecv`.

    Examples:
        >>> proa.distributed.P2POp(proa.distributed.isend, proa.ones([1]), 0).peer
        0
    """

    def __init__(self, op, tensor, peer, group=None):
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


def batch_isend_irecv(p2p_op_list):
    """Starts several sends and receives.

    Examples:
        >>> proa.distributed.batch_isend_irecv([])
        []
    """
    return [p2p.op(p2p.tensor, p2p.peer, p2p.group) for p2p in p2p_op_list]


def wait(tensor, group=None, use_calc_stream=True):
    """Waits until collectives on `tensor` are over; they are.

    Examples:
        >>> proa.distributed.wait(proa.ones([1]))
    """
    _check_tensor("wait", "tensor", tensor)


def split(x, size, operation, axis=0, num_partitions=1, gather_out=True, weight_attr=None, bias_attr=None, name=None):
    """A linear layer or an embedding whose parameter is divided among `num_partitions` processes; here, one.

    Args:
        x (Tensor): what the layer is applied to.
        size (list[int]): [in, out] of the layer, or [rows, size] of the table.
        operation (str): "linear" or "embedding".

    Raises:
        ValueError: num_partitions is not 1.

    Examples:
        >>> x = proa.ones([4, 3])
        >>> proa.distributed.split(x, [3, 5], "linear").shape
        [4, 5]
        >>> proa.distributed.split(proa.to_tensor([1, 7]), [10, 2], "embedding").shape
        [2, 2]
    """
    from proa import nn

    if num_partitions != 1:
        raise _C.located(ValueError(f"split: there is one process, so num_partitions must be 1, not {num_partitions}"))
    if operation == "linear":
        return nn.Linear(*size, weight_attr=weight_attr, bias_attr=bias_attr)(x)
    if operation == "embedding":
        return nn.Embedding(*size, weight_attr=weight_attr)(x)
    raise _C.located(ValueError(f"split: operation must be 'linear' or 'embedding', not {operation!r}"))


stream = _Namespace(
    all_gather=all_gather,
    all_reduce=all_reduce,
    alltoall=alltoall,
    broadcast=broadcast,
    reduce=reduce,
    reduce_scatter=reduce_scatter,
    scatter=scatter,
)


# Names by which model-parallel layers of 2.x reach the same things; a group of one has nothing to divide.
def _c_identity(tensor, group=None):
    return tensor


_c_split = _c_concat = _concat = _c_identity


def _mp_allreduce(tensor, op=ReduceOp.SUM, group=None, use_calc_stream=True, use_model_parallel=True):
    return tensor


def _c_lookup_table(table, index, start_index=0, name=None):
    from proa.nn import functional

    return functional.embedding(index - start_index if start_index else index, table)
