"""Tensors between neighbouring stages: a header that says what comes and what for, then the tensors."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.utils.hybrid_parallel_util import Quiet

__all__ = ["Line"]

_DTYPES = [_C.float32, _C.float64, _C.float16, _C.bfloat16, _C.int64, _C.int32, _C.bool, _C.int16, _C.int8, _C.uint8]
_FLOATING = frozenset(_DTYPES[:4])
_LENGTH = 96  # numbers in a header: at most some ten tensors


class Line:
    """The pipeline of this process.

    Sends do not wait, so that two stages that send to each other at once both go on; what is sent is kept until it has
    gone. What comes before it is asked for is kept too: the neighbour may work in another order, and of two stages, or
    with several parts a stage, one neighbour sends activations and gradients.

    Args:
        group (Group): the stages, in their order; the last is followed by the first.
    """

    def __init__(self, group):
        self._group, self._stage = group, group.rank
        self._under_way = []
        self._early = {}  # (rank, what for): what has come before it was asked for

    def _rank(self, step):
        return self._group.ranks[(self._stage + step) % self._group.nranks]

    def _send(self, tensor, step, begins=False):
        """`begins`: it is the header of a message."""
        self._under_way.append((collective.isend(tensor, self._rank(step), self._group), tensor, begins))

    def send(self, tensors, step, purpose):
        """Sends a tensor or a tuple of them to the next stage (step 1) or the one before (-1).

        Args:
            purpose (Step): what the other stage needs it for.
        """
        alone = not isinstance(tensors, (tuple, list))
        tensors = [tensors] if alone else list(tensors)
        header = [*_coded(purpose), len(tensors), int(alone)]
        for tensor in tensors:
            if tensor is None:
                header.append(-1)
                continue
            if tensor.dtype not in _DTYPES:
                raise _C.located(TypeError(f"pipeline: stages do not exchange {tensor.dtype} tensors"))
            header += [_DTYPES.index(tensor.dtype), int(tensor.stop_gradient), tensor.ndim, *tensor.shape]
        if len(header) > _LENGTH:
            raise _C.located(ValueError(f"pipeline: {len(tensors)} tensors are too many between two stages"))
        self._send(_numbers(header + [0] * (_LENGTH - len(header))), step, True)
        for tensor in tensors:
            if tensor is not None:
                with Quiet():  # in their own dtype, inside of auto_cast too
                    self._send(tensor.detach().clone(), step)
        # What has gone is let go.
        self._under_way = [sent for sent in self._under_way if sent[0] is not None and not sent[0].is_completed()]

    def receive(self, step, purpose):
        """What the next stage (step 1) or the one before (-1) sends for `purpose`: a tensor, or a tuple of tensors and None."""
        wanted = (self._rank(step), _coded(purpose))
        while wanted not in self._early:
            coded, tensors = self._take(wanted[0])
            self._early[wanted[0], coded] = tensors
        return self._early.pop(wanted)

    def _take(self, rank):
        """(what for, tensors) of the next message from a stage."""
        header = _numbers([0] * _LENGTH)
        collective.recv(header, rank, self._group)
        *purpose, count, alone = header.tolist()[:5]
        header = header.tolist()[5:]
        tensors = []
        for _ in range(count):
            kind = header.pop(0)
            if kind < 0:
                tensors.append(None)
                continue
            stop_gradient, ndim = header.pop(0), header.pop(0)
            shape, header = header[:ndim], header[ndim:]
            with _C.eager_mode():
                tensor = _C.ops.full(shape, 0, _DTYPES[kind])
            collective.recv(tensor, rank, self._group)
            tensor.stop_gradient = bool(stop_gradient) or tensor.dtype not in _FLOATING
            tensors.append(tensor)
        return tuple(purpose), tensors[0] if alone else tuple(tensors)

    def wait_until(self, most):
        """Returns when at most so many messages are under way."""
        begins = [at for at, (_, _, begins) in enumerate(self._under_way) if begins]
        if len(begins) > most:
            for task, *_ in self._under_way[: begins[-most]]:
                if task is not None:
                    task.wait()

    def finish(self):
        """Returns when all that was sent has gone."""
        for task, *_ in self._under_way:
            if task is not None:
                task.wait()
        self._under_way = []


def _coded(purpose):
    return int(purpose.kind == "backward"), purpose.micro, purpose.chunk


def _numbers(values):
    from proa import to_tensor

    with _C.eager_mode():
        return to_tensor(values, dtype="int64")
