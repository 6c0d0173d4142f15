"""Messages from one process of a group to another."""

from proa import _C
from proa.distributed.calls import Done, check_rank, check_tensor, is_outside, start
from proa.distributed.groups import resolve


def _message(kind, tensor, peer, group, sync):
    what, name = ("send", "dst") if kind == "send" else ("recv", "src")
    check_tensor(what, "tensor", tensor)
    place, group = check_rank(what, name, peer, group), resolve(group)
    if is_outside(group):
        return Done()
    if group.nranks == 1:
        raise _C.located(RuntimeError(f"{what}: there is one process, and nobody else to exchange tensors with"))
    if _C.is_symbolic(tensor):
        if kind == "send":
            _C.ops.send_to_(tensor, _C.distributed.turn(), place, group.id)
        else:
            tensor[...] = _C.ops.receive_from_(place, _C.distributed.turn(), tensor.shape, tensor.dtype, group.id)
        return Done()
    tensors = {"input": tensor} if kind == "send" else {"output": tensor}
    return start(group, sync, kind, peer=place, **tensors)


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
