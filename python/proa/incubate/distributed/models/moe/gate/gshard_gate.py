"""GShardGate: two experts a token, a capacity, a loss of balance, and chance for the second."""

import math

from proa import _C
from proa.incubate.distributed.models.moe.gate.naive_gate import NaiveGate
from proa.incubate.distributed.models.moe.routing import counts_of, limit_by_capacity
from proa.nn import functional

__all__ = ["GShardGate"]


class GShardGate(NaiveGate):
    """The gate of GShard (https://arxiv.org/abs/2006.16668).

    Args:
        d_model, num_expert, world_size (int): as in NaiveGate.
        topk (int): 2.
        capacity (tuple[float, float]): tokens for each expert, as factors on tokens of a process: in training, otherwise.
        random_routing (bool): the second expert is used with a chance of twice its weight.
        group (Group, optional): the processes that have the experts.

    Raises:
        ValueError: another topk.
    """

    def __init__(self, d_model, num_expert, world_size, topk=2, capacity=(1.2, 2.4), random_routing=True, group=None):
        if topk != 2:
            raise _C.located(ValueError(f"GShardGate: topk must be 2, not {topk}"))
        super().__init__(d_model, num_expert, world_size, topk)
        self.capacity, self.random_routing, self.group = capacity, random_routing, group

    def forward(self, x):
        value, index, scores = super().forward(x, return_all_scores=True)
        tokens = scores.shape[0]
        share = counts_of(index[:, 0], self.tot_expert).astype(scores.dtype) / max(1, tokens)
        chance = functional.softmax(scores, -1).mean(0)
        self.set_loss((share * chance).mean() * float(self.num_expert**2))
        capacity = math.ceil(self.capacity[0 if self.training else 1] * tokens)
        index = limit_by_capacity(index, self.tot_expert, capacity, self.group)
        if self.random_routing:
            from proa import rand

            kept = (value.detach()[:, 1] * 2 >= rand([tokens]).astype(value.dtype)).astype("int64")
            index = _C.ops.stack([index[:, 0], index[:, 1] * kept + (kept - 1)], 1)
        return value, index
