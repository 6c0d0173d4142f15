"""An optimizer of which each process has the states of an equal part of every parameter.

A part is a run of `ceil(numel / processes)` elements of the flat parameter; the last is padded with zeros. Gradients are
reduced so that each process has the sum of its part, it updates its part, and the parts are gathered again.
"""

from collections import OrderedDict

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.utils.hybrid_parallel_util import Quiet, average_gradients, differs, somewhere
from proa.distributed.state_names import divided_owner
from proa.framework.grad_mode import no_grad
from proa.framework.parameter import Parameter

__all__ = [
    "DividedOptimizer",
    "check_elementwise",
    "dividing",
    "length",
    "make_part",
    "part_of",
    "reduce_part",
    "whole",
]

# What they do with an element depends on that element alone (and on numbers that all have).
_ELEMENTWISE = frozenset("SGD Momentum Adam AdamW Adamax Adagrad Adadelta RMSProp".split())


def check_elementwise(optimizer, norms=False):
    """NotImplementedError for an optimizer that looks at whole parameters, RuntimeError for one that has made steps.

    Args:
        norms (bool): one may pass that asks for norms of whole parameters.
    """
    kind = type(optimizer).__name__
    if kind not in _ELEMENTWISE and not (norms and getattr(optimizer, "norms_of_whole", False)):
        raise _C.located(
            NotImplementedError(
                f"sharding: {kind} looks at whole parameters, and each process has a part; use one of "
                f"{', '.join(sorted(_ELEMENTWISE))}"
            )
        )
    if any(optimizer._accumulators.values()):
        raise _C.located(RuntimeError(f"sharding: this {kind} has made steps; divide it before the first"))


def length(shape, group):
    """How many elements each process has of a tensor."""
    size = 1
    for dim in shape:
        size *= dim
    return -(-size // group.nranks)


def _padded(x, group):
    """The elements of `x` and zeros: `nranks` equal parts one after the other."""
    flat = x.reshape([-1])
    missing = length(x.shape, group) * group.nranks - flat.shape[0]
    return _C.ops.concat([flat, _C.ops.full([missing], 0.0, x.dtype)], 0) if missing else flat


def part_of(x, group):
    """This process's part of `x`, a tensor of its own."""
    size = length(x.shape, group)
    return _C.ops.slice(_padded(x, group), [0], [group.rank * size], [(group.rank + 1) * size]).clone()


def reduce_part(x, group, average):
    """This process's part of the sum (or mean) of what the processes have."""
    size = length(x.shape, group)
    out = _C.ops.full([size], 0.0, x.dtype)
    parts = [part.clone() for part in _C.ops.split(_padded(x, group), [length(x.shape, group)] * group.nranks, 0)]
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
    """A parameter of this process's part, with the name and settings of the whole, which knows it as its `part`."""
    with no_grad(), _C.eager_mode():
        part = Parameter(part_of(parameter.detach(), group), parameter.name, parameter.trainable)
    parameter.copy_settings_to(part)
    part.whole_shape, part.part_group = list(parameter.shape), group
    mask = getattr(parameter, "_sparsity_mask", None)
    if mask is not None:
        part._sparsity_mask = part_of(mask, group)
    parameter.part = part
    return part


def dividing(optimizer):
    """The DividedOptimizer that an optimizer is or steps through; None if there is none."""
    while optimizer is not None and not isinstance(optimizer, DividedOptimizer):
        optimizer = optimizer.__dict__.get("_inner_opt")
    return optimizer


class DividedOptimizer:
    """States are divided (stage 1); gradients too, as soon as backward has them (2); parameters too, by DividedParameters (3).

    In stages 2 and 3 all processes run the same operations in backward, in the same order. Experts of which each process has
    others stay whole: they are divided as it is.

    Args:
        optimizer (Optimizer): what updates parts; it has not made a step yet.
        group (Group): the processes that divide.
        average (bool): gradients are averaged, not summed.
        clip (bool): a clip by norm becomes one over all parts.
        stage (int): 1, 2 or 3.

    Raises:
        NotImplementedError: an optimizer or clip that looks at whole parameters.
        RuntimeError: it has made steps.
        ValueError: in stage 3, a parameter that is not one of the divided model.
    """

    def __init__(self, optimizer, group, average=True, clip=True, stage=1):
        itself = getattr(optimizer, "keeps_zeros_of", optimizer)  # of asp
        check_elementwise(itself, norms=True)
        self._inner_opt, self._group, self._average, self._stage = optimizer, group, average, stage
        self._whole, self._own = [], []
        self._written = {}  # versions of whole parameters when their parts were gathered
        for settings in optimizer._groups:
            settings["params"] = [self._divide(p) for p in settings["params"]]
        itself._buckets = None
        self._shapes = {p.name: p.whole_shape for p in optimizer._parameter_list if hasattr(p, "whole_shape")}
        self._divide_exact()
        if stage == 2:
            for p in self._whole:
                p.register_post_accumulate_grad_hook(self._reduce_now)
                p.gradient_in_part = True
        if clip:
            from proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip import over_ranks

            optimizer._change_clips(lambda clip: over_ranks(clip, group, lambda parameter: True))

    def _divide(self, parameter):
        """The part of a parameter that the optimizer updates; all of it, where other processes have other ones."""
        if differs(parameter, self._group):
            if not parameter.stop_gradient:
                self._own.append(parameter)
            return parameter
        if self._stage == 3:
            part = parameter if hasattr(parameter, "whole_shape") else getattr(parameter, "part", None)
            if part is None:
                raise _C.located(
                    ValueError(
                        f"sharding: {parameter.name} is not a parameter of the divided model; divide the model before the "
                        "optimizer (fleet.distributed_model, then distributed_optimizer)"
                    )
                )
            return part
        if parameter.stop_gradient:
            return parameter
        self._whole.append(parameter)
        return make_part(parameter, self._group)

    @no_grad()
    def _divide_exact(self):
        """Parts of what 16-bit parameters were before `amp.decorate` rounded them."""
        exact = self._inner_opt._exact
        with _C.eager_mode():
            for name, value in exact.items():
                if list(value.shape) == self._shapes.get(name):
                    exact[name] = part_of(value.detach(), self._group)

    def __getattr__(self, name):
        return getattr(self._inner_opt, name)

    @property
    def _parameter_list(self):
        """Those that hold gradients: whole parameters, or parts where layers reduce gradients."""
        return self._inner_opt._parameter_list if self._stage > 1 else [*self._whole, *self._own]

    def _reduce_now(self, parameter):
        """In backward (stage 2): this process keeps its part of a gradient."""
        with Quiet(), _C.eager_mode():
            part, grad = parameter.part, reduce_part(parameter.grad, self._group, self._average)
            part.grad = grad if part.grad is None else part.grad + grad
        parameter.grad = None

    def step(self):
        """Reduces gradients, updates this process's part, gathers the parameters."""
        with Quiet(), _C.eager_mode():
            if self._stage == 1:
                self._reduce()
            average_gradients(self._own, self._group, total=not self._average)
            self._follow()
            self._inner_opt.step()
            self._gather()

    def _reduce(self):
        for p in somewhere(self._whole, self._group):
            p.part.grad = reduce_part(p.grad, self._group, self._average)

    def _follow(self):
        """Parts of parameters that somebody wrote to since the last step (a checkpoint was loaded) are taken anew."""
        for p in self._whole:
            if p.inplace_version != self._written.get(p.name):
                p.part.set_value(part_of(p.detach(), self._group))

    def _gather(self):
        for p in self._whole:
            p.set_value(whole(p.part.detach(), p.shape, self._group))
            self._written[p.name] = p.inplace_version
            if self._stage == 1:
                p.part.grad = None

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

    @no_grad()
    def state_dict(self):
        """States of whole parameters, as the optimizer of one process has them. All processes call it together."""
        state = self._inner_opt.state_dict()
        with _C.eager_mode():
            found = OrderedDict((name, self._whole_state(name, value)) for name, value in state.items())
            if "master_weights" in state:
                found["master_weights"] = {
                    name: whole(value, self._shapes[name], self._group) if name in self._shapes else value
                    for name, value in state["master_weights"].items()
                }
        return found

    def _whole_state(self, name, value):
        owner = divided_owner(name, self._shapes)
        if owner is None or not isinstance(value, _C.Tensor):
            return value
        shape = self._shapes[owner]
        if list(value.shape) != [length(shape, self._group)]:
            return value
        return whole(value, shape, self._group)

    @no_grad()
    def set_state_dict(self, state_dict):
        """Takes this process's parts of the states of whole parameters."""
        state = {}
        with _C.eager_mode():
            for name, value in dict(state_dict).items():
                if name == "master_weights":
                    value = {n: part_of(_tensor(v), self._group) if n in self._shapes else v for n, v in value.items()}
                elif name != "LR_Scheduler":
                    value = self._part_state(name, value)
                state[name] = value
        self._inner_opt.set_state_dict(state)

    def _part_state(self, name, value):
        owner = divided_owner(name, self._shapes)
        if owner is None or list(value.shape) != self._shapes[owner]:
            return value
        return part_of(_tensor(value), self._group)

    set_dict = set_state_dict


def _tensor(value):
    if isinstance(value, _C.Tensor):
        return value
    from proa import to_tensor

    return to_tensor(value)
