"""Averages of parameters over steps."""

import contextlib

from proa import _C
from proa.utils import unique_name

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Averages that forget: average = decay * average + (1 - decay) * parameter, corrected for the start from zero.

    Args:
        decay (float): between 0 and 1.
        thres_steps (Tensor, optional): the number of the step, as it is when `update` is run: the decay is then not above
            (1 + steps) / (10 + steps), so that the first averages follow their parameters.
        name (str, optional): not used.

    Call `update()` after each step in eager mode, or while the program is built in static mode. Inside of `apply` the
    parameters have their averages.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> average = proa.static.ExponentialMovingAverage(0.9)
        >>> average.follow(net.parameters())
        >>> average.update()
        >>> with average.apply():
        ...     y = net(proa.ones([1, 2]))
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None, parameters=None):
        if thres_steps is not None:
            thres_steps = _C.tensor_argument(thres_steps, "ExponentialMovingAverage", "thres_steps")
        if not 0.0 <= decay < 1.0:
            raise _C.located(ValueError(f"ExponentialMovingAverage: decay must be in [0, 1), not {decay!r}"))
        self._decay, self._name = decay, name or ""
        self._steps = thres_steps
        self._averages = {}
        self._parameters = []
        self._power = None
        self._held = None
        if parameters is not None:
            self.follow(parameters)

    def follow(self, parameters):
        """Says which parameters are averaged; in static mode, those of the default main program unless said."""
        self._parameters = list(parameters)

    def update(self):
        """Takes the parameters of now into the averages."""
        if not self._parameters:
            from proa.static.program import default_main_program

            self._parameters = default_main_program().trained_parameters()
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            if self._power is None:
                with _C.eager_mode():
                    self._power = _C.ops.full([], 1.0, _C.float64)
                    self._averages = {p.name: _C.ops.full_like(p, 0.0) for p in self._parameters}
                # They go with the program into files, under names that all workers have.
                kept = {
                    "ema_power": self._power,
                    **{f"{name}.ema": average for name, average in self._averages.items()},
                }
                for name, tensor in kept.items():
                    tensor.name, tensor.persistable = unique_name.generate(self._name + name), True
            decay = self._decay_now()
            _C.ops.store_(self._power, self._power * decay)
            for p in self._parameters:
                average = self._averages[p.name]
                own = decay if isinstance(decay, float) else decay.astype(p.dtype)
                _C.ops.store_(average, average * own + p.detach() * (1.0 - own))
        finally:
            _C.set_grad_enabled(grad)

    def _decay_now(self):
        if self._steps is None:
            return float(self._decay)
        steps = _C.ops.reshape(self._steps.detach(), []).astype(_C.float64)
        return _C.ops.minimum((steps + 1.0) / (steps + 10.0), _C.ops.full_like(steps, self._decay))

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """Inside, the parameters have their averages."""
        with _C.eager_mode():
            self._held = {p.name: p.detach().clone() for p in self._parameters}
            correction = 1.0 - (1.0 if self._power is None else self._power.item())
            if correction > 0.0:
                self._write({name: average / correction for name, average in self._averages.items()})
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor=None):
        """Gives the parameters back what they had before `apply`."""
        if self._held is not None:
            self._write(self._held)
            self._held = None

    def _write(self, values):
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            with _C.eager_mode():
                for p in self._parameters:
                    p.set_value(values[p.name].astype(p.dtype))
        finally:
            _C.set_grad_enabled(grad)
