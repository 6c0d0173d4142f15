"""Schedules that fall (or change) by a formula of the epoch."""

import math

from proa import _C
from proa.framework.attributes import known_list, known_real, known_reals, positive_int
from proa.optimizer.lr.scheduler import LRScheduler


class NoamDecay(LRScheduler):
    """`learning_rate * d_model**-0.5 * min(epoch**-0.5, epoch * warmup_steps**-1.5)` (Vaswani et al., 2017).

    Args:
        d_model (int): width of the model.
        warmup_steps (int): steps until the highest rate.
        learning_rate (float): a factor.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.NoamDecay(d_model=4, warmup_steps=2)
        >>> rate.step()
        >>> round(rate.get_lr(), 4)
        0.1768
    """

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        d_model, warmup_steps = known_reals("NoamDecay", d_model=d_model, warmup_steps=warmup_steps)
        for name, value in (("d_model", d_model), ("warmup_steps", warmup_steps)):
            if value <= 0:
                raise _C.located(ValueError(f"NoamDecay: {name} must be positive; it is {value}"))
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        a = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        b = self.warmup_steps**-1.5 * self.last_epoch
        return self.base_lr * self.d_model**-0.5 * min(a, b)


class PiecewiseDecay(LRScheduler):
    """`values[i]` until epoch `boundaries[i]`, then the next; the last value for ever.

    Args:
        boundaries (list[int]): increasing epochs.
        values (list[float]): rates, one more than boundaries.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> schedule = proa.optimizer.lr.PiecewiseDecay([2, 4], [0.1, 0.01, 0.001])
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(schedule()); schedule.step()
        >>> rates
        [0.1, 0.1, 0.01, 0.01, 0.001]
    """

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        for name, given in (("boundaries", boundaries), ("values", values)):
            known_list("PiecewiseDecay", name, given)
        if len(boundaries) == 0:
            raise _C.located(ValueError("PiecewiseDecay: boundaries must not be empty"))
        if len(values) <= len(boundaries):
            raise _C.located(
                ValueError(
                    f"PiecewiseDecay: {len(boundaries)} boundaries need {len(boundaries) + 1} values, not {len(values)}"
                )
            )
        self.boundaries = boundaries
        self.values = values
        super().__init__(float(values[0]), last_epoch, verbose)

    def get_lr(self):
        for boundary, value in zip(self.boundaries, self.values):
            if self.last_epoch < boundary:
                return value
        return self.values[len(self.boundaries)]


class NaturalExpDecay(LRScheduler):
    """`learning_rate * exp(-gamma * epoch)`.

    Args:
        learning_rate (float): the base rate.
        gamma (float): speed of the decay, positive.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.NaturalExpDecay(1.0, gamma=0.1)
        >>> for _ in range(3):
        ...     print(round(rate.get_lr(), 4), end=" ")
        ...     rate.step()
        1.0 0.9048 0.8187
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        gamma = known_real("NaturalExpDecay", "gamma", gamma)
        if gamma <= 0:
            raise _C.located(ValueError(f"NaturalExpDecay: gamma must be positive; it is {gamma}"))
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """`learning_rate / (1 + gamma * epoch)`.

    Args:
        learning_rate (float): the base rate.
        gamma (float): speed of the decay.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.InverseTimeDecay(1.0, gamma=1.0)
        >>> for _ in range(3):
        ...     print(round(rate.get_lr(), 4), end=" ")
        ...     rate.step()
        1.0 0.5 0.3333
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = known_real("InverseTimeDecay", "gamma", gamma)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        divisor = 1 + self.gamma * self.last_epoch
        if not divisor:
            raise _C.located(ValueError(f"InverseTimeDecay: gamma is {self.gamma}; 1 + gamma * {self.last_epoch} is 0"))
        return self.base_lr / divisor


class PolynomialDecay(LRScheduler):
    """`(learning_rate - end_lr) * (1 - epoch / decay_steps)**power + end_lr`.

    Args:
        learning_rate (float): the base rate.
        decay_steps (int): epochs until `end_lr`.
        end_lr (float): the last rate.
        power (float): shape of the decay.
        cycle (bool): after `decay_steps`, start again with a period that many times as long.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.PolynomialDecay(1.0, decay_steps=2, end_lr=0.0)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 0.5 0.0
    """

    def __init__(self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False):
        positive_int("PolynomialDecay", "decay_steps", decay_steps)
        end_lr, power = known_reals("PolynomialDecay", end_lr=end_lr, power=power)
        if power <= 0.0:
            raise _C.located(ValueError(f"PolynomialDecay: power must be positive; it is {power}"))
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class ExponentialDecay(LRScheduler):
    """`learning_rate * gamma**epoch`.

    Args:
        learning_rate (float): the base rate.
        gamma (float): factor of each epoch, in (0, 1).
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.ExponentialDecay(1.0, gamma=0.5)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 0.5 0.25
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        gamma = known_real("ExponentialDecay", "gamma", gamma)
        if not 0.0 < gamma < 1.0:
            raise _C.located(ValueError(f"ExponentialDecay: gamma must be in (0, 1); it is {gamma}"))
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma**self.last_epoch


class MultiStepDecay(LRScheduler):
    """Times `gamma` at each epoch of `milestones`.

    Args:
        learning_rate (float): the base rate.
        milestones (list[int]): increasing epochs.
        gamma (float): the factor, below 1.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.MultiStepDecay(1.0, milestones=[1, 2], gamma=0.5)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 0.5 0.25
    """

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(milestones, (list, tuple)):
            raise _C.located(
                TypeError(f"MultiStepDecay: milestones must be a list or tuple, not {type(milestones).__name__}")
            )
        gamma = known_real("MultiStepDecay", "gamma", gamma)
        known_list("MultiStepDecay", "milestones", milestones)
        if any(a >= b for a, b in zip(milestones, milestones[1:])):
            raise _C.located(ValueError(f"MultiStepDecay: milestones must increase; they are {list(milestones)}"))
        if gamma >= 1.0:
            raise _C.located(ValueError(f"MultiStepDecay: gamma must be below 1; it is {gamma}"))
        self.milestones, self.gamma = milestones, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        passed = sum(self.last_epoch >= milestone for milestone in self.milestones)
        return self.base_lr * self.gamma**passed


class StepDecay(LRScheduler):
    """Times `gamma` every `step_size` epochs.

    Args:
        learning_rate (float): the base rate.
        step_size (int): epochs between two changes.
        gamma (float): the factor, below 1.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.StepDecay(1.0, step_size=2, gamma=0.5)
        >>> for _ in range(4):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 1.0 0.5 0.5
    """

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        positive_int("StepDecay", "step_size", step_size)
        gamma = known_real("StepDecay", "gamma", gamma)
        if gamma >= 1.0:
            raise _C.located(ValueError(f"StepDecay: gamma must be below 1; it is {gamma}"))
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(LRScheduler):
    """`learning_rate * lr_lambda(epoch)`.

    Args:
        learning_rate (float): the base rate.
        lr_lambda (Callable): epoch -> factor.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.LambdaDecay(1.0, lambda epoch: 0.5**epoch)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 0.5 0.25
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise _C.located(TypeError(f"LambdaDecay: lr_lambda must be callable, not {type(lr_lambda).__name__}"))
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """The rate before, times `lr_lambda(epoch)`.

    Args:
        learning_rate (float): the base rate.
        lr_lambda (Callable): epoch -> factor.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.MultiplicativeDecay(1.0, lambda epoch: 0.5)
        >>> for _ in range(3):
        ...     print(rate.get_lr(), end=" ")
        ...     rate.step()
        1.0 0.5 0.25
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise _C.located(
                TypeError(f"MultiplicativeDecay: lr_lambda must be callable, not {type(lr_lambda).__name__}")
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate
