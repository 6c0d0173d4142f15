"""ModelAverage: the mean of what parameters were lately."""

import contextlib

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.optimizer.optimizer import Optimizer

__all__ = ["ModelAverage"]

# Sums of more numbers lose digits; they are put aside then.
_MANY = 16384


class ModelAverage(Optimizer):
    """Adds up parameters after each step of another optimizer, and puts their means in their place for an evaluation.

    The mean is over the last steps and those of the window before: a window ends when it has `min_average_window` steps and
    as many as `max_average_window`, or `average_window_rate` times all steps. Eager mode only.

    Args:
        average_window_rate (float): length of a window as a part of all steps.
        parameters (list[Tensor]): what is averaged.
        min_average_window, max_average_window (int): least and most length of a window.
        name (str, optional): not used.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
        >>> average = proa.incubate.ModelAverage(0.15, net.parameters(), min_average_window=2, max_average_window=10)
        >>> for _ in range(4):
        ...     net(proa.ones([3, 2])).mean().backward()
        ...     sgd.step()
        ...     average.step()
        ...     sgd.clear_grad()
        >>> with average.apply():
        ...     mean = net.weight.numpy()
        >>> bool((mean > net.weight.numpy()).all())  # which goes down
        True
    """

    def __init__(self, average_window_rate, parameters=None, min_average_window=10000, max_average_window=10000,
                 name=None):  # fmt: skip
        if _C.in_static_mode():
            raise _C.located(
                NotImplementedError("ModelAverage: there is none for recorded programs; train in eager mode")
            )
        super().__init__(0.0, parameters=parameters, name=name)
        self.average_window = average_window_rate
        self.min_average_window, self.max_average_window = min_average_window, max_average_window

    @no_grad()
    def step(self):
        """Adds the parameters that have gradients to the sums."""
        for param in self._parameter_list:
            if not param.stop_gradient and param.grad is not None:
                self._accumulate(param)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`step`."""
        self.step()

    def _number(self, name, param):
        return self._add_accumulator(name, param, "int64", 0, [1])

    def _accumulate(self, param):
        first, second, third = (self._add_accumulator(name, param) for name in ("sum_1", "sum_2", "sum_3"))
        counts = [self._number(name, param) for name in ("num_accumulates", "old_num_accumulates", "num_updates")]
        now, old, updates = (int(count.item()) for count in counts)
        now, updates = now + 1, updates + 1
        first.add_(param)
        if updates % _MANY == 0:
            second.add_(first)
            first.zero_()
        if now >= self.min_average_window and now >= min(self.max_average_window, updates * self.average_window):
            third.set_value(first + second)
            first.zero_()
            second.zero_()
            now, old = 0, now
        for count, value in zip(counts, (now, old, updates)):
            count.fill_(value)

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """A context in which the parameters are their means.

        Args:
            executor: accepted for compatibility.
            need_restore (bool): put the parameters back at its end; else `restore` does.
        """
        with no_grad():
            for param in self._parameter_list:
                count = self._number("num_accumulates", param) + self._number("old_num_accumulates", param)
                self._add_accumulator("restore", param).set_value(param)
                if count.item() > 0:
                    total = sum(self._add_accumulator(name, param) for name in ("sum_1", "sum_2", "sum_3"))
                    param.set_value(total / count.astype(param.dtype))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    @no_grad()
    def restore(self, executor=None):
        """Puts the parameters back in place of their means."""
        for param in self._parameter_list:
            if param.name in self._accumulators["restore"]:
                param.set_value(self._get_accumulator("restore", param))
