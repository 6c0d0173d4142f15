"""NaiveGate: the best experts of a linear layer."""

from proa import _C, nn
from proa.incubate.distributed.models.moe.gate.base_gate import BaseGate

__all__ = ["NaiveGate"]


class NaiveGate(BaseGate):
    """The `topk` experts with the highest scores, and the scores.

    Args:
        d_model (int): size of a token.
        num_expert, world_size (int): as in BaseGate.
        topk (int): experts for each token.

    Examples:
        >>> from proa.incubate.distributed.models.moe import NaiveGate
        >>> value, index = NaiveGate(4, 3, 1, topk=2)(proa.ones([5, 4]))
        >>> value.shape, index.shape
        ([5, 2], [5, 2])
    """

    def __init__(self, d_model, num_expert, world_size, topk=2):
        super().__init__(num_expert, world_size)
        if not 1 <= topk <= self.tot_expert:
            raise _C.located(
                ValueError(f"{type(self).__name__}: topk is {topk}, and there are {self.tot_expert} experts")
            )
        self.gate = nn.Linear(d_model, self.tot_expert)
        # All processes that share it keep it equal.
        for parameter in self.gate.parameters():
            parameter.is_gate = True
        self.top_k = topk

    def forward(self, inp, return_all_scores=False):
        scores = self.gate(inp)
        value, index = scores.topk(self.top_k, axis=-1, largest=True, sorted=True)
        return (value, index, scores) if return_all_scores else (value, index)
