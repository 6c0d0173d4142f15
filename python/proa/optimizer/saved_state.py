"""The state of an optimizer as it is saved and loaded."""

import re
import warnings
from collections import OrderedDict
from typing import Any

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.grad_mode import no_grad
from proa.optimizer.lr import LRScheduler

LOW = (_C.float16, _C.bfloat16)


class SavedState:
    """What an Optimizer gives and takes: accumulators, float32 copies and the schedule, by name."""

    _accumulator_names: tuple[str, ...]
    _accumulators: dict[str, Any]
    _learning_rate: Any
    _loaded: dict[str, Any]  # values that wait for accumulators
    _master_weights: dict[str, Any]
    _multi_precision: bool
    _parameter_list: Any
    _written: dict[str, int]

    def state_dict(self) -> dict[str, Any]:
        """Accumulators by name (such as linear_0.w_0_moment1_0), and LR_Scheduler if there is one.

        With multi_precision also `master_weights`, a dict of float32 copies by the names of the parameters.
        """
        state = OrderedDict(self._loaded)
        for by_param in self._accumulators.values():
            for tensor in by_param.values():
                state[tensor.name] = tensor
        if self._master_weights:
            state["master_weights"] = {**state.get("master_weights", {}), **self._master_weights}
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict) -> None:
        """Takes over what `state_dict` of an equal optimizer gave.

        Names are those of parameters, so both optimizers must hold parameters of the
        same names; a warning says if none fits. Values for accumulators that do not exist yet are kept until they do.
        """
        if not hasattr(state_dict, "keys"):
            raise wrong("set_state_dict", "state_dict", "a dict, as paddle.load gives it", state_dict)
        state = dict(state_dict)
        schedule = state.pop("LR_Scheduler", None)
        if schedule is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(schedule)
        masters = dict(state.pop("master_weights", None) or {})
        self._take_masters(masters)
        existing = {t.name: t for by_param in self._accumulators.values() for t in by_param.values()}
        own = tuple(f"{p.name}_" for p in self._parameter_list or ())
        if state and own and not any(str(name).startswith(own) for name in state):
            warnings.warn(
                f"set_state_dict: none of the names in the state ({next(iter(state))!r}, ...) belongs to a parameter of "
                f"this optimizer ({own[0][:-1]!r}, ...); make the layers in the same order as where it was saved",
                stacklevel=2,
            )
        for name, value in state.items():
            name = self._own_name(name, state)
            if name in existing:
                assign(existing[name], value)
            else:
                self._loaded[name] = value

    def _own_name(self, name, state):
        """What an accumulator of a state is called here."""
        # The last number counts the optimizers of the process that wrote the state.
        first = re.sub(r"_\d+$", "_0", name)
        name = name if first in state else first
        for p in self._parameter_list or ():
            # Those of float32 copies bear their names; a state of float32 training goes on with copies, and back.
            if not name.startswith(f"{p.name}_"):
                continue
            rest = name[len(p.name) + 1 :].removeprefix("fp32_master_0_")
            if any(rest == f"{kind}_0" for kind in self._accumulator_names):
                return f"{p.name}_{'fp32_master_0_' if self._has_master(p) else ''}{rest}"
        return name

    def _has_master(self, param):
        return self._multi_precision and param.dtype in LOW

    def _take_masters(self, masters):
        """Float32 copies of a state; a float32 parameter that is a rounded one of them becomes it."""
        for p in self._parameter_list or ():
            if p.name not in masters:
                continue
            if p.name in self._master_weights:
                assign(self._master_weights[p.name], masters.pop(p.name))
                self._written[p.name] = p.inplace_version
            elif p.dtype == _C.float32:
                with _C.eager_mode(), no_grad():
                    exact = _C.to_tensor(masters.pop(p.name))
                    for low in (_C.float16, _C.bfloat16):
                        if list(exact.shape) == list(p.shape) and same(exact.astype(low).astype(_C.float32), p):
                            p.set_value(exact)
                            break
        if masters:
            self._loaded["master_weights"] = masters

    set_dict = set_state_dict


def same(x, y):
    """Whether two tensors of a dtype are alike in every bit, NaN too."""
    with _C.eager_mode():
        return list(x.shape) == list(y.shape) and bool(((x == y) | (x != x) & (y != y)).all())


def assign(tensor, value):
    """Writes a value of a state into a tensor of its shape; ValueError for another shape."""
    if list(value.shape) != list(tensor.shape):
        raise _C.located(
            ValueError(
                f"set_state_dict: {tensor.name} is {list(tensor.shape)}, but {list(value.shape)} in the given state"
            )
        )
    recording = _C.is_grad_enabled()
    _C.set_grad_enabled(False)
    try:
        tensor.set_value(value)
    finally:
        _C.set_grad_enabled(recording)
