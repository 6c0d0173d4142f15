"""Messages between processes through which gradients flow back, of any order, in programs too.

`send` and `recv` of `proa.distributed` move memory. These two are functions of tensors: who receives sends the gradient back when
it runs backward, and who has sent takes it when it does.

The loss is the sum of the losses of all processes, so both run backward: the receiver from what it made of what came, the sender
from the zero that `send` returns (added to a loss of its own, or alone). Messages go back in the reverse of the order in which they came.
"""

from proa import _C
from proa.distributed.calls import check_rank, check_tensor
from proa.distributed.groups import resolve

__all__ = ["recv", "send"]


def _peer(what, name, peer, group):
    place, group = check_rank(what, name, peer, group), resolve(group)
    if group.nranks == 1 or not group.is_member():
        raise _C.located(RuntimeError(f"{what}: there is one process, and nobody else to exchange tensors with"))
    return place, group.id


def send(x, dst=0, group=None):
    """Sends `x` to process `dst`, which calls `functional.recv`; does not wait until it is there.

    Args:
        x (Tensor): of any shape and dtype.
        dst (int): a process of the group.
        group (Group, optional): all processes unless given.

    Returns:
        Tensor: a zero of x's dtype, 0-d. Its backward waits for the gradient that comes back from `dst`, and passes it on to `x`.

    Raises:
        RuntimeError: there is nobody else; `dst` is gone.

    Examples:
        >>> from proa.distributed import functional
        >>> functional.send(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    check_tensor("send", "x", x)
    return _C.ops.send_away(x, *_peer("send", "dst", dst, group))


def recv(like, src=0, group=None):
    """What process `src` sends with `functional.send`.

    Args:
        like (Tensor): says shape and dtype. If it requires grad, the gradient of the result goes back to `src`, whose tensor
            must require grad too; that of `like` is zeros.
        src (int): a process of the group.
        group (Group, optional): all processes unless given.

    Returns:
        Tensor: of the shape and dtype of `like`.

    Raises:
        RuntimeError: there is nobody else; `src` is gone, sends another shape or dtype, or a gradient is wanted on one side alone.

    Examples:
        >>> from proa.distributed import functional
        >>> functional.recv(proa.ones([1]), 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    check_tensor("recv", "like", like)
    return _C.ops.receive_along(like, *_peer("recv", "src", src, group))
