"""The optimizer of a model that is parallel in several ways: gradients agree before a step, norms are those of the whole."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.utils.hybrid_parallel_util import average_gradients
from proa.framework.grad_mode import no_grad
from proa.nn.clip import ClipGradBase, ClipGradByGlobalNorm, scaled

__all__ = ["HybridParallelClipGrad", "HybridParallelOptimizer", "watch_all_ranks"]


class HybridParallelClipGrad(ClipGradBase):
    """ClipGradByGlobalNorm over a model that several processes hold together.

    A parameter that is divided (`is_distributed`) counts on each process, one that all of a model-parallel group hold
    counts once, and so does one that stages share.

    Args:
        clip (ClipGradByGlobalNorm): whose norm is the limit.
        group (Group): the processes that hold one copy of the model.
        counts (Callable): whether this process counts a parameter.
    """

    def __init__(self, clip, group, counts):
        self.clip_norm, self._group, self._counts = clip.clip_norm, group, counts

    @no_grad()
    def __call__(self, params_grads):
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        counted = [g for p, g in clipped if self._counts(p)]
        with _C.eager_mode():
            total = _C.ops.squared_norm(counted) if counted else _C.ops.full([], 0.0, _C.float64)
            total = total.astype(_C.float64).reshape([1])
            if self._group.nranks > 1:
                collective.all_reduce(total, group=self._group)
        factor = self.clip_norm / _C.ops.clip(total.reshape([]).sqrt(), self.clip_norm, float("inf"))
        replaced = {id(p): scaled(g, factor) for p, g in clipped}
        return [(p, replaced.get(id(p), g)) for p, g in params_grads]

    def __repr__(self):
        return f"HybridParallelClipGrad(clip_norm={self.clip_norm})"


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
        divides = hcg._size("sharding") > 1
        if divides:
            from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import DividedOptimizer

            self._inner_opt = DividedOptimizer(optimizer, hcg.get_sharding_parallel_group(), clip=False)
        base = optimizer
        clip = base._grad_clip
        if type(clip) is ClipGradByGlobalNorm and hcg.get_check_parallel_group().nranks > 1:
            first_model_rank = hcg.get_model_parallel_rank() == 0

            def counts(parameter):
                if getattr(parameter, "is_shared_copy", False):
                    return False
                return parameter.is_distributed or first_model_rank

            base._grad_clip = HybridParallelClipGrad(clip, hcg.get_check_parallel_group(), counts)

    def __getattr__(self, name):
        return getattr(self._inner_opt, name)

    def _exchange(self):
        hcg = self._hcg
        parameters = [p for p in self._inner_opt._parameter_list if not p.stop_gradient]
        done = all(getattr(p, "reduced_by_model", False) for p in parameters)
        if hcg._size("data") > 1 and not done:
            average_gradients(parameters, hcg.get_data_parallel_group(), self._strategy.fp16_allreduce)
        if hcg._size("sep") > 1:
            average_gradients(parameters, hcg.get_sep_parallel_group(), self._strategy.fp16_allreduce)

    def step(self):
        """The optimizer's, after gradients have been averaged."""
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
