"""A schedule that follows a metric."""

from proa import _C
from proa.framework.attributes import known_reals, wrong
from proa.nn.layer import use
from proa.optimizer.lr.scheduler import LRScheduler


class ReduceOnPlateau(LRScheduler):
    """Times `factor` when a metric has not become better for more than `patience` steps.

    Args:
        learning_rate (float): the base rate.
        mode (str): "min" if lower is better, or "max".
        factor (float): below 1.
        patience (int): bad steps that are borne.
        threshold (float): how much better counts.
        threshold_mode (str): "rel" (a fraction of the best) or "abs".
        cooldown (int): steps after a change in which bad ones do not count.
        min_lr (float): the lowest rate.
        epsilon (float): smaller changes of the rate are not made.
        verbose (bool): print each change.

    Examples:
        >>> rate = proa.optimizer.lr.ReduceOnPlateau(1.0, factor=0.5, patience=0)
        >>> for loss in (1.0, 2.0, 3.0):
        ...     rate.step(loss)
        >>> rate.get_lr()
        0.25
    """

    _saved = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=0.0001,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        epsilon=1e-08,
        verbose=False,
    ):
        if mode not in ("min", "max"):
            raise _C.located(ValueError(f'ReduceOnPlateau: mode must be "min" or "max", not {mode!r}'))
        if threshold_mode not in ("rel", "abs"):
            raise _C.located(
                ValueError(f'ReduceOnPlateau: threshold_mode must be "rel" or "abs", not {threshold_mode!r}')
            )
        factor, patience, threshold, cooldown, min_lr, epsilon = known_reals(
            "ReduceOnPlateau", factor=factor, patience=patience, threshold=threshold, cooldown=cooldown, min_lr=min_lr,
            epsilon=epsilon,
        )  # fmt: skip
        if factor >= 1.0:
            raise _C.located(ValueError(f"ReduceOnPlateau: factor must be below 1; it is {factor}"))
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise _C.located(
                TypeError(f"ReduceOnPlateau: learning_rate must be a number, not {type(learning_rate).__name__}")
            )
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.epsilon = cooldown, min_lr, epsilon
        self.cooldown_counter, self.best, self.num_bad_epochs = 0, None, 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = 0, verbose

    def step(self, metrics, epoch=None):
        """Goes to the next epoch, with this value of the metric (a number or a one-element tensor)."""
        use.refuse_in_recording("ReduceOnPlateau.step")
        if isinstance(metrics, str):  # which float() would read
            raise wrong("ReduceOnPlateau.step", "metrics", "a number or a tensor of one element", metrics)
        metrics = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metrics, self.best):
            self.best, self.num_bad_epochs = metrics, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            rate = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - rate > self.epsilon:
                self.last_lr = rate
                if self.verbose:
                    print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {rate}.")

    def _is_better(self, now, best):
        relative = self.threshold_mode == "rel"
        margin = abs(best) * self.threshold if relative else self.threshold
        return now < best - margin if self.mode == "min" else now > best + margin

    def get_lr(self):
        return self.last_lr
