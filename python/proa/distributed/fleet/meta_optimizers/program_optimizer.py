"""The optimizer of a static program that several workers train: what it appends to the program besides the step."""

from proa import _C
from proa.autograd import no_grad
from proa.distributed.calls import copy_into, start, untraced
from proa.distributed.groups import resolve
from proa.framework import recorded_rates
from proa.optimizer import Adam, Momentum, Optimizer
from proa.static.binding import value_in
from proa.static.gradients import append_backward
from proa.static.parameters import create_global_var
from proa.static.program import default_startup_program, program_guard
from proa.static.scope import programs
from proa.utils import unique_name

__all__ = ["Equal", "ProgramOptimizer", "by_rule"]


def by_rule(optimizer, strategy):
    """The optimizer with the rule that `strategy.lamb` or `strategy.lars` puts in its place.

    Raises:
        TypeError: lamb for what is no Adam, lars for what is no Momentum.
    """
    rules = [name for name in ("lamb", "lars") if getattr(strategy, name)]
    if not rules:
        return optimizer
    name, kind = rules[0], {"lamb": Adam, "lars": Momentum}[rules[0]]
    if len(rules) > 1 or not isinstance(optimizer, kind):
        raise _C.located(
            TypeError(
                f"distributed_optimizer: strategy.{' and strategy.'.join(rules)} with {type(optimizer).__name__}; lamb takes the "
                "place of Adam, lars that of Momentum; give that optimizer, or leave the switch off"
            )
        )
    options, configs = optimizer._default_options, getattr(strategy, f"{name}_configs")
    shared = {"parameters": optimizer._parameter_list, "grad_clip": optimizer._grad_clip}
    excluded = tuple(configs["exclude_from_weight_decay"])
    if name == "lamb":
        from proa.optimizer import Lamb

        return Lamb(
            optimizer._learning_rate,
            configs["lamb_weight_decay"],
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            exclude_from_weight_decay_fn=lambda p: any(part in p.name for part in excluded),
            multi_precision=optimizer._multi_precision,
            **shared,
        )
    from proa.fluid.optimizer_rules import Lars

    return Lars(
        optimizer._learning_rate,
        options["momentum"],
        configs["lars_coeff"],
        configs["lars_weight_decay"],
        configs["epsilon"],
        excluded,
        weight_decay=None,
        multi_precision=optimizer._multi_precision,
        rescale_grad=optimizer._rescale_grad,
        **shared,
    )


class Equal:
    """What a startup program does last: all workers take the parameters of the first."""

    def __init__(self, parameters):
        self._parameters = parameters

    def run_now(self):
        """For programs whose startup program is never run."""
        with _C.eager_mode():
            for parameter in self._parameters:
                start(resolve(None), True, "broadcast", parameter.detach(), parameter.detach())

    def run(self, scope):
        group = resolve(None)
        for parameter in self._parameters:
            value = value_in(scope, parameter)
            sent = untraced(value.detach().clone)
            start(group, True, "broadcast", sent, sent)
            copy_into(value, sent)


class ProgramOptimizer:
    """An optimizer whose minimize appends, in this order: gradients; their sum over `gradient_merge` runs; their mean over the
    workers; the step, in mixed precision where the optimizer is; with `localsgd` the mean of the parameters in place of that of
    gradients. What is not here it has from the optimizer.

    Args:
        optimizer (Optimizer | OptimizerWithMixedPrecision): does the step.
        strategy (DistributedStrategy): its switches.
        count (int): workers.
    """

    def __init__(self, optimizer, strategy, count):
        self._inner, self._strategy, self._count = optimizer, strategy, count
        self._program = self._startup = None

    def __getattr__(self, name):
        return getattr(self.__dict__["_inner"], name)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`backward` and `apply_gradients`.

        Returns:
            (list, list): an empty list, and the (parameter, gradient) pairs of this worker.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Appends the gradients of the loss of this worker.

        Returns:
            list[tuple]: (parameter, gradient).
        """
        if not isinstance(loss, _C.Tensor) or not _C.is_symbolic(loss):
            raise _C.located(
                TypeError(
                    "minimize: loss must be a value of a program; fleet.distributed_optimizer was called in static mode"
                )
            )
        self._program = next(p for p in list(programs) if p.owns(loss))
        self._startup = default_startup_program() if startup_program is None else startup_program
        if not isinstance(self._inner, Optimizer):  # in mixed precision
            pairs = self._inner.backward(loss, startup_program, parameter_list, no_grad_set)
        else:
            with program_guard(self._program, self._startup):
                if not self._inner._parameter_list:
                    self._inner._groups = []
                    self._inner._add_param_group({"params": self._program.all_parameters()})
                recorded_rates.note(self._inner)
                self._program.keep(self._inner)
                pairs = append_backward(loss, parameter_list or self._inner._parameter_list, no_grad_set)
        if self._count > 1:
            equal = Equal(self._program.all_parameters())
            equal.run_now()
            self._startup._starts["parameters of the first worker"] = equal
        return pairs

    def apply_gradients(self, params_grads):
        """Appends everything but the gradients."""
        if self._program is None:
            raise _C.located(
                RuntimeError("fleet: apply_gradients needs the gradients of a program; call backward first")
            )
        pairs = [(p, g) for p, g in params_grads if g is not None]
        runs = int(self._strategy.gradient_merge_configs["k_steps"]) if self._strategy.gradient_merge else 1
        if runs < 1:
            raise _C.located(ValueError(f"fleet: gradient_merge_configs['k_steps'] is {runs}; it must be at least 1"))
        with program_guard(self._program, self._startup), no_grad():
            if runs == 1:
                self._step(pairs)
            else:
                self._merge(pairs, runs)
        return []

    # Parts -------------------------------------------------------------------

    def _merge(self, pairs, runs):
        sums = [_variable(f"{p.name}_gradient_merge", p.shape, g.dtype) for p, g in pairs]
        for total, (_, grad) in zip(sums, pairs):
            _C.ops.store_(total, total + grad)
        factor = 1.0 / runs if self._strategy.gradient_merge_configs["avg"] else 1.0

        def step():
            self._step([(p, total * factor) for total, (p, _) in zip(sums, pairs)])
            for total in sums:
                _C.ops.store_(total, total * 0.0)
            return []

        _C.cond(_every("gradient_merge", runs), step, lambda: [])

    def _step(self, pairs):
        local = self._strategy.localsgd
        if self._count > 1 and not local:
            means = self._over_workers([g for _, g in pairs], self._strategy.gradient_scale_configs["scale_strategy"])
            pairs = list(zip([p for p, _ in pairs], means))
        self._inner.apply_gradients(pairs)
        if self._count > 1 and local:
            self._average([p for p, _ in pairs])

    def _average(self, parameters):
        configs = self._strategy.localsgd_configs

        def average():
            for parameter, mean in zip(parameters, self._over_workers(parameters, "avg")):
                _C.ops.store_(parameter, mean)
            return []

        _C.cond(_every("localsgd", int(configs["k_steps"]), int(configs["begin_step"])), average, lambda: [])

    def _over_workers(self, tensors, how):
        """Their means (or sums) over the workers; those of one dtype go together, in buckets."""
        if how not in ("avg", "sum"):
            raise _C.located(
                ValueError(f"fleet: gradient_scale_configs['scale_strategy'] is {how!r}; it must be 'avg' or 'sum'")
            )
        limit = self._strategy.fuse_grad_size_in_MB * 2**20 if self._strategy.fuse_all_reduce_ops else 0
        buckets, sizes = [], {}  # dtype: (its last bucket, bytes in it)
        for number in reversed(range(len(tensors))):  # gradients of the last layers come first
            tensor = tensors[number]
            bucket, size = sizes.get(tensor.dtype, (None, 0))
            if bucket is None or size >= limit:
                bucket, size = [], 0
                buckets.append(bucket)
            bucket.append(number)
            sizes[tensor.dtype] = bucket, size + tensor.size * tensor.element_size()
        out = [None] * len(tensors)
        for bucket in buckets:
            parts = [_C.ops.reshape(tensors[number], [-1]) for number in bucket]
            flat = _C.ops.concat(parts, 0)
            dtype, half = flat.dtype, self._strategy.fp16_allreduce and flat.dtype == _C.float32
            flat = _C.ops.all_reduce(flat.astype(_C.float16) if half else flat, 0, how).astype(dtype)
            for number, part in zip(bucket, _C.ops.split(flat, [p.shape[0] for p in parts], 0)):
                out[number] = _C.ops.reshape(part, tensors[number].shape)
        return out


def _variable(name, shape, dtype):
    return create_global_var(shape, 0.0, dtype, persistable=True, name=unique_name.generate(name))


def _every(name, runs, begin=0):
    """Appends a count of runs; whether this is every `runs`-th, or one before `begin`."""
    if runs < 1:
        raise _C.located(ValueError(f"fleet: {name}_configs['k_steps'] is {runs}; it must be at least 1"))
    count = _variable(f"{name}_runs", [1], "int64")
    now = count + 1
    _C.ops.store_(count, now)
    due = _C.ops.equal(_C.ops.remainder(now, _C.ops.full([1], runs, _C.int64)), _C.ops.full([1], 0, _C.int64))
    if begin > 1:
        due = _C.ops.logical_or(due, _C.ops.less_than(now, _C.ops.full([1], begin, _C.int64)))
    return due.reshape([])
