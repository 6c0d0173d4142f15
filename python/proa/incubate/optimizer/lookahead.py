"""LookAhead: slow parameters that follow those of another optimizer (Zhang and others, 2019)."""

import re

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.optimizer.optimizer import Optimizer

__all__ = ["LookAhead"]


class LookAhead(Optimizer):
    """Steps another optimizer; every k steps its parameters go back, part of the way, to where they were k steps ago.

    The slow parameters start where the first step leads to, as in the reference. Eager mode only.

    Args:
        inner_optimizer (Optimizer): makes the steps.
        alpha (float): how far the slow parameters follow, from 0 to 1.
        k (int): steps of a round.
        name (str, optional): not used.

    Raises:
        TypeError, ValueError: for another optimizer, alpha or k.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
        >>> ahead = proa.incubate.LookAhead(sgd, alpha=0.5, k=2)
        >>> for _ in range(4):
        ...     net(proa.ones([3, 2])).mean().backward()
        ...     ahead.step()
        ...     ahead.clear_grad()
    """

    _slow_str = "slow"

    def __init__(self, inner_optimizer, alpha=0.5, k=5, name=None):
        if not isinstance(inner_optimizer, Optimizer):
            raise _C.located(
                TypeError(f"LookAhead: inner_optimizer must be an Optimizer, not {type(inner_optimizer).__name__}")
            )
        if not 0.0 <= alpha <= 1.0:
            raise _C.located(ValueError(f"LookAhead: alpha must be from 0 to 1, not {alpha!r}"))
        if isinstance(k, bool) or not isinstance(k, int) or k <= 0:
            raise _C.located(ValueError(f"LookAhead: k must be a positive int, not {k!r}"))
        if _C.in_static_mode():
            raise _C.located(NotImplementedError("LookAhead: there is none for recorded programs; train in eager mode"))
        super().__init__(alpha, parameters=inner_optimizer._parameter_list, name=name)
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._steps = 0

    @property
    def _stepping(self):
        return self.inner_optimizer._stepping

    def step(self):
        """A step of the inner optimizer; at the end of a round the parameters go back."""
        self.inner_optimizer.step()
        self._follow([p for p in self._parameter_list if not p.stop_gradient and p.grad is not None])

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`step` from the gradients that `loss.backward()` left; what the inner optimizer's `minimize` returns."""
        result = self.inner_optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        self._follow([param for param, _ in result[1]])
        return result

    @no_grad()
    def _follow(self, params):
        self._steps += 1
        stepping = self._stepping
        for param in params:
            # The float32 copy of a 16-bit parameter, where its optimizer has one: what moves is that.
            exact = stepping._master_weights.get(param.name, param)
            new = param.name not in self._accumulators[self._slow_str]
            slow = self._add_accumulator(self._slow_str, param, exact.dtype)
            if self._steps == 1 or (new and not slow.any()):
                slow.set_value(exact)
            if self._steps % self.k == 0:
                slow.set_value(self.alpha * exact + (1.0 - self.alpha) * slow)
                exact.set_value(slow)
                if exact is not param:
                    param.set_value(slow.astype(param.dtype))
                    stepping._written[param.name] = param.inplace_version

    def state_dict(self):
        """The slow parameters, how many steps there were, and the state of the inner optimizer."""
        state = self.inner_optimizer.state_dict()
        state.update(super().state_dict())
        state["lookahead_steps"] = self._steps
        return state

    def set_state_dict(self, state_dict):
        """Takes over what `state_dict` gave; the inner optimizer its part, if it has one there."""
        state = dict(state_dict)
        self._steps = int(state.pop("lookahead_steps", self._steps))
        slow = {name: value for name, value in state.items() if re.search(f"_{self._slow_str}_\\d+$", name)}
        inner = {name: value for name, value in state.items() if name not in slow}
        if inner:
            self.inner_optimizer.set_state_dict(inner)
        super().set_state_dict(slow)

    set_dict = set_state_dict
