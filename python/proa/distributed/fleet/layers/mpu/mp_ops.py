"""Exchanges inside of a model, with gradients: each is the other's backward, so that they have all orders.

What every process holds whole has one gradient, the same on all of them; what is divided has its part's.
"""

import threading
import types

from proa import _C
from proa.autograd import PyLayer, no_grad
from proa.distributed import collective

__all__ = [
    "all_gather_first",
    "copy_in",
    "gather_last",
    "model_group",
    "reduce_scatter_first",
    "scatter_first",
    "split_last",
    "sum_up",
]


def model_group(group=None):
    """The group that layers of model parallelism exchange in: `group`, or that of fleet."""
    if group is not None:
        return group
    from proa.distributed.fleet.base.fleet_base import fleet

    if fleet._hcg is None:
        return collective.get_group(0)
    return fleet._hcg.get_model_parallel_group()


def _gathered(x, group, axis):
    parts = []
    collective.all_gather(parts, x.contiguous() if hasattr(x, "contiguous") else x, group)
    return _C.ops.concat(parts, axis)


def _part(x, group, axis):
    """This process's part of `x` along `axis`, a tensor of its own."""
    size = x.shape[axis]
    if size % group.nranks:
        raise _C.located(
            ValueError(
                f"a dim of {size} (axis {axis} of {list(x.shape)}) is not divided evenly among {group.nranks} processes"
            )
        )
    size //= group.nranks
    return _C.ops.slice(x, [axis % x.ndim], [group.rank * size], [(group.rank + 1) * size]).clone()


# A program holds backward as it was recorded, with the backward of that, and so on: it has so many orders.
_ORDERS = 3
_recorded = threading.local()


def _in_backward(layer, grad, *args):
    """`layer.apply(grad, *args)`; in a program, inside of backwards of backwards, at last without a gradient of its own."""
    if not _C.is_symbolic(grad):
        return layer.apply(grad, *args)
    order = getattr(_recorded, "order", 1)
    if order == _ORDERS:
        with no_grad():
            return layer.forward(types.SimpleNamespace(), grad.detach(), *args)
    _recorded.order = order + 1
    try:
        return layer.apply(grad, *args)
    finally:
        _recorded.order = order


class _Identity(PyLayer):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_Sum, grad, ctx.group)


class _Sum(PyLayer):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        y = x.clone()
        collective.all_reduce(y, group=group)
        return y

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_Identity, grad, ctx.group)


class _Split(PyLayer):
    @staticmethod
    def forward(ctx, x, group, axis):
        ctx.group, ctx.axis = group, axis
        return _part(x, group, axis)

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_Gather, grad, ctx.group, ctx.axis)


class _Gather(PyLayer):
    @staticmethod
    def forward(ctx, x, group, axis):
        ctx.group, ctx.axis = group, axis
        return _gathered(x, group, axis)

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_Split, grad, ctx.group, ctx.axis)


class _AllGather(PyLayer):
    """As _Gather, for a result that each process uses for another part of the sum: gradients add up."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _gathered(x, group, 0)

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_ReduceScatter, grad, ctx.group)


class _ReduceScatter(PyLayer):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        if x.shape[0] % group.nranks:
            raise _C.located(
                ValueError(f"the first dim of {list(x.shape)} is not divided evenly among {group.nranks} processes")
            )
        out = _C.ops.full([x.shape[0] // group.nranks, *x.shape[1:]], 0.0, x.dtype)
        collective.reduce_scatter(
            out, [part.clone() for part in _C.ops.split(x, [x.shape[0] // group.nranks] * group.nranks, 0)], group=group
        )
        return out

    @staticmethod
    def backward(ctx, grad):
        return _in_backward(_AllGather, grad, ctx.group)


def _exchange(layer, x, group, *more):
    group = model_group(group)
    return x if group.nranks == 1 else layer.apply(x, group, *more)


def copy_in(x, group=None):
    """`x` itself, used by each process for its own part of what follows: gradients are summed."""
    return _exchange(_Identity, x, group)


def sum_up(x, group=None):
    """The sum of what the processes have; gradients pass."""
    return _exchange(_Sum, x, group)


def split_last(x, group=None):
    """This process's part of the last dim; gradients are gathered."""
    return _exchange(_Split, x, group, -1)


def gather_last(x, group=None):
    """The parts of all processes side by side in the last dim; gradients are split."""
    return _exchange(_Gather, x, group, x.ndim - 1)


def scatter_first(x, group=None):
    """This process's part of the first dim (a sequence); gradients are gathered."""
    return _exchange(_Split, x, group, 0)


def gather_first(x, group=None):
    """The parts of all processes one after the other in the first dim; gradients are split."""
    return _exchange(_Gather, x, group, 0)


def all_gather_first(x, group=None):
    """As `gather_first`, before a layer that is divided: gradients are summed and split."""
    return _exchange(_AllGather, x, group)


def reduce_scatter_first(x, group=None):
    """This process's part, along the first dim, of the sum of what the processes have; gradients are gathered."""
    return _exchange(_ReduceScatter, x, group)


# As model-parallel code of 2.x calls them.
_c_identity, _c_split, _c_concat = copy_in, split_last, gather_last


def _mp_allreduce(tensor, op=None, group=None, use_calc_stream=True, use_model_parallel=True):
    return sum_up(tensor, group)
