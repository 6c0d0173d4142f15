"""Schedules of the learning rate as classes, with the old arguments; fluid's optimizers step them by themselves."""

from proa.fluid.layers import learning_rate_scheduler as _functions
from proa.fluid.layers.learning_rate_scheduler import StepLambda
from proa.optimizer import lr

__all__ = [
    "CosineDecay", "ExponentialDecay", "InverseTimeDecay", "LambdaDecay", "LearningRateDecay", "LinearLrWarmup",
    "MultiStepDecay", "NaturalExpDecay", "NoamDecay", "PiecewiseDecay", "PolynomialDecay", "ReduceLROnPlateau", "StepDecay",
]  # fmt: skip


class LearningRateDecay(lr.LRScheduler):
    """Base of schedules of the program's own: subclasses define `step()`, which gives the rate of step `step_num`.

    Args:
        begin (int): the first step.
        step (int): by how many it goes on.
        dtype (str): accepted.

    The optimizer asks for the rate once a step.
    """

    steps_itself = True

    def __init__(self, begin=0, step=1, dtype="float32"):
        self.step_num = begin
        self.step_size = step
        self._rates = self.step
        self.step = self._go_on
        self.base_lr = self.last_lr = float(self._rates())
        self.last_epoch = 0
        self.verbose = False

    def _go_on(self, epoch=None):
        self.step_num += self.step_size
        self.last_lr = float(self._rates())

    def create_lr_var(self, lr):
        """The rate as a tensor."""
        from proa import _C

        return _C.to_tensor([float(lr)], dtype="float32")


class _Class(StepLambda):
    """A schedule made by one of the functions."""

    def _take(self, schedule, begin=None, step=1):
        super().__init__(schedule._function, schedule._begin if begin is None else begin, step)


class PiecewiseDecay(_Class):
    """`layers.piecewise_decay`, from step `begin` on."""

    def __init__(self, boundaries, values, begin, step=1, dtype="float32"):
        self._take(_functions.piecewise_decay(boundaries, values), begin, step)


class NoamDecay(_Class):
    """`layers.noam_decay`, from step `begin` on."""

    def __init__(self, d_model, warmup_steps, begin=1, step=1, dtype="float32", learning_rate=1.0):
        self._take(_functions.noam_decay(d_model, warmup_steps, learning_rate), begin, step)


class ExponentialDecay(_Class):
    """`layers.exponential_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._take(_functions.exponential_decay(learning_rate, decay_steps, decay_rate, staircase), begin, step)


class NaturalExpDecay(_Class):
    """`layers.natural_exp_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._take(_functions.natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase), begin, step)


class InverseTimeDecay(_Class):
    """`layers.inverse_time_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._take(_functions.inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase), begin, step)


class PolynomialDecay(_Class):
    """`layers.polynomial_decay`."""

    def __init__(self, learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, begin=0, step=1,
                 dtype="float32"):  # fmt: skip
        self._take(
            _functions.polynomial_decay(learning_rate, decay_steps, end_learning_rate, power, cycle), begin, step
        )


class CosineDecay(_Class):
    """`layers.cosine_decay`."""

    def __init__(self, learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype="float32"):
        self._take(_functions.cosine_decay(learning_rate, step_each_epoch, epochs), begin, step)


class LinearLrWarmup(_Class):
    """`layers.linear_lr_warmup`."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype="float32"):
        self._take(_functions.linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr), begin, step)


class _Epochs:
    """Schedules by epochs: `epoch()` goes on, by the program's own call."""

    def epoch(self, epoch=None):
        """Goes to the next epoch, or to `epoch`."""
        self.step(epoch)


class StepDecay(_Epochs, lr.StepDecay):
    """learning_rate * decay_rate ** (epoch // step_size)."""

    def __init__(self, learning_rate, step_size, decay_rate=0.1):
        super().__init__(learning_rate, step_size, decay_rate)


class MultiStepDecay(_Epochs, lr.MultiStepDecay):
    """learning_rate times decay_rate for each milestone that is past."""

    def __init__(self, learning_rate, milestones, decay_rate=0.1):
        super().__init__(learning_rate, milestones, decay_rate)


class LambdaDecay(_Epochs, lr.LambdaDecay):
    """learning_rate * lr_lambda(epoch)."""


class ReduceLROnPlateau(lr.ReduceOnPlateau):
    """Less when a loss does not get smaller."""

    def __init__(self, learning_rate, mode="min", decay_rate=0.1, patience=10, verbose=False, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8, dtype="float32"):  # fmt: skip
        super().__init__(learning_rate, mode, decay_rate, patience, threshold, threshold_mode, cooldown, min_lr, eps,
                         verbose)  # fmt: skip
