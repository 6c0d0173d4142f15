"""Sequence parallel: what stands between layers that are divided by tensor is divided by sequence.

Tensors are `[length, batch, size]`. Between two divided layers each process has its part of the length, so that norms,
dropout and sums are done once and kept once. A ColumnSequenceParallelLinear gathers the sequence before it, a
RowSequenceParallelLinear adds up and divides it behind it: as many bytes as the sum of plain tensor parallelism.

Parameters that see a part of the sequence (norms, and the bias behind a RowSequenceParallelLinear) have a gradient of that
part alone: `mark_as_sequence_parallel_parameter` says so, and the optimizer of fleet adds the parts up before a step.
"""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.layers.mpu import mp_ops
from proa.distributed.fleet.layers.mpu.mp_layers import ColumnParallelLinear, RowParallelLinear
from proa.framework.grad_mode import no_grad

__all__ = [
    "AllGatherOp",
    "ColumnSequenceParallelLinear",
    "GatherOp",
    "ReduceScatterOp",
    "RowSequenceParallelLinear",
    "ScatterOp",
    "all_gather",
    "is_sequence_parallel_parameter",
    "mark_as_sequence_parallel_parameter",
    "reduce_scatter",
    "reduce_sequence_parallel_gradients",
    "register_sequence_parallel_allreduce_hooks",
    "scatter",
]


class ScatterOp:
    """This process's part of the first dim; gradients are gathered.

    Examples:
        >>> from proa.distributed.fleet.utils.sequence_parallel_utils import ScatterOp
        >>> ScatterOp.apply(proa.ones([4, 2])).shape
        [4, 2]
    """

    apply = staticmethod(mp_ops.scatter_first)


class GatherOp:
    """The parts of all processes one after the other in the first dim; gradients are split."""

    apply = staticmethod(mp_ops.gather_first)


class AllGatherOp:
    """As GatherOp, before a layer that is divided: gradients are summed and split."""

    apply = staticmethod(mp_ops.all_gather_first)


class ReduceScatterOp:
    """This process's part, along the first dim, of the sum of what the processes have; gradients are gathered."""

    apply = staticmethod(mp_ops.reduce_scatter_first)


scatter, all_gather, reduce_scatter = mp_ops.scatter_first, mp_ops.all_gather_first, mp_ops.reduce_scatter_first


def mark_as_sequence_parallel_parameter(parameter):
    """Says that a parameter is whole on each process and sees its part of the sequence alone."""
    parameter.sequence_parallel = True


def is_sequence_parallel_parameter(parameter):
    """Whether `mark_as_sequence_parallel_parameter` was called on it."""
    return getattr(parameter, "sequence_parallel", False)


@no_grad()
def reduce_sequence_parallel_gradients(parameters, group=None):
    """Adds up the gradients of marked parameters over the group; those that a hook adds up in backward are left.

    Args:
        parameters (list[Tensor]): the same on all processes of the group.
        group (Group, optional): that of `fleet` for model parallelism unless given.
    """
    from proa.distributed.fleet.utils.hybrid_parallel_util import average_gradients

    group = mp_ops.model_group(group)
    marked = [p for p in parameters if is_sequence_parallel_parameter(p) and not getattr(p, "reduced_by_hook", False)]
    average_gradients([p for p in marked if not p.stop_gradient], group, total=True)


def register_sequence_parallel_allreduce_hooks(model, accumulation_steps=1, fuse_sequence_parallel_allreduce=False):
    """Adds up the gradients of marked parameters during backward, for programs whose optimizer is not that of fleet.

    Args:
        model (Layer): with marked parameters.
        accumulation_steps (int): of no effect: each backward's gradient is added up by itself.
        fuse_sequence_parallel_allreduce (bool): accepted.
    """
    group = mp_ops.model_group()
    if group.nranks == 1:
        return
    for parameter in model.parameters():
        if is_sequence_parallel_parameter(parameter) and not parameter.stop_gradient:
            parameter.register_hook(_summed(group))
            parameter.reduced_by_hook = True


def _summed(group):
    @no_grad()
    def hook(grad):
        with _C.eager_mode():
            total = grad.detach().clone()
            collective.all_reduce(total, group=group)
        return total

    return hook


class ColumnSequenceParallelLinear(ColumnParallelLinear):
    """A ColumnParallelLinear whose input is divided by sequence.

    Args:
        in_features, out_features (int): sizes of the whole layer.
        weight_attr (ParamAttr, optional): of the weight's part, [in_features, out_features / processes].
        has_bias (bool, optional): a bias, of which each process has its part; None means none.
        gather_output (bool): must be False: outputs are divided by size.
        fuse_matmul_bias (bool): accepted.
        mp_group (Group, optional): that of `fleet` for model parallelism unless given.

    Shape:
        x: [length / processes, batch, in_features]; result: [length, batch, out_features / processes].

    Raises:
        ValueError: gather_output, or the processes do not divide out_features evenly.

    Examples:
        >>> from proa.distributed.fleet.utils.sequence_parallel_utils import ColumnSequenceParallelLinear
        >>> ColumnSequenceParallelLinear(4, 6, has_bias=True)(proa.ones([5, 2, 4])).shape
        [5, 2, 6]
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=None, gather_output=False,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        if gather_output:
            raise _C.located(
                ValueError(
                    "ColumnSequenceParallelLinear: gather_output must be False; a ColumnParallelLinear gathers its outputs"
                )
            )
        super().__init__(in_features, out_features, weight_attr, has_bias, False, fuse_matmul_bias, mp_group, name)

    def forward(self, x):
        return _C.ops.linear(mp_ops.all_gather_first(x, self.group), self.weight, self.bias)


class RowSequenceParallelLinear(RowParallelLinear):
    """A RowParallelLinear whose output is divided by sequence; its bias is marked as a sequence parallel parameter.

    Args:
        in_features, out_features (int): sizes of the whole layer.
        weight_attr (ParamAttr, optional): of the weight's part, [in_features / processes, out_features].
        has_bias (bool): a bias, the same on all processes.
        input_is_parallel (bool): must be True: inputs are divided by size.
        fuse_matmul_bias (bool): accepted.
        mp_group (Group, optional): that of `fleet` for model parallelism unless given.

    Shape:
        x: [length, batch, in_features / processes]; result: [length / processes, batch, out_features].

    Raises:
        ValueError: input_is_parallel is False, or the processes do not divide in_features (or, in forward, the length) evenly.

    Examples:
        >>> from proa.distributed.fleet.utils.sequence_parallel_utils import RowSequenceParallelLinear
        >>> RowSequenceParallelLinear(4, 6)(proa.ones([5, 2, 4])).shape
        [5, 2, 6]
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=True, input_is_parallel=True,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        if not input_is_parallel:
            raise _C.located(
                ValueError(
                    "RowSequenceParallelLinear: input_is_parallel must be True; a RowParallelLinear splits its inputs"
                )
            )
        super().__init__(in_features, out_features, weight_attr, has_bias, True, fuse_matmul_bias, mp_group, name)
        if self.bias is not None:
            mark_as_sequence_parallel_parameter(self.bias)

    def forward(self, x):
        y = mp_ops.reduce_scatter_first(_C.ops.linear(x, self.weight, None), self.group)
        return y if self.bias is None else y + self.bias
