"""SwitchGate: one expert a token, noise in training, a capacity and a loss of balance."""

import math

from proa import _C
from proa.incubate.distributed.models.moe.gate.naive_gate import NaiveGate
from proa.incubate.distributed.models.moe.routing import counts_of, limit_by_capacity
from proa.nn import functional

__all__ = ["SwitchGate"]


class SwitchGate(NaiveGate):
    """The gate of the Switch Transformer (https://arxiv.org/abs/2101.03961).

    Args:
        d_model, num_expert, world_size (int): as in NaiveGate.
        topk (int): 1.
        switch_eps (float): scores get noise from [1 - eps, 1 + eps] in training.
        capacity (tuple[float, float]): as in GShardGate.
        group (Group, optional): the processes that have the experts.

    Raises:
        ValueError: another topk.
    """

    def __init__(self, d_model, num_expert, world_size, topk=1, switch_eps=0.1, capacity=(1.2, 2.4), group=None):
        if topk != 1:
            raise _C.located(ValueError(f"SwitchGate: topk must be 1, not {topk}"))
        super().__init__(d_model, num_expert, world_size, topk)
        self.switch_eps, self.capacity, self.group = switch_eps, capacity, group

    def forward(self, inp):
        scores = self.gate(inp)
        if self.training:
            from proa import rand

            noise = rand(scores.shape).astype(scores.dtype)
            scores = scores + noise * 2.0 * self.switch_eps + (1.0 - self.switch_eps)
        scores = functional.softmax(scores, -1)
        value, index = scores.topk(1, axis=-1, largest=True)
        capacity = math.ceil(self.capacity[0 if self.training else 1] * inp.shape[0])
        index = limit_by_capacity(index, self.tot_expert, capacity, self.group)
        kept = counts_of(index, self.tot_expert).astype(scores.dtype)
        share = kept / _C.ops.clip(kept.sum(), 1.0, float("inf"))
        self.set_loss((share * scores.mean(0)).sum() * float(self.tot_expert))
        return value, index
