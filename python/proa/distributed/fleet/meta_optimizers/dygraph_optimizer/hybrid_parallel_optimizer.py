"""The optimizer of a model that is parallel in several ways: gradients agree before a step, norms are those of the whole."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip import over_ranks
from proa.distributed.fleet.utils.hybrid_parallel_util import Quiet, average_gradients, differs
from proa.distributed.fleet.utils.sequence_parallel_utils import reduce_sequence_parallel_gradients

__all__ = ["HybridParallelOptimizer", "watch_all_ranks"]


class HybridParallelOptimizer:
    """An optimizer whose gradients are averaged over data-parallel workers before a step, as far as the model has not done it.

    Everything else is the optimizer's own.

    Args:
        optimizer (Optimizer): what it is for.
        hcg (HybridCommunicateGroup): the groups of this process.
        strategy (DistributedStrategy): how it trains.
    """

    def __init__(self, optimizer, hcg, strategy):
        self._inner_opt, self._hcg, self._strategy = optimizer, hcg, strategy
        whole = hcg.get_check_parallel_group()
        if whole.nranks > 1 or any(getattr(p, "no_sync", False) for p in optimizer._parameter_list):
            optimizer._change_clips(lambda clip: over_ranks(clip, whole, self._counts))
            _check_groups(optimizer, whole)
        if hcg._size("sharding") > 1:
            from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import DividedOptimizer

            stage = strategy.sharding_configs["stage"]
            self._inner_opt = DividedOptimizer(optimizer, hcg.get_sharding_parallel_group(), clip=False, stage=stage)

    def _counts(self, parameter):
        """Whether this process counts a gradient for the norm of all."""
        if getattr(parameter, "is_shared_copy", False):
            return False
        if parameter.is_distributed or self._hcg.get_model_parallel_rank() == 0:
            return True
        return differs(parameter, self._hcg.get_model_parallel_group())

    def __getattr__(self, name):
        return getattr(self._inner_opt, name)

    def _exchange(self):
        hcg = self._hcg
        parameters = [p for p in self._inner_opt._parameter_list if not p.stop_gradient]
        reduce_sequence_parallel_gradients(parameters, hcg.get_model_parallel_group())
        done = all(getattr(p, "reduced_by_model", False) for p in parameters)
        if hcg._size("data") > 1 and not done:
            average_gradients(parameters, hcg.get_data_parallel_group(), self._strategy.fp16_allreduce)
        if hcg._size("sep") > 1:
            average_gradients(parameters, hcg.get_sep_parallel_group(), self._strategy.fp16_allreduce)

    def step(self):
        """The optimizer's, after gradients have been averaged."""
        with Quiet():
            with _C.eager_mode():
                self._exchange()
            self._inner_opt.step()

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """A step from gradients that `loss.backward()` has left.

        Returns:
            (None, list): (parameter, gradient) pairs.
        """
        self.step()
        return None, [(p, p.grad) for p in self._inner_opt._parameter_list if p.grad is not None]

    def clear_grad(self, set_to_zero=True):
        """Clears the gradients of all parameters."""
        self._inner_opt.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self):
        """That of the optimizer."""
        return self._inner_opt.state_dict()

    def set_state_dict(self, state_dict):
        """That of the optimizer."""
        return self._inner_opt.set_state_dict(state_dict)

    set_dict = set_state_dict


def _check_groups(optimizer, whole):
    """ValueError, on all processes, where they would take other numbers of norms in a step and wait for each other forever.

    Each group of parameters of an optimizer is clipped by its own norm; a stage may have none of a group's parameters.
    """
    if whole.nranks == 1:
        return
    clips = [repr(group.get("grad_clip", optimizer._grad_clip)) for group in optimizer._groups]
    found = []
    collective.all_gather_object(found, clips, whole)
    for place, theirs in enumerate(found):
        if theirs != found[0]:
            raise _C.located(
                ValueError(
                    f"distributed_optimizer: the gradients of each group of parameters are clipped together: rank {whole.ranks[0]} "
                    f"has {len(found[0])} groups with {', '.join(found[0])}, rank {whole.ranks[place]} has {len(theirs)} with "
                    f"{', '.join(theirs)}; give the optimizer the same groups on all ranks, with an empty list of 'params' "
                    "where a stage has none"
                )
            )


def watch_all_ranks(scaler, group=None):
    """Lets a GradScaler leave out a step on all processes when one of them has a gradient that is not finite.

    Args:
        scaler (GradScaler): changed.
        group (Group, optional): the processes; all unless given.
    """

    def agreed(finite):
        found = _C.ops.full([1], 1.0 if bool(finite) else 0.0, _C.float32)
        collective.all_reduce(found, collective.ReduceOp.MIN, group)
        return bool(found.item())

    scaler.agreed = agreed
    return scaler
