"""Linear layers, embeddings and the cross entropy whose parameters (or classes) are divided among processes."""

import contextlib

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.layers.mpu import mp_ops
from proa.distributed.fleet.layers.mpu.random import MODEL_PARALLEL_RNG, get_rng_state_tracker
from proa.distributed.groups import rank as own_rank
from proa.nn import functional
from proa.nn.layer.layers import Layer

__all__ = ["ColumnParallelLinear", "ParallelCrossEntropy", "RowParallelLinear", "VocabParallelEmbedding"]


def _share(what, name, size, group):
    """How much of `size` a process has."""
    if size % group.nranks:
        raise _C.located(
            ValueError(
                f"{what}: {name} is {size}, which {group.nranks} processes do not divide evenly; choose a multiple"
            )
        )
    return size // group.nranks


def own_numbers(group):
    """Random numbers of each process its own: parts of one parameter must not be drawn from equal ones."""
    tracker = get_rng_state_tracker()
    if group.nranks == 1:
        return contextlib.nullcontext()
    if MODEL_PARALLEL_RNG not in tracker.states_:
        tracker.add(MODEL_PARALLEL_RNG, 100003 + own_rank())
    return tracker.rng_state(MODEL_PARALLEL_RNG)


class _Divided(Layer):
    """A layer with a parameter of which this process has one part along `axis`."""

    def _divided(self, group, shape, attr, axis, is_bias=False):
        with own_numbers(group):
            parameter = self.create_parameter(shape, attr, is_bias=is_bias)
        if parameter is not None and group.nranks > 1:
            parameter.is_distributed = True
            parameter.split_axis, parameter.split_group = axis, group
        return parameter


class ColumnParallelLinear(_Divided):
    """A linear layer whose outputs are divided among the processes of a group.

    Args:
        in_features, out_features (int): sizes of the whole layer.
        weight_attr (ParamAttr, optional): of the weight's part, [in_features, out_features / processes].
        has_bias (bool, optional): a bias, of which each process has its part; None means none.
        gather_output (bool): every process gets the whole output; else its part, for a RowParallelLinear.
        fuse_matmul_bias (bool): accepted; it is one op.
        mp_group (Group, optional): that of `fleet` for model parallelism unless given.

    Shape:
        x: [..., in_features], the same on all processes; result: [..., out_features], or the part.

    Raises:
        ValueError: the processes do not divide out_features evenly.
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=None, gather_output=True,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        super().__init__()
        self.group = mp_ops.model_group(mp_group)
        self.world_size, self.gather_output, self.name = self.group.nranks, gather_output, name
        self.is_mp = self.world_size > 1
        size = _share("ColumnParallelLinear", "out_features", out_features, self.group)
        self.output_size_per_partition = size
        self.weight = self._divided(self.group, [in_features, size], weight_attr, 1)
        self.bias = self._divided(self.group, [size], None, 0, is_bias=True) if has_bias else None

    def forward(self, x):
        y = _C.ops.linear(mp_ops.copy_in(x, self.group), self.weight, self.bias)
        return mp_ops.gather_last(y, self.group) if self.gather_output else y


class RowParallelLinear(_Divided):
    """A linear layer whose inputs are divided among the processes of a group.

    Args:
        in_features, out_features (int): sizes of the whole layer.
        weight_attr (ParamAttr, optional): of the weight's part, [in_features / processes, out_features].
        has_bias (bool): a bias, the same on all processes.
        input_is_parallel (bool): the input is this process's part (from a ColumnParallelLinear); else it is split here.
        fuse_matmul_bias (bool): accepted.
        mp_group (Group, optional): as in ColumnParallelLinear.

    Shape:
        x: [..., in_features], or its part; result: [..., out_features] on all processes.

    Raises:
        ValueError: the processes do not divide in_features evenly.
    """

    def __init__(self, in_features, out_features, weight_attr=None, has_bias=True, input_is_parallel=False,
                 fuse_matmul_bias=False, mp_group=None, name=None):  # fmt: skip
        super().__init__()
        self.group = mp_ops.model_group(mp_group)
        self.world_size, self.input_is_parallel, self.name = self.group.nranks, input_is_parallel, name
        self.is_mp = self.world_size > 1
        size = _share("RowParallelLinear", "in_features", in_features, self.group)
        self.input_size_per_partition = size
        self.weight = self._divided(self.group, [size, out_features], weight_attr, 0)
        self.bias = self.create_parameter([out_features], None, is_bias=True) if has_bias else None

    def forward(self, x):
        if not self.input_is_parallel:
            x = mp_ops.split_last(x, self.group)
        if not self.is_mp:
            return _C.ops.linear(x, self.weight, self.bias)
        y = mp_ops.sum_up(_C.ops.linear(x, self.weight, None), self.group)
        return y if self.bias is None else y + self.bias


class VocabParallelEmbedding(_Divided):
    """An embedding whose rows are divided among the processes of a group.

    Args:
        num_embeddings, embedding_dim (int): sizes of the whole table.
        weight_attr (ParamAttr, optional): of the part, [num_embeddings / processes, embedding_dim].
        mp_group (Group, optional): as in ColumnParallelLinear.

    Shape:
        x: any, of int64 or int32, the same on all processes; result: x's and embedding_dim.

    Raises:
        ValueError: the processes do not divide num_embeddings evenly.
    """

    def __init__(self, num_embeddings, embedding_dim, weight_attr=None, mp_group=None, name=None):
        super().__init__()
        self.group = mp_ops.model_group(mp_group)
        self.world_size, self.name, self.num_embeddings = self.group.nranks, name, num_embeddings
        self.is_mp = self.world_size > 1
        self._size = _share("VocabParallelEmbedding", "num_embeddings", num_embeddings, self.group)
        self.vocab_start_index = max(0, self.group.rank) * self._size
        self.weight = self._divided(self.group, [self._size, embedding_dim], weight_attr, 0)

    def forward(self, x):
        if not self.is_mp:
            return functional.embedding(x, self.weight)
        here, at = _local(x, self.vocab_start_index, self._size)
        found = functional.embedding(at, self.weight) * here.unsqueeze(-1).astype(self.weight.dtype)
        return mp_ops.sum_up(found, self.group)


def _local(index, start, size):
    """(whether each index is among `size` from `start`, its place there or 0)."""
    at = index - start
    here = (at >= 0).logical_and(at < size)
    return here, at * here.astype(index.dtype)


class ParallelCrossEntropy(Layer):
    """softmax_with_cross_entropy of logits whose classes are divided among the processes of a group.

    Args:
        mp_group (Group, optional): as in ColumnParallelLinear.
        ignore_index (int): labels whose loss is 0.

    Shape:
        input: [..., classes / processes]; label: [...] or [..., 1]; result: [..., 1], the same on all processes.
    """

    def __init__(self, mp_group=None, name=None, ignore_index=-100):
        super().__init__()
        self.group = mp_ops.model_group(mp_group)
        self.ignore_index, self.name = ignore_index, name

    def forward(self, input, label):
        label = label if label.ndim == input.ndim else label.unsqueeze(-1)
        if self.group.nranks == 1:
            return functional.cross_entropy(input, label, ignore_index=self.ignore_index, reduction="none")
        dtype = input.dtype
        x = input.astype("float32") if dtype in (_C.float16, _C.bfloat16) else input
        highest = x.detach().max(-1, keepdim=True)
        collective.all_reduce(highest, collective.ReduceOp.MAX, self.group)
        x = x - highest
        total = mp_ops.sum_up(x.exp().sum(-1, keepdim=True), self.group)
        size = input.shape[-1]
        here, at = _local(label, self.group.rank * size, size)
        own = _C.ops.take_along_axis(x, at, -1) * here.astype(x.dtype)
        loss = total.log() - mp_ops.sum_up(own, self.group)
        return (loss * (label != self.ignore_index).astype(x.dtype)).astype(dtype)
