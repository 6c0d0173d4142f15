"""Learning rates that follow a schedule.

A scheduler is made with the optimizer's base rate and given to it as
`learning_rate`; `scheduler.step()` goes to the next epoch (or batch: the unit is
the caller's).
"""

import math

__all__ = [
    "CosineAnnealingDecay",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
]


class LRScheduler:
    """Base of schedules. Subclasses define `get_lr`, from `base_lr`, `last_epoch` and `last_lr`.

    Args:
        learning_rate (float): the base rate, not negative.
        last_epoch (int): the epoch before the first; a run that is resumed gives its own.
        verbose (bool): print the rate at each step.

    Examples:
        >>> class Halving(proa.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr * 0.5**self.last_epoch
        >>> schedule = Halving(0.1)
        >>> schedule.step(); schedule()
        0.05
    """

    _saved = ("last_epoch", "last_lr")

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        kind = type(self).__name__
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise TypeError(f"{kind}: learning_rate must be a number, not {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ValueError(f"{kind}: learning_rate must not be negative; it is {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self):
        """The rate of now."""
        return self.last_lr

    def step(self, epoch=None):
        """Goes to the next epoch, or to `epoch`."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            self.last_lr = closed() if closed else self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self):
        """The rate of epoch `last_epoch`; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr")

    def _state_keys(self):
        """For subclasses: sets `self.keys`, the names of the attributes that `state_dict` saves."""
        self.keys = list(self._saved)

    state_keys = _state_keys

    def state_dict(self):
        """What a resumed run needs, as a dict of numbers."""
        self.state_keys()
        return {key: self.__dict__[key] for key in self.keys if key in self.__dict__}

    def set_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.state_keys()
        missing = [key for key in self.keys if key in self.__dict__ and key not in state_dict]
        if missing:
            raise ValueError(f"{type(self).__name__}: the state has no {', '.join(missing)}")
        for key in self.keys:
            if key in state_dict:
                self.__dict__[key] = state_dict[key]

    set_dict = set_state_dict


class NoamDecay(LRScheduler):
    """`learning_rate * d_model**-0.5 * min(epoch**-0.5, epoch * warmup_steps**-1.5)` (Vaswani et al., 2017).

    Args:
        d_model (int): width of the model.
        warmup_steps (int): steps until the highest rate.
        learning_rate (float): a factor.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        if d_model <= 0:
            raise ValueError(f"NoamDecay: d_model must be positive; it is {d_model}")
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
        if len(boundaries) == 0:
            raise ValueError("PiecewiseDecay: boundaries must not be empty")
        if len(values) <= len(boundaries):
            raise ValueError(
                f"PiecewiseDecay: {len(boundaries)} boundaries need {len(boundaries) + 1} values, not {len(values)}"
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
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if gamma <= 0:
            raise ValueError(f"NaturalExpDecay: gamma must be positive; it is {gamma}")
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
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """`(learning_rate - end_lr) * (1 - epoch / decay_steps)**power + end_lr`.

    Args:
        learning_rate (float): the base rate.
        decay_steps (int): epochs until `end_lr`.
        end_lr (float): the last rate.
        power (float): shape of the decay.
        cycle (bool): after `decay_steps`, start again with a period that many times as long.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False):
        if not isinstance(decay_steps, int) or decay_steps <= 0:
            raise ValueError(f"PolynomialDecay: decay_steps must be a positive int, not {decay_steps!r}")
        if power <= 0.0:
            raise ValueError(f"PolynomialDecay: power must be positive; it is {power}")
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` in `warmup_steps` epochs, then `learning_rate`.

    Args:
        learning_rate (float|LRScheduler): what follows; a schedule starts then.
        warmup_steps (int): epochs of the warm-up.
        start_lr (float): the first rate.
        end_lr (float): the rate at the end of the warm-up.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError(
                f"LinearWarmup: learning_rate must be a number or an LRScheduler, not {type(learning_rate).__name__}"
            )
        if not isinstance(warmup_steps, int) or warmup_steps <= 0:
            raise ValueError(f"LinearWarmup: warmup_steps must be a positive int, not {warmup_steps!r}")
        if end_lr <= start_lr:
            raise ValueError(f"LinearWarmup: end_lr must be above start_lr; they are {end_lr} and {start_lr}")
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


class ExponentialDecay(LRScheduler):
    """`learning_rate * gamma**epoch`.

    Args:
        learning_rate (float): the base rate.
        gamma (float): factor of each epoch, in (0, 1).
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if not 0.0 < gamma < 1.0:
            raise ValueError(f"ExponentialDecay: gamma must be in (0, 1); it is {gamma}")
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
    """

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(milestones, (list, tuple)):
            raise TypeError(f"MultiStepDecay: milestones must be a list or tuple, not {type(milestones).__name__}")
        if any(a >= b for a, b in zip(milestones, milestones[1:])):
            raise ValueError(f"MultiStepDecay: milestones must increase; they are {list(milestones)}")
        if gamma >= 1.0:
            raise ValueError(f"MultiStepDecay: gamma must be below 1; it is {gamma}")
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
    """

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(step_size, int) or step_size <= 0:
            raise ValueError(f"StepDecay: step_size must be a positive int, not {step_size!r}")
        if gamma >= 1.0:
            raise ValueError(f"StepDecay: gamma must be below 1; it is {gamma}")
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
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise TypeError(f"LambdaDecay: lr_lambda must be callable, not {type(lr_lambda).__name__}")
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
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise TypeError(f"MultiplicativeDecay: lr_lambda must be callable, not {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate


class CosineAnnealingDecay(LRScheduler):
    """Between `learning_rate` and `eta_min` along a cosine of period 2 * T_max (Loshchilov and Hutter, 2017).

    Args:
        learning_rate (float): the highest rate.
        T_max (int): half the period.
        eta_min (float): the lowest rate.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        if not isinstance(T_max, int) or T_max <= 0:
            raise ValueError(f"CosineAnnealingDecay: T_max must be a positive int, not {T_max!r}")
        if isinstance(eta_min, bool) or not isinstance(eta_min, (int, float)):
            raise TypeError(f"CosineAnnealingDecay: eta_min must be a number, not {type(eta_min).__name__}")
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        # By recurrence, so that a rate changed from outside goes on from there.
        epoch, period = self.last_epoch, self.T_max
        if epoch == 0:
            return self.base_lr
        if (epoch - 1 - period) % (2 * period) == 0:
            return self.last_lr + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / period)) / 2
        now, before = 1 + math.cos(math.pi * epoch / period), 1 + math.cos(math.pi * (epoch - 1) / period)
        return now / before * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self):
        swing = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * swing / 2


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
            raise ValueError(f'ReduceOnPlateau: mode must be "min" or "max", not {mode!r}')
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f'ReduceOnPlateau: threshold_mode must be "rel" or "abs", not {threshold_mode!r}')
        if factor >= 1.0:
            raise ValueError(f"ReduceOnPlateau: factor must be below 1; it is {factor}")
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise TypeError(f"ReduceOnPlateau: learning_rate must be a number, not {type(learning_rate).__name__}")
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.epsilon = cooldown, min_lr, epsilon
        self.cooldown_counter, self.best, self.num_bad_epochs = 0, None, 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = 0, verbose

    def step(self, metrics, epoch=None):
        """Goes to the next epoch, with this value of the metric (a number or a one-element tensor)."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        metrics = float(metrics)
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


class OneCycleLR(LRScheduler):
    """Up to `max_learning_rate` and down again, once (Smith and Topin, 2019).

    Args:
        max_learning_rate (float): the highest rate.
        total_steps (int): length of the cycle.
        divide_factor (float): the first rate is the highest divided by it.
        end_learning_rate (float): the last rate.
        phase_pct (float): part of the cycle in which the rate rises.
        anneal_strategy (str): "cos" or "linear".
        three_phase (bool): go down as one went up, and then further.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(f"OneCycleLR: total_steps must be a positive int, not {total_steps!r}")
        if not 0 <= phase_pct <= 1:
            raise ValueError(f"OneCycleLR: phase_pct must be in [0, 1]; it is {phase_pct}")
        if three_phase and phase_pct >= 0.5:
            raise ValueError(f"OneCycleLR: phase_pct must be below 0.5 with three phases; it is {phase_pct}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f'OneCycleLR: anneal_strategy must be "cos" or "linear", not {anneal_strategy!r}')
        first = max_learning_rate / float(divide_factor)
        up = phase_pct * total_steps - 1
        if three_phase:
            self._ends = [0, up, 2 * phase_pct * total_steps - 2, total_steps - 1]
            self._rates = [first, max_learning_rate, first, end_learning_rate]
        else:
            self._ends = [0, up, total_steps - 1]
            self._rates = [first, max_learning_rate, end_learning_rate]
        self.total_steps, self._cosine = total_steps, anneal_strategy == "cos"
        super().__init__(first, last_epoch, verbose)

    def get_lr(self):
        epoch = self.last_epoch
        if epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: step {epoch} is beyond total_steps, {self.total_steps}")
        last = len(self._ends) - 1
        for i in range(1, last + 1):
            if epoch <= self._ends[i] or i == last:
                part = (epoch - self._ends[i - 1]) / (self._ends[i] - self._ends[i - 1])
                if self._cosine:
                    part = (1 - math.cos(math.pi * part)) / 2
                return self._rates[i - 1] + (self._rates[i] - self._rates[i - 1]) * part


class CyclicLR(LRScheduler):
    """Between `base_learning_rate` and `max_learning_rate`, up and down (Smith, 2017).

    Args:
        base_learning_rate (float): the lowest rate.
        max_learning_rate (float): the highest rate of the first cycle.
        step_size_up (int): steps from lowest to highest.
        step_size_down (int, optional): steps back; as many unless given.
        mode (str): "triangular", "triangular2" (half the height each cycle) or
            "exp_range" (times exp_gamma each step).
        exp_gamma (float): of mode "exp_range".
        scale_fn (Callable, optional): height of a cycle or step, instead of a mode.
        scale_mode (str): "cycle" or "iterations": what scale_fn is called with.
        last_epoch, verbose: as in LRScheduler.
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f'CyclicLR: mode must be "triangular", "triangular2" or "exp_range", not {mode!r}')
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f'CyclicLR: scale_mode must be "cycle" or "iterations", not {scale_mode!r}')
        self._up = step_size_up
        self._cycle = step_size_up + (step_size_up if step_size_down is None else step_size_down)
        self._max = max_learning_rate
        self._mode, self._gamma, self._scale_fn, self._scale_mode = mode, exp_gamma, scale_fn, scale_mode
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _height(self, cycle):
        if self._scale_fn is not None:
            return self._scale_fn(cycle if self._scale_mode == "cycle" else self.last_epoch)
        if self._mode == "triangular2":
            return 1 / 2.0 ** (cycle - 1)
        return self._gamma**self.last_epoch if self._mode == "exp_range" else 1.0

    def get_lr(self):
        cycle, position = divmod(self.last_epoch, self._cycle)
        part = position / self._up if position <= self._up else (self._cycle - position) / (self._cycle - self._up)
        return self.base_lr + (self._max - self.base_lr) * part * self._height(cycle + 1)
