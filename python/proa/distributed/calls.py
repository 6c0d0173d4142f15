"""What all collectives share: their arguments, memory at hand, and the start of one with its task."""

from proa import _C
from proa.distributed.groups import resolve


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


class Done:
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


def check_tensor(what, name, tensor):
    """TypeError unless it is a tensor."""
    if not isinstance(tensor, _C.Tensor):
        raise _C.located(TypeError(f"{what}: {name} must be a Tensor, not {type(tensor).__name__}"))


def check_list(what, name, tensors, count=None):
    """TypeError unless it is a list of tensors, ValueError unless it has `count` of them."""
    if not isinstance(tensors, (list, tuple)):
        raise _C.located(TypeError(f"{what}: {name} must be a list of tensors, not {type(tensors).__name__}"))
    for tensor in tensors:
        check_tensor(what, f"each element of {name}", tensor)
    if count is not None and len(tensors) != count:
        raise _C.located(
            ValueError(f"{what}: {name} must have one tensor for each process, {count}; it has {len(tensors)}")
        )


def check_rank(what, name, rank, group):
    """The place of a process of the job in the group."""
    members = resolve(group).ranks
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise _C.located(TypeError(f"{what}: {name} must be an int, not {type(rank).__name__}"))
    if rank not in members:
        raise _C.located(ValueError(f"{what}: {name} is {rank}, and the processes of the group are {members}"))
    return members.index(rank)


def check_op(what, op):
    """The name of a combination; ValueError for what is none of ReduceOp."""
    if op not in _OPS:
        raise _C.located(ValueError(f"{what}: op must be one of ReduceOp, not {op!r}"))
    return _OPS[op]


def copy_into(target, source):
    """Fills `target` with the elements of `source`, beside gradients and programs."""
    with _C.eager_mode():
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            target.set_value(source.detach())
        finally:
            _C.set_grad_enabled(grad)


def place(target, source):
    """Fills `target` with the elements of `source`: in programs, and where a gradient flows, by an op."""
    if is_op(target, source):
        target[...] = _C.ops.reshape(source, target.shape)
    else:
        copy_into(target, source)


def untraced(function, *args):
    """An op of tensors at hand that leaves no trace."""
    with _C.eager_mode():
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            return function(*args)
        finally:
            _C.set_grad_enabled(grad)


def is_op(*tensors):
    """Whether a call on the tensors is to be recorded or differentiated."""
    grad = _C.is_grad_enabled()
    return any(_C.is_symbolic(t) or (grad and not t.stop_gradient and not t.is_leaf) for t in tensors)


def is_outside(group):
    """Whether this process has no part in the collective, as the reference has it: the call does nothing."""
    return not group.is_member()


def start(group, sync, kind, input=None, output=None, finish=None, **rest):
    """Starts a collective on memory; its task, which is over if `sync`."""
    work = group.carrier.start(kind, input, output, wait=bool(sync), **rest)
    if sync:
        if finish is not None:
            finish()
        return Done()
    task = _Task(work, finish)
    group.pending = [t for t in group.pending if not t.is_completed() or t._finish is not None]
    group.pending.append(task)
    return task


def flattened(tensors):
    """Their elements in one vector."""
    return untraced(lambda: _C.ops.concat([_C.ops.reshape(t.detach(), [-1]) for t in tensors], 0))


def fill(tensors, flat):
    """The elements of a vector, into tensors."""
    at = 0
    for tensor in tensors:
        size = tensor.size
        copy_into(tensor, untraced(lambda t=tensor, at=at, size=size: flat[at : at + size].reshape(t.shape)))
        at += size


def zeros_of(shape, like):
    """Zeros of the dtype of `like`."""
    return untraced(lambda: _C.ops.full(shape, 0, like.dtype))
