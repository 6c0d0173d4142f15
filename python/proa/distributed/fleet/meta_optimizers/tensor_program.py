"""Static programs with layers that neighbouring workers divide: `strategy.tensor_parallel`, or `mp_degree`, in static mode."""

import math

from proa import _C
from proa.distributed import collective
from proa.distributed.calls import untraced
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip import over_ranks
from proa.distributed.fleet.utils.sequence_parallel_utils import is_sequence_parallel_parameter
from proa.distributed.state_names import divided_owner

__all__ = ["TensorProgram"]


class TensorProgram:
    """What workers know of the parameters of which each has a part (`is_distributed`, along `split_axis`).

    Args:
        inner (Optimizer): its clips by norm become those of whole parameters.
        parameters (list[Tensor]): of the program.
        hcg (HybridCommunicateGroup): the groups of this worker.
    """

    def __init__(self, inner, parameters, hcg):
        self.group, self.data_group = hcg.get_model_parallel_group(), hcg.get_data_parallel_group()
        self._parts = {p.name: (getattr(p, "split_axis", None), list(p.shape)) for p in parameters if p.is_distributed}
        unknown = [name for name, (axis, _) in self._parts.items() if axis is None]
        if unknown:
            raise _C.located(
                ValueError(
                    f"fleet: parameter {unknown[0]!r} is_distributed and does not say along which axis; set its split_axis, or make it "
                    "by a layer of fleet.meta_parallel or by paddle.distributed.split"
                )
            )
        inner._change_clips(lambda clip: over_ranks(clip, self.group, self._counts))

    def _counts(self, parameter):
        """Whether this worker counts a gradient for the norm of all."""
        return parameter.name in self._parts or self.group.rank == 0

    def begin_equal(self, name, value):
        """Gives all workers that hold the same the value of the first of them."""
        group = self.data_group if name in self._parts else collective.get_group(0)
        if group.nranks > 1:
            collective.broadcast(value, group.ranks[0], group)

    def summed(self, pairs):
        """(parameter, gradient) pairs; appends the sums of gradients of parameters that see a part of the sequence each."""
        return [
            (p, _C.ops.all_reduce(g, self.group.id, "sum") if is_sequence_parallel_parameter(p) else g)
            for p, g in pairs
        ]

    # Files -------------------------------------------------------------------

    @staticmethod
    def is_part(name):
        """Whether each run makes this tensor anew."""
        return False

    def _axis(self, name, size):
        """Along which axis a parameter or a state of one is divided; None where this worker has all of it."""
        owner = divided_owner(name, self._parts)
        if owner is None:
            return None, []
        axis, shape = self._parts[owner]
        return (axis, shape) if size == math.prod(shape) else (None, [])

    def shape_of(self, name, size):
        """The shape of the whole of which this worker has `size` elements; None if it has all of it."""
        axis, shape = self._axis(name, size)
        return None if axis is None else [n * (self.group.nranks if at == axis else 1) for at, n in enumerate(shape)]

    def whole(self, value, name):
        """A parameter or state, of the parts of all workers, which call this together."""
        axis, _ = self._axis(name, value.size)

        def gathered():
            parts = []
            collective.all_gather(parts, value, self.group)
            return _C.ops.concat(parts, axis)

        return untraced(gathered)

    def part(self, value, name):
        """This worker's part of a whole parameter or state."""
        axis, _ = self._axis(name, value.size // self.group.nranks)
        sections = [value.shape[axis] // self.group.nranks] * self.group.nranks
        return untraced(lambda: _C.ops.split(value, sections, axis)[self.group.rank].clone())
