"""The optimizer of a program whose tensors say how workers divide them (`strategy.semi_auto`, paddle.distributed.auto_parallel)."""

from proa import _C
from proa.distributed.auto_parallel.partition import divide
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip import over_ranks
from proa.distributed.fleet.meta_optimizers.program_optimizer import ProgramOptimizer
from proa.static.program import default_startup_program, program_guard
from proa.static.scope import programs

__all__ = ["DividedByMarks"]


class DividedByMarks(ProgramOptimizer):
    """Its minimize makes the program again on this worker's parts first.

    Every worker computes the whole loss, of which it takes its share; so gradients of parameters are the sums of what the workers have
    that hold the same: all of them, or those with the same part of a parameter that `shard_tensor` divides.
    """

    _parts = None

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        if isinstance(loss, _C.Tensor) and _C.is_symbolic(loss):
            program = next(p for p in list(programs) if p.owns(loss))
            startup = default_startup_program() if startup_program is None else startup_program
            if divide(program, startup) > 1:
                self._take_parts(program)
                parameter_list = None if parameter_list is None else [self._parts.of(p) for p in parameter_list]
                with program_guard(program, startup):
                    loss = program.current(loss) * (1.0 / self._count)
            else:
                raise _C.located(
                    ValueError(
                        "fleet: strategy.semi_auto divides a program by what shard_tensor says of its tensors; it says nothing of these"
                    )
                )
        return super().backward(loss, startup_program, parameter_list, no_grad_set)

    def _take_parts(self, program):
        """The optimizer's parameters are the parts of which this worker has some."""
        self._parts, inner = program._divided, self._optimizer_itself
        for settings in inner._groups if inner._parameter_list else ():
            settings["params"] = [self._parts.of(p) for p in settings["params"]]
        inner._buckets = None

    def _note_parts(self, parameters):
        self._tensors = self._parts
        group = self._parts.data_group
        self._optimizer_itself._change_clips(lambda clip: over_ranks(clip, group, self._parts.counts))

    def _exchanged(self, pairs, how):
        found = dict(enumerate(pairs))
        whole = [at for at, (p, _) in found.items() if self._parts.copies(p.name) is None]
        found.update(zip(whole, super()._exchanged([pairs[at] for at in whole], how)))
        for at, (p, g) in enumerate(pairs):
            group = self._parts.copies(p.name)
            if group is not None and group.nranks > 1:
                found[at] = p, _C.ops.all_reduce(g, group.id, "sum")
        return list(found.values())

    def _over_workers(self, tensors, how):
        return super()._over_workers(tensors, "sum") if tensors else []
