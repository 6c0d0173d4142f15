"""Clipping of gradients of a model some of whose parameters, the experts', differ between processes."""

from proa import _C
from proa.distributed import collective
from proa.framework.grad_mode import no_grad
from proa.nn.clip import ClipGradBase, _norm, scaled

__all__ = ["ClipGradForMOEByGlobalNorm"]


class ClipGradForMOEByGlobalNorm(ClipGradBase):
    """All gradients together, those of the experts of all processes too, to an L2 norm of at most `clip_norm`.

    Args:
        clip_norm (float): the highest norm.
        is_expert_param_func (Callable, optional): whether a parameter is an expert's; `parameter.is_expert` unless given.
        moe_group (Group, optional): the processes that have experts; one process unless given.
        group_name (str): not used.

    Examples:
        >>> from proa.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm
        >>> net = proa.nn.Linear(2, 1)
        >>> clip = ClipGradForMOEByGlobalNorm(1.0, is_expert_param_func=lambda p: False)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
    """

    def __init__(self, clip_norm, is_expert_param_func=None, moe_group=None, group_name="default_moe_group"):
        self.clip_norm = _norm("ClipGradForMOEByGlobalNorm", clip_norm)
        self.group_name, self.moe_group = group_name, moe_group
        if is_expert_param_func is not None and not callable(is_expert_param_func):
            raise _C.located(TypeError("ClipGradForMOEByGlobalNorm: is_expert_param_func must be callable"))
        self.is_expert_param_func = is_expert_param_func or (lambda parameter: getattr(parameter, "is_expert", False))

    @no_grad()
    def __call__(self, params_grads):
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        experts = [g for p, g in clipped if self.is_expert_param_func(p)]
        others = [g for p, g in clipped if not self.is_expert_param_func(p)]
        with _C.eager_mode():
            total = _squares(experts)
            if self.moe_group is not None and self.moe_group.nranks > 1:
                collective.all_reduce(total, group=self.moe_group)
            total = (total + _squares(others)).reshape([])
        factor = self.clip_norm / _C.ops.clip(total.sqrt(), self.clip_norm, float("inf"))
        replaced = {id(p): scaled(g, factor) for p, g in clipped}
        return [(p, replaced.get(id(p), g)) for p, g in params_grads]

    def __repr__(self):
        return f"ClipGradForMOEByGlobalNorm(clip_norm={self.clip_norm})"


def _squares(grads):
    found = _C.ops.squared_norm(grads) if grads else _C.ops.full([], 0.0, _C.float64)
    return found.astype(_C.float64).reshape([1])
