"""BaseGate: what all gates share."""

from proa import _C
from proa.autograd.recomputation import leaves_beside
from proa.nn.layer.layers import Layer

__all__ = ["BaseGate"]


class BaseGate(Layer):
    """A gate over `num_expert` experts on each of `world_size` processes.

    Subclasses give (weights, experts), both [tokens, k], from tokens [tokens, d_model]; expert -1 is none. A loss that
    keeps the experts equally busy is left for `get_loss`.

    Args:
        num_expert (int): on each process.
        world_size (int): processes.
    """

    def __init__(self, num_expert, world_size):
        super().__init__()
        for name, value in (("num_expert", num_expert), ("world_size", world_size)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise _C.located(ValueError(f"{type(self).__name__}: {name} must be a positive int, not {value!r}"))
        self.num_expert, self.world_size = num_expert, world_size
        self.tot_expert = num_expert * world_size
        # Outside of the layer's members: it is a value of one step.
        self.__dict__["_balance"] = None

    def set_loss(self, loss):
        """Keeps the loss of this step; where the layer is recomputed, it has its gradient all the same."""
        self.__dict__["_balance"] = loss
        leaves_beside(self, "_balance")

    def get_loss(self, clear=True):
        """The loss of the last forward, None if there is none.

        Args:
            clear (bool): it is given once.
        """
        loss = self._balance
        if clear:
            self.__dict__["_balance"] = None
        return loss

    @property
    def has_loss(self):
        """Whether a loss waits."""
        return self._balance is not None

    def forward(self, x):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define forward"))
