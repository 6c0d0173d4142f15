"""Schedules that rise and fall."""

import math

from proa import _C
from proa.framework.attributes import function, known_reals, positive_int
from proa.optimizer.lr.scheduler import LRScheduler


class CosineAnnealingDecay(LRScheduler):
    """Between `learning_rate` and `eta_min` along a cosine of period 2 * T_max (Loshchilov and Hutter, 2017).

    Args:
        learning_rate (float): the highest rate.
        T_max (int): half the period.
        eta_min (float): the lowest rate.
        last_epoch, verbose: as in LRScheduler.

    Examples:
        >>> rate = proa.optimizer.lr.CosineAnnealingDecay(1.0, T_max=2)
        >>> for _ in range(3):
        ...     print(round(rate.get_lr(), 4), end=" ")
        ...     rate.step()
        1.0 0.25 0.0
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        positive_int("CosineAnnealingDecay", "T_max", T_max)
        if isinstance(eta_min, bool) or not isinstance(eta_min, (int, float)):
            raise _C.located(TypeError(f"CosineAnnealingDecay: eta_min must be a number, not {type(eta_min).__name__}"))
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

    Examples:
        >>> rate = proa.optimizer.lr.OneCycleLR(1.0, total_steps=4)
        >>> rate.get_lr() < 1.0
        True
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
        positive_int("OneCycleLR", "total_steps", total_steps)
        max_learning_rate, divide_factor, end_learning_rate, phase_pct = known_reals(
            "OneCycleLR", max_learning_rate=max_learning_rate, divide_factor=divide_factor,
            end_learning_rate=end_learning_rate, phase_pct=phase_pct,
        )  # fmt: skip
        if not divide_factor:
            raise _C.located(ValueError("OneCycleLR: divide_factor must not be 0"))
        if not 0 <= phase_pct <= 1:
            raise _C.located(ValueError(f"OneCycleLR: phase_pct must be in [0, 1]; it is {phase_pct}"))
        if three_phase and phase_pct >= 0.5:
            raise _C.located(
                ValueError(f"OneCycleLR: phase_pct must be below 0.5 with three phases; it is {phase_pct}")
            )
        if anneal_strategy not in ("cos", "linear"):
            raise _C.located(
                ValueError(f'OneCycleLR: anneal_strategy must be "cos" or "linear", not {anneal_strategy!r}')
            )
        first = max_learning_rate / divide_factor
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
            raise _C.located(ValueError(f"OneCycleLR: step {epoch} is beyond total_steps, {self.total_steps}"))
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

    Examples:
        >>> rate = proa.optimizer.lr.CyclicLR(0.1, 0.5, step_size_up=2)
        >>> for _ in range(4):
        ...     print(round(rate.get_lr(), 4), end=" ")
        ...     rate.step()
        0.1 0.3 0.5 0.3
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
            raise _C.located(
                ValueError(f'CyclicLR: mode must be "triangular", "triangular2" or "exp_range", not {mode!r}')
            )
        if scale_mode not in ("cycle", "iterations"):
            raise _C.located(ValueError(f'CyclicLR: scale_mode must be "cycle" or "iterations", not {scale_mode!r}'))
        function("CyclicLR", "scale_fn", scale_fn)
        step_size_down = step_size_up if step_size_down is None else step_size_down
        up, down, base_learning_rate, max_learning_rate, exp_gamma = known_reals(
            "CyclicLR", step_size_up=step_size_up, step_size_down=step_size_down, base_learning_rate=base_learning_rate,
            max_learning_rate=max_learning_rate, exp_gamma=exp_gamma,
        )  # fmt: skip
        if not (up > 0 and down > 0):
            raise _C.located(
                ValueError(f"CyclicLR: step_size_up and step_size_down must be positive; they are {up} and {down}")
            )
        self._up, self.cycle_size, self.step_up_pct = up, up + down, up / (up + down)
        self.max_lr, self.amplitude = max_learning_rate, max_learning_rate - base_learning_rate
        self.mode, self.gamma, self.scale_mode = mode, exp_gamma, scale_mode
        # Without a function of the program, one by the name of the mode; that of exp_range goes by steps.
        if scale_fn is None:
            scale_fn = getattr(self, f"_{mode}")
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_fn = scale_fn
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _triangular(self, cycle):
        return 1.0

    def _triangular2(self, cycle):
        return 1 / 2.0 ** (cycle - 1)

    def _exp_range(self, step):
        return self.gamma**step

    def get_lr(self):
        cycle, position = divmod(self.last_epoch, self.cycle_size)
        down = self.cycle_size - self._up
        part = position / self._up if position <= self._up else (self.cycle_size - position) / down
        height = self.scale_fn(cycle + 1 if self.scale_mode == "cycle" else self.last_epoch)
        return self.base_lr + self.amplitude * part * height
