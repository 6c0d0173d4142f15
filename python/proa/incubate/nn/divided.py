"""Parts of transformers of which each process has some heads and a part of the hidden size (`ring_id`, `nranks`)."""

import contextlib

from proa import _C
from proa.nn import functional as F

__all__ = ["Ring", "divided_parameters", "ring_of"]


class Ring:
    """The processes that divide a part of a transformer: each gives a summand of its result. One process has all of it.

    Args:
        group (Group | None): they.
    """

    def __init__(self, group):
        self.group = group if group is not None and group.nranks > 1 else None

    def copy_in(self, x):
        """`x`, which each process uses for its own heads: gradients are summed."""
        if self.group is None:
            return x
        from proa.distributed.fleet.layers.mpu.mp_ops import copy_in

        return copy_in(x, self.group)

    def linear(self, x, weight, bias):
        """The linear layer behind what is divided: of [..., part] and [part, size] the sum over the processes, and the bias once."""
        if self.group is None:
            return F.linear(x, weight, bias)
        from proa.distributed.fleet.layers.mpu.mp_ops import sum_up

        y = sum_up(F.linear(x, weight), self.group)
        return y if bias is None else y + bias

    def own_numbers(self):
        """Random numbers that differ between the processes; for what is dropped of divided tensors."""
        if self.group is None:
            return contextlib.nullcontext()
        from proa.distributed.fleet.layers.mpu.mp_layers import own_numbers

        return own_numbers(self.group)


def ring_of(what, ring_id, nranks=None):
    """The Ring that `ring_id` names, the number of a group; -1 is one process.

    Args:
        what (str): begins the texts of errors.
        nranks (int, optional): as many processes it has to have.

    Raises:
        ValueError: there is no such group, or it has other numbers of processes.
    """
    if isinstance(ring_id, bool) or not isinstance(ring_id, int) or ring_id < -1:
        raise _C.located(ValueError(f"{what}: ring_id must be the number of a group, or -1; it is {ring_id!r}"))
    if ring_id == -1:
        if nranks not in (None, 1):
            raise _C.located(ValueError(f"{what}: nranks is {nranks}; ring_id must name their group (group.id)"))
        return Ring(None)
    from proa.distributed.groups import resolve

    group = resolve(ring_id)
    if nranks is not None and group.nranks != nranks:
        raise _C.located(
            ValueError(f"{what}: nranks is {nranks}, and group {ring_id} (ring_id) has {group.nranks} processes")
        )
    return Ring(group)


def divided_parameters(what, ring, nranks, **sizes):
    """(a process's share of each of the sizes, a function that makes its part of a parameter).

    The function takes `create_parameter`, its arguments but the last, and the axis along which the parameter is divided.

    Raises:
        ValueError: a size that `nranks` processes do not divide evenly.
    """
    for name, size in sizes.items():
        if size % nranks:
            raise _C.located(ValueError(f"{what}: {name} is {size}, which {nranks} processes do not divide evenly"))

    def make(create, axis, *args, **kwargs):
        with ring.own_numbers():
            parameter = create(*args, **kwargs)
        if parameter is not None and ring.group is not None:
            parameter.is_distributed = True
            parameter.split_axis, parameter.split_group = axis, ring.group
        return parameter

    return [size // nranks for size in sizes.values()], make
