"""Clips by norm of gradients that several processes hold together: the norms are those of one process."""

import contextlib

from proa import _C
from proa.distributed import collective
from proa.framework.grad_mode import no_grad
from proa.nn.clip import ClipGradBase, ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue, scaled

__all__ = ["HybridParallelClipGrad", "HybridParallelClipGradByNorm", "over_ranks"]


def _recording(grads):
    """Where norms of these gradients are computed: in the program that they are values of, else now."""
    return contextlib.nullcontext() if any(map(_C.is_symbolic, grads)) else _C.eager_mode()


def _squares(grads):
    """The sum of the squares of each, [n] of float64."""
    return _C.ops.stack([_C.ops.squared_norm([g]).astype(_C.float64).reshape([]) for g in grads])


class HybridParallelClipGrad(ClipGradBase):
    """ClipGradByGlobalNorm over a model that several processes hold together.

    A parameter that is divided (`is_distributed`) counts on each process, one that all of a model-parallel group hold
    counts once, and so does one that stages share. Those of experts count on each process of their group.

    Args:
        clip (ClipGradByGlobalNorm|ClipGradForMOEByGlobalNorm): whose norm is the limit.
        group (Group): the processes that hold one copy of the model.
        counts (Callable): whether this process counts a parameter.
    """

    def __init__(self, clip, group, counts):
        self.clip_norm, self._group, self._counts = clip.clip_norm, group, counts
        self._is_expert = getattr(clip, "is_expert_param_func", lambda p: getattr(p, "is_expert", False))
        self._moe_group = getattr(clip, "moe_group", None)

    def _expert_group(self, parameter):
        """The processes that have other experts than this one; None of what is no expert's."""
        if not self._is_expert(parameter):
            return None
        group = self._moe_group or getattr(parameter, "expert_group", None)
        return group if group is not None and group.nranks > 1 else None

    def _counted(self, clipped, group):
        """The sum of squares of what is counted here of the parameters of one group of experts, or of none."""
        grads = [g for p, g in clipped if self._expert_group(p) is group and self._counts(p)]
        total = _C.ops.squared_norm(grads) if grads else _C.ops.full([], 0.0, _C.float64)
        return total.astype(_C.float64).reshape([1])

    @no_grad()
    def __call__(self, params_grads):
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        groups = {id(group): group for group in (self._expert_group(p) for p, _ in clipped) if group is not None}
        with _recording([g for _, g in clipped]):
            total = self._counted(clipped, None)
            for group in groups.values():
                experts = self._counted(clipped, group)
                collective.all_reduce(experts, group=group)
                # Several of those that hold the model may be of the group, and each comes with this sum.
                total = total + experts / float(max(1, len(set(group.ranks) & set(self._group.ranks))))
            if self._group.nranks > 1:
                collective.all_reduce(total, group=self._group)
        factor = self.clip_norm / _C.ops.clip(total.reshape([]).sqrt(), self.clip_norm, float("inf"))
        replaced = {id(p): scaled(g, factor) for p, g in clipped}
        return [(p, replaced.get(id(p), g)) for p, g in params_grads]

    def __repr__(self):
        return f"HybridParallelClipGrad(clip_norm={self.clip_norm})"


class HybridParallelClipGradByNorm(ClipGradBase):
    """ClipGradByNorm over parameters of which processes have parts: the norm of each is that of the whole.

    The processes have the same parameters, with gradients.

    Args:
        clip (ClipGradByNorm): whose norm is the limit.
    """

    def __init__(self, clip):
        self.clip_norm = clip.clip_norm

    @no_grad()
    def __call__(self, params_grads):
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        if not clipped:
            return params_grads
        with _recording([g for _, g in clipped]):
            squares = _squares([g for _, g in clipped])
            for attribute in ("part_group", "split_group"):  # runs of elements; then parts along an axis
                squares = _over(squares, [getattr(p, attribute, None) for p, _ in clipped])
            factors = self.clip_norm / _C.ops.clip(squares.sqrt(), self.clip_norm, float("inf"))
        replaced = {id(p): scaled(g, factors[at]) for at, (p, g) in enumerate(clipped)}
        return [(p, replaced.get(id(p), g)) for p, g in params_grads]

    def __repr__(self):
        return f"HybridParallelClipGradByNorm(clip_norm={self.clip_norm})"


def _over(squares, groups):
    """The sums over the group of each element; None leaves it as it is."""
    for group in {id(g): g for g in groups if g is not None and g.nranks > 1}.values():
        mine = _C.to_tensor([float(g is group) for g in groups], dtype=_C.float64)
        total = squares * mine
        collective.all_reduce(total, group=group)
        squares = total + squares * (1.0 - mine)
    return squares


def over_ranks(clip, group, counts):
    """The clip that gives on several processes what `clip` gives on one.

    Args:
        clip (ClipGradBase): of an optimizer, or None.
        group (Group): the processes that hold one copy of the model.
        counts (Callable): whether this process counts a parameter for a norm of all.

    Raises:
        NotImplementedError: a clip of another class, which would see its process's part alone.
    """
    if clip is None or isinstance(clip, (ClipGradByValue, HybridParallelClipGrad, HybridParallelClipGradByNorm)):
        return clip
    if type(clip) is ClipGradByGlobalNorm or hasattr(clip, "moe_group"):
        return HybridParallelClipGrad(clip, group, counts)
    if type(clip) is ClipGradByNorm:
        return HybridParallelClipGradByNorm(clip)
    raise _C.located(
        NotImplementedError(
            f"fleet: {type(clip).__name__} looks at the gradients of one process, and each has a part of the model; use "
            "ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue"
        )
    )
