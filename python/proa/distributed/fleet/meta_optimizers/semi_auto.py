"""The optimizer of a program whose tensors say how workers divide them (`strategy.semi_auto`, paddle.distributed.auto_parallel)."""

from proa import _C
from proa.distributed.auto_parallel.partition import divide
from proa.distributed.fleet.meta_optimizers.program_optimizer import ProgramOptimizer
from proa.static.program import default_startup_program, program_guard
from proa.static.scope import programs

__all__ = ["DividedByMarks"]


class DividedByMarks(ProgramOptimizer):
    """Its minimize makes the program again on this worker's parts first.

    Every worker computes the whole loss, of which it takes its share; so gradients of parameters, which all workers hold whole,
    are the sums of what the workers have.
    """

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        if isinstance(loss, _C.Tensor) and _C.is_symbolic(loss):
            program = next(p for p in list(programs) if p.owns(loss))
            startup = default_startup_program() if startup_program is None else startup_program
            if divide(program) > 1:
                with program_guard(program, startup):
                    loss = program.current(loss) * (1.0 / self._count)
            else:
                raise _C.located(
                    ValueError(
                        "fleet: strategy.semi_auto divides a program by what shard_tensor says of its tensors; it says nothing of these"
                    )
                )
        return super().backward(loss, startup_program, parameter_list, no_grad_set)

    def _over_workers(self, tensors, how):
        return super()._over_workers(tensors, "sum")
