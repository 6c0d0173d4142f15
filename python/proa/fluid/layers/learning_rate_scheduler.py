"""Schedules of the learning rate, with the old arguments. Each gives an `optimizer.lr` scheduler that fluid's
optimizers step by themselves, once for each `minimize` (in static mode, for each run of the program)."""

import math

from proa.optimizer import lr

__all__ = [
    "autoincreased_step_counter", "cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup", "natural_exp_decay", "noam_decay",
    "piecewise_decay", "polynomial_decay",
]  # fmt: skip


class StepLambda(lr.LRScheduler):
    """A rate that is a function of the number of steps."""

    steps_itself = True

    def __init__(self, function, begin=0, step=1):
        self._function, self._begin, self._stride = function, begin, step
        super().__init__(function(begin))

    def get_lr(self):
        return float(self._function(self._begin + self.last_epoch * self._stride))

    def create_lr_var(self, lr):
        """The rate as a tensor."""
        from proa import _C

        return _C.to_tensor([lr], dtype="float32")

    @property
    def step_num(self):
        return self._begin + self.last_epoch * self._stride


def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """learning_rate * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5), of steps from 1."""

    def rate(step):
        a = step**-0.5 if step > 0 else math.inf
        return learning_rate * d_model**-0.5 * min(a, step * warmup_steps**-1.5)

    return StepLambda(rate, begin=1)


def _stages(step, decay_steps, staircase):
    return step // decay_steps if staircase else step / decay_steps


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate * decay_rate ** (step / decay_steps); with `staircase`, of whole stages."""
    return StepLambda(lambda step: learning_rate * decay_rate ** _stages(step, decay_steps, staircase))


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate * exp(-decay_rate * step / decay_steps)."""
    return StepLambda(lambda step: learning_rate * math.exp(-decay_rate * _stages(step, decay_steps, staircase)))


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate / (1 + decay_rate * step / decay_steps)."""
    return StepLambda(lambda step: learning_rate / (1.0 + decay_rate * _stages(step, decay_steps, staircase)))


def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """From learning_rate to end_learning_rate over decay_steps; with `cycle`, again and again, slower each time."""

    def rate(step):
        length = decay_steps
        if cycle:
            length = decay_steps * max(1, math.ceil(step / decay_steps))
        part = min(step, length) / length
        return (learning_rate - end_learning_rate) * (1.0 - part) ** power + end_learning_rate

    return StepLambda(rate)


def piecewise_decay(boundaries, values):
    """values[i] until step boundaries[i], the last value from then on."""
    if len(values) != len(boundaries) + 1:
        from proa import _C

        raise _C.located(
            ValueError(
                f"piecewise_decay: there must be one value more than boundaries; they are {len(values)} and "
                f"{len(boundaries)}"
            )
        )

    def rate(step):
        for boundary, value in zip(boundaries, values):
            if step < boundary:
                return value
        return values[-1]

    return StepLambda(rate)


def cosine_decay(learning_rate, step_each_epoch, epochs):
    """learning_rate * (cos(epoch * pi / epochs) + 1) / 2, of epochs of step_each_epoch steps."""
    return StepLambda(
        lambda step: learning_rate * 0.5 * (math.cos(math.floor(step / step_each_epoch) * math.pi / epochs) + 1.0)
    )


def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From start_lr to end_lr over warmup_steps, then `learning_rate` (a number or a schedule)."""

    def rate(step):
        if step < warmup_steps:
            return start_lr + (end_lr - start_lr) * step / warmup_steps
        if isinstance(learning_rate, StepLambda):
            return learning_rate._function(step)
        return learning_rate() if isinstance(learning_rate, lr.LRScheduler) else learning_rate

    return StepLambda(rate)


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """The number of the run of a program: `begin` in the first, `step` more in each that follows; int64, [1].

    Args:
        counter_name (str, optional): of the counter; asked for again, it is the same one.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     number = fluid.layers.autoincreased_step_counter(begin=10)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(startup)
        >>> [exe.run(main, fetch_list=[number])[0].item() for _ in range(2)]
        [10, 11]
    """
    from proa import _C
    from proa.static import create_global_var, default_main_program

    name = counter_name or "@STEP_COUNTER@"
    held = default_main_program()._made.get(name)
    if held is None:
        held = create_global_var([1], begin - step, "int64", persistable=True, name=name)
        _C.ops.store_(held, held + step)
    return held
