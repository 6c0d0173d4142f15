"""ModelAverage: the mean of what parameters were lately."""

import contextlib

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.optimizer.optimizer import Optimizer
from proa.static.binding import value_in
from proa.static.scope import global_scope

__all__ = ["ModelAverage"]

# Sums of more numbers lose digits; they are put aside then.
_MANY = 16384


class ModelAverage(Optimizer):
    """Adds up parameters after each step of another optimizer, and puts their means in their place for an evaluation.

    The mean is over the last steps and those of the window before: a window ends when it has `min_average_window` steps and
    as many as `max_average_window`, or `average_window_rate` times all steps. In static mode the program that is built adds up the parameters in each run: make it after
    `minimize`.

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
        recorded = _C.in_static_mode()
        if recorded and parameters is None:
            from proa.static import default_main_program

            parameters = default_main_program().trained_parameters()
        super().__init__(0.0, parameters=parameters, name=name)
        self.average_window = average_window_rate
        self.min_average_window, self.max_average_window = min_average_window, max_average_window
        self._held = {}  # parameters while `apply` has their means in their place
        if recorded:
            self._accumulate_all(self._parameter_list)

    def step(self):
        """Adds the parameters that have gradients to the sums; a program does so in each run."""
        if not _C.in_static_mode():
            self._accumulate_all([p for p in self._parameter_list if not p.stop_gradient and p.grad is not None])

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`step`."""
        self.step()

    @no_grad()
    def _accumulate_all(self, parameters):
        for param in parameters:
            self._accumulate(param)

    def _number(self, name, param):
        return self._add_accumulator(name, param, "int64", 0, [1])

    def _accumulate(self, param):
        ops = _C.ops
        # A sum of many 16-bit numbers is no such number.
        wide = _C.float32 if param.dtype in (_C.float16, _C.bfloat16) else param.dtype
        sums = [self._add_accumulator(name, param, wide) for name in ("sum_1", "sum_2", "sum_3")]
        counts = [self._number(name, param) for name in ("num_accumulates", "old_num_accumulates", "num_updates")]
        first, second, third = sums
        now, old, updates = counts[0] + 1, counts[1], counts[2] + 1
        total = first + param.detach()
        aside = updates % _MANY == 0
        second, total = _where(aside, second + total, second), _where(aside, total * 0.0, total)
        most = ops.full_like(updates, self.max_average_window).astype("float64")
        window = ops.minimum(most, updates.astype("float64") * float(self.average_window))
        ends = ops.logical_and(now >= self.min_average_window, now.astype("float64") >= window)
        third = _where(ends, second + total, third)
        second, total = _where(ends, second * 0.0, second), _where(ends, total * 0.0, total)
        now, old = ops.where(ends, now * 0, now), ops.where(ends, now, old)
        for held, value in zip([*sums, *counts], (total, second, third, now, old, updates), strict=True):
            ops.store_(held, value)

    def _now(self, name, param):
        """What a sum or number is in the scope of now."""
        return value_in(global_scope(), self._get_accumulator(name, param))

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """A context in which the parameters are their means.

        Args:
            executor: accepted for compatibility.
            need_restore (bool): put the parameters back at its end; else `restore` does.
        """
        with _C.eager_mode(), no_grad():
            for param in self._parameter_list:
                own = value_in(global_scope(), param)
                self._held[param.name] = own.detach().clone()
                if (
                    "num_accumulates" not in self._accumulators
                    or param.name not in self._accumulators["num_accumulates"]
                ):
                    continue
                count = self._now("num_accumulates", param) + self._now("old_num_accumulates", param)
                if count.item() > 0:
                    total = sum(self._now(name, param) for name in ("sum_1", "sum_2", "sum_3"))
                    own.set_value((total / count.astype(total.dtype)).astype(param.dtype))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor=None):
        """Puts the parameters back in place of their means."""
        with _C.eager_mode(), no_grad():
            for param in self._parameter_list:
                if param.name in self._held:
                    value_in(global_scope(), param).set_value(self._held.pop(param.name))


def _where(flag, a, b):
    """a where a tensor of one element holds, else b."""
    return _C.ops.where(_C.ops.reshape(flag, [1] * len(a.shape)), a, b)
