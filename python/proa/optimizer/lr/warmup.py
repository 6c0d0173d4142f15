"""A warm-up before another schedule."""

from proa import _C
from proa.framework.attributes import known_reals, positive_int
from proa.optimizer.lr.scheduler import LRScheduler


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` in `warmup_steps` epochs, then `learning_rate`.

    Args:
        learning_rate (float|LRScheduler): what follows; a schedule starts then.
        warmup_steps (int): epochs of the warm-up.
        start_lr (float): the first rate.
        end_lr (float): the rate at the end of the warm-up.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.LinearWarmup(1.0, warmup_steps=2, start_lr=0.0, end_lr=1.0)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        0.0 0.5 1.0
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler)):
            raise _C.located(
                TypeError(
                    f"LinearWarmup: learning_rate must be a number or an LRScheduler, not {type(learning_rate).__name__}"
                )
            )
        positive_int("LinearWarmup", "warmup_steps", warmup_steps)
        start_lr, end_lr = known_reals("LinearWarmup", start_lr=start_lr, end_lr=end_lr)
        if end_lr <= start_lr:
            raise _C.located(
                ValueError(f"LinearWarmup: end_lr must be above start_lr; they are {end_lr} and {start_lr}")
            )
        self.learning_rate = learning_rate
        self.warmup_steps, self.start_lr, self.end_lr = warmup_steps, start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if not isinstance(self.learning_rate, LRScheduler):
            return float(self.learning_rate)
        self.learning_rate.step(self.last_epoch - self.warmup_steps)
        return self.learning_rate()

    def state_dict(self):
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler) and "LinearWarmup_LR" in state_dict:
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict
