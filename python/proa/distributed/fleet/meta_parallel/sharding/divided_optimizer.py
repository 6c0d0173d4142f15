"""An optimizer of which each process has the states of an equal part of every parameter.

A part is a run of `ceil(numel / processes)` elements of the flat parameter; the last is padded with zeros. Gradients are
reduced so that each process has the sum of its part, it updates its part, and the parts are gathered again.
"""

from collections import OrderedDict

from proa import _C
from proa.distributed import collective
from proa.framework.grad_mode import no_grad
from proa.framework.parameter import Parameter
from proa.nn.clip import ClipGradByGlobalNorm, ClipGradByValue

__all__ = ["DividedOptimizer", "make_part", "part_of", "reduce_part", "whole"]

# What they do with an element depends on that element alone (and on numbers that all have).
_ELEMENTWISE = frozenset("SGD Momentum Adam AdamW Adamax Adagrad Adadelta RMSProp".split())


def _length(shape, group):
    size = 1
    for dim in shape:
        size *= dim
    return -(-size // group.nranks)


def _padded(x, group):
    """The elements of `x` and zeros: `nranks` equal parts one after the other."""
    flat = x.reshape([-1])
    missing = _length(x.shape, group) * group.nranks - flat.shape[0]
    return _C.ops.concat([flat, _C.ops.full([missing], 0.0, x.dtype)], 0) if missing else flat


def part_of(x, group):
    """This process's part of `x`, a tensor of its own."""
    size = _length(x.shape, group)
    return _C.ops.slice(_padded(x, group), [0], [group.rank * size], [(group.rank + 1) * size]).clone()


def reduce_part(x, group, average):
    """This process's part of the sum (or mean) of what the processes have."""
    size = _length(x.shape, group)
    out = _C.ops.full([size], 0.0, x.dtype)
    parts = [part.clone() for part in _C.ops.split(_padded(x, group), [_length(x.shape, group)] * group.nranks, 0)]
    collective.reduce_scatter(out, parts, group=group)
    return out.scale(1.0 / group.nranks) if average else out


def whole(part, shape, group):
    """The tensor of `shape` that the processes have parts of."""
    parts = []
    collective.all_gather(parts, part, group)
    size = 1
    for dim in shape:
        size *= dim
    flat = _C.ops.concat(parts, 0)
    return (flat if flat.shape[0] == size else _C.ops.slice(flat, [0], [0], [size])).reshape(shape)


def make_part(parameter, group):
    """A parameter of this process's part, with the name and settings of the whole."""
    with no_grad(), _C.eager_mode():
        part = Parameter(part_of(parameter.detach(), group), parameter.name, parameter.trainable)
    parameter.copy_settings_to(part)
    part.is_shared_copy = getattr(parameter, "is_shared_copy", False)
    return part


class DividedOptimizer:
    """Stage 1 ("os"), and 2 and 3 with layers that leave gradients of parts: states are divided.

    Args:
        optimizer (Optimizer): what updates parts; it has not made a step yet.
        group (Group): the processes that divide.
        average (bool): gradients are averaged, not summed.
        clip (bool): a ClipGradByGlobalNorm becomes one over all parts.
        parts (dict[int, Parameter]): parts of parameters by `id` that a layer has made (stage 3).

    Raises:
        NotImplementedError: an optimizer or clip that looks at whole parameters.
        RuntimeError: it has made steps.
    """

    def __init__(self, optimizer, group, average=True, clip=True, parts=None):
        kind = type(optimizer).__name__
        if kind not in _ELEMENTWISE:
            raise _C.located(
                NotImplementedError(
                    f"sharding: {kind} looks at whole parameters, and each process has a part; use one of "
                    f"{', '.join(sorted(_ELEMENTWISE))}"
                )
            )
        if any(optimizer._accumulators.values()):
            raise _C.located(RuntimeError(f"sharding: this {kind} has made steps; divide it before the first"))
        self._inner_opt, self._group, self._average = optimizer, group, average
        self._whole, self._parts, self._reduced = [], {}, parts is not None
        self._divided_parameters = parts is not None
        for settings in optimizer._groups:
            found = []
            for p in settings["params"]:
                part = parts.get(id(p)) if parts is not None else None
                if part is None:
                    part = p if p.stop_gradient else make_part(p, group)
                if part is not p:
                    self._whole.append(p)
                    self._parts[id(p)] = part
                found.append(part)
            settings["params"] = found
        optimizer._buckets = None
        self._shapes = {p.name: list(p.shape) for p in self._whole} if parts is None else {}
        if clip:
            self._divide_clip(optimizer)

    def _divide_clip(self, optimizer):
        from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import HybridParallelClipGrad

        clip = optimizer._grad_clip
        if type(clip) is ClipGradByGlobalNorm:
            optimizer._grad_clip = HybridParallelClipGrad(clip, self._group, lambda parameter: True)
        elif clip is not None and not isinstance(clip, ClipGradByValue):
            raise _C.located(
                NotImplementedError(
                    f"sharding: {type(clip).__name__} looks at whole gradients, and each process has a part; use "
                    "ClipGradByGlobalNorm or ClipGradByValue"
                )
            )

    def __getattr__(self, name):
        return getattr(self._inner_opt, name)

    @property
    def _parameter_list(self):
        """Those that hold gradients: whole parameters, or parts where layers reduce gradients."""
        return self._inner_opt._parameter_list if self._reduced else self._whole

    def part(self, parameter):
        """This process's part of a parameter."""
        return self._parts[id(parameter)]

    def gradients_are_reduced(self):
        """From now on the model leaves gradients in the parts (stage 2)."""
        self._reduced = True

    @no_grad()
    def step(self):
        """Reduces gradients, updates this process's part, gathers the parameters."""
        with _C.eager_mode():
            if not self._reduced:
                self._reduce()
            self._inner_opt.step()
            if not self._divided_parameters:
                self._gather()

    def _reduce(self):
        from proa.distributed.fleet.utils.hybrid_parallel_util import somewhere

        for p in somewhere(self._whole, self._group):
            part = self.part(p)
            part.grad = reduce_part(p.grad, self._group, self._average)

    def _gather(self):
        for p in self._whole:
            part = self.part(p)
            p.set_value(whole(part.detach(), p.shape, self._group))
            if not self._reduced:
                part.grad = None

    def clear_grad(self, set_to_zero=True):
        """Clears the gradients of all parameters and parts."""
        for p in self._whole:
            p.clear_gradient(set_to_zero)
        self._inner_opt.clear_grad(False)

    clear_gradients = clear_grad

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """A step from gradients that `loss.backward()` has left."""
        self.step()
        return None, []

    # States ---------------------------------------------------------------------------------

    def note_shapes(self, shapes):
        """Shapes of the whole parameters, by name."""
        self._shapes.update(shapes)

    def _owner(self, name):
        """The parameter that a state belongs to, by the longest name."""
        found = [p for p in self._shapes if name.startswith(f"{p}_")]
        return max(found, key=len) if found else None

    @no_grad()
    def state_dict(self):
        """States of whole parameters, as the optimizer of one process has them. All processes call it together."""
        state = self._inner_opt.state_dict()
        with _C.eager_mode():
            found = OrderedDict((name, self._whole_state(name, value)) for name, value in state.items())
            if "master_weights" in state:
                found["master_weights"] = {
                    name: whole(value, self._shapes[name], self._group)
                    for name, value in state["master_weights"].items()
                }
        return found

    def _whole_state(self, name, value):
        owner = self._owner(name)
        if owner is None or not isinstance(value, _C.Tensor):
            return value
        shape = self._shapes[owner]
        if list(value.shape) != [_length(shape, self._group)] or name.endswith(("pow_acc_0",)):
            return value
        return whole(value, shape, self._group)

    @no_grad()
    def set_state_dict(self, state_dict):
        """Takes this process's parts of the states of whole parameters."""
        state = {}
        with _C.eager_mode():
            for name, value in dict(state_dict).items():
                if name == "master_weights":
                    value = {n: part_of(_tensor(v), self._group) for n, v in value.items()}
                elif name != "LR_Scheduler":
                    value = self._part_state(name, value)
                state[name] = value
        self._inner_opt.set_state_dict(state)

    def _part_state(self, name, value):
        owner = self._owner(name)
        if owner is None or list(value.shape) != self._shapes[owner] or name.endswith("pow_acc_0"):
            return value
        return part_of(_tensor(value), self._group)

    set_dict = set_state_dict


def _tensor(value):
    if isinstance(value, _C.Tensor):
        return value
    from proa import to_tensor

    return to_tensor(value)
