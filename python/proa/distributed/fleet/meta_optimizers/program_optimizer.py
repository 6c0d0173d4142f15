"""The optimizer of a static program that several workers train: what it appends to the program besides the step."""

from proa import _C
from proa.autograd import no_grad
from proa.distributed.calls import copy_into, start, untraced
from proa.distributed.fleet.meta_optimizers.divided_program import DividedProgram
from proa.distributed.fleet.meta_optimizers.local_steps import average_adaptively, average_parameters, every, variable
from proa.distributed.fleet.meta_optimizers.sparse_gradients import SparseGradients
from proa.distributed.fleet.meta_optimizers.tensor_program import TensorProgram
from proa.distributed.groups import resolve
from proa.framework import recorded_rates
from proa.nn.layer.sync_norm import batch_norm_over_ranks
from proa.optimizer import Adam, Momentum, Optimizer
from proa.static.amp.mixing import remake
from proa.static.binding import value_in
from proa.static.gradients import append_backward, current_pairs
from proa.static.program import default_startup_program, program_guard
from proa.static.scope import programs

__all__ = ["Equal", "ProgramOptimizer", "by_rule", "checkpoints_of", "merged_runs"]


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


def checkpoints_of(strategy):
    """Those of `recompute_configs`; None where backward keeps what it needs.

    Raises:
        ValueError: it has none, and `recompute` is on.
    """
    if not strategy.recompute:
        return None
    checkpoints = list(strategy.recompute_configs["checkpoints"])
    if not checkpoints:
        raise _C.located(
            ValueError(
                "fleet: strategy.recompute needs recompute_configs['checkpoints'], the values of the program, or names of them, "
                "between which backward computes again"
            )
        )
    return checkpoints


def merged_runs(strategy):
    """How many runs a step takes the gradients of.

    Raises:
        ValueError: it is less than 1.
    """
    runs = int(strategy.gradient_merge_configs["k_steps"]) if strategy.gradient_merge else 1
    if strategy.sharding and not strategy.gradient_merge:
        runs = int(strategy.sharding_configs["gradient_merge_acc_step"])
    if runs < 1:
        raise _C.located(ValueError(f"fleet: gradient_merge_configs['k_steps'] is {runs}; it must be at least 1"))
    return runs


class Equal:
    """What a startup program does last: all workers take the first's parameters, those that do not learn too, and buffers.

    Args:
        program (static.Program): has them, and no states of an optimizer yet.
        tensors (TensorProgram, optional): knows of which parameters workers have parts.
    """

    def __init__(self, program, tensors=None):
        self._tensors = tensors
        kept = [tensor for tensor in program.list_vars() if tensor.persistable]
        # One parameter may have several handles.
        self._parameters = list(
            {(tensor.data_ptr() or id(tensor), tuple(tensor.shape)): tensor for tensor in kept}.values()
        )

    def run_now(self):
        """For programs whose startup program is never run."""
        with _C.eager_mode():
            for parameter in self._parameters:
                self._send(parameter, parameter.detach())

    def run(self, scope):
        for parameter in self._parameters:
            value = value_in(scope, parameter)
            sent = untraced(value.detach().clone)
            self._send(parameter, sent)
            copy_into(value, sent)

    def _send(self, parameter, value):
        if self._tensors is None:
            start(resolve(None), True, "broadcast", value, value)
        else:
            untraced(self._tensors.begin_equal, parameter.name, value)


class ProgramOptimizer:
    """An optimizer whose minimize appends, in this order: gradients (with `recompute`, of values that are computed once more
    between its checkpoints); their sum over `gradient_merge` runs; their mean over the
    workers; the step, in mixed precision where the optimizer is; with `localsgd` the mean of the parameters in place of that of
    gradients, with `sharding` those of this worker's parts (DividedProgram), with `dgc` the sum of what all workers send of theirs
    (SparseGradients). What is not here it has from the optimizer.

    Args:
        optimizer (Optimizer | OptimizerWithMixedPrecision): does the step.
        strategy (DistributedStrategy): its switches.
        count (int): workers.
        hcg (HybridCommunicateGroup, optional): their groups, where neighbours divide layers.
    """

    def __init__(self, optimizer, strategy, count, hcg=None):
        self._inner, self._strategy, self._count, self._hcg = optimizer, strategy, count, hcg
        self._program = self._startup = self._loss = self._divided = self._sparse = self._tensors = None

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
        self._loss = loss
        if self._strategy.sync_batch_norm and self._count > 1:
            loss = self._synchronize_norms(loss)
        checkpoints = checkpoints_of(self._strategy)
        if not isinstance(self._inner, Optimizer):  # in mixed precision
            self._inner._checkpoints = checkpoints
            pairs = self._inner.backward(loss, startup_program, parameter_list, no_grad_set)
        else:
            with program_guard(self._program, self._startup):
                if not self._inner._parameter_list:
                    self._inner._groups = []
                    self._inner._add_param_group({"params": self._program.trained_parameters()})
                recorded_rates.note(self._inner)
                self._program.keep(self._inner)
                pairs = append_backward(
                    loss, parameter_list or self._inner._parameter_list, no_grad_set, checkpoints=checkpoints
                )
        self._begin_equal(pairs)
        return pairs

    def adopt(self, program, startup_program, pairs):
        """`backward`, of gradients that a program has already.

        Args:
            program, startup_program (Program): they.
            pairs (list[tuple]): (parameter, gradient).
        """
        self._program, self._startup = program, startup_program
        self._begin_equal(pairs)

    def _begin_equal(self, pairs):
        if self._count == 1:
            return
        self._note_parts([p for p, _ in pairs])
        equal = Equal(self._program, self._tensors)
        equal.run_now()
        self._startup._starts["parameters of the first worker"] = equal
        with program_guard(self._program, self._startup):
            self._divide(pairs)

    def _synchronize_norms(self, loss):
        replaced = {"batch_norm": batch_norm_over_ranks}
        if self._optimizer_itself is not self._inner:
            self._inner.replaced = replaced  # as casts are made
            return loss
        remake(self._program, replaced)
        return self._program.current(loss)

    def _note_parts(self, parameters):
        """What follows from layers that neighbours divide."""
        if self._tensors is not None:
            return
        if self._hcg is None or self._hcg.get_model_parallel_world_size() == 1:
            divided = next((p for p in parameters if p.is_distributed), None)
            if divided is not None:
                raise _C.located(
                    ValueError(
                        f"fleet: workers divide parameter {divided.name!r}, and the strategy says that they are all data parallel; set "
                        "hybrid_configs['mp_degree'] before fleet.init"
                    )
                )
            return
        self._tensors = TensorProgram(self._optimizer_itself, parameters, self._hcg)
        self._program._divided = self._tensors
        if self._optimizer_itself is not self._inner:
            self._inner.agreed = self._finite_for_all

    def _divide(self, pairs):
        """What `sharding` and `dgc` put between gradients and step, made once."""
        strategy, inner = self._strategy, self._optimizer_itself
        if strategy.sharding and self._divided is None:
            if not inner._parameter_list:
                inner._groups = []
                inner._add_param_group({"params": [p for p, _ in pairs]})
            self._divided = DividedProgram(inner, strategy.sharding_configs, self._count, strategy.fp16_allreduce)
            self._program._divided = self._divided
            if inner is not self._inner:
                self._inner.agreed = self._finite_for_all
        if strategy.dgc and self._sparse is None:
            self._sparse = SparseGradients(inner, strategy, self._count)

    @property
    def _optimizer_itself(self):
        return self._inner if isinstance(self._inner, Optimizer) else self._inner._optimizer

    @staticmethod
    def _finite_for_all(finite):
        """Appends the question whether the gradients of all workers are finite, each of which sees its own parts."""
        wrong = _C.ops.all_reduce(1.0 - finite.astype(_C.float32).reshape([1]), 0, "sum")
        return _C.ops.equal(wrong, _C.ops.full([1], 0.0, _C.float32)).reshape([])

    def apply_gradients(self, params_grads):
        """Appends everything but the gradients."""
        if self._program is None:
            raise _C.located(
                RuntimeError("fleet: apply_gradients needs the gradients of a program; call backward first")
            )
        pairs = [(p, g) for p, g in current_pairs(params_grads) if g is not None]
        runs = merged_runs(self._strategy)
        with program_guard(self._program, self._startup), no_grad():
            if runs == 1:
                self._step(pairs)
            else:
                self._merge(pairs, runs)
        if self._strategy.sharding and self._strategy.sharding_configs["optimize_cast"]:
            from proa.distributed.passes import new_pass

            new_pass("optimize_cast").apply(self._program, self._startup)
        return []

    # Parts -------------------------------------------------------------------

    def _merge(self, pairs, runs):
        sums = [variable(f"{p.name}_gradient_merge", p.shape, g.dtype) for p, g in pairs]
        for total, (_, grad) in zip(sums, pairs):
            _C.ops.store_(total, total + grad)
        factor = 1.0 / runs if self._strategy.gradient_merge_configs["avg"] else 1.0

        def step():
            self._step([(p, total * factor) for total, (p, _) in zip(sums, pairs)])
            for total in sums:
                # Not times 0: an infinite gradient would leave NaN.
                _C.ops.store_(total, _C.ops.full(total.shape, 0.0, total.dtype))
            return []

        _C.cond(every("gradient_merge", runs), step, lambda: [])

    def _step(self, pairs):
        local, how = (
            self._strategy.localsgd or self._strategy.adaptive_localsgd,
            self._strategy.gradient_scale_configs["scale_strategy"],
        )
        if self._divided is not None:
            self._inner.apply_gradients(self._divided.pairs(pairs, how))
            self._divided.gather([p for p, _ in pairs])
            return
        if self._sparse is not None:
            self._sparse.step(pairs, self._over_workers)
            return
        if self._count > 1 and not local:
            pairs = self._exchanged(pairs, how)
        self._inner.apply_gradients(pairs)
        if self._count > 1 and local:
            self._average([p for p, _ in pairs])

    def _exchanged(self, pairs, how):
        """The pairs, with gradients of all workers."""
        if self._tensors is not None:
            pairs = self._tensors.summed(pairs)
        return list(zip([p for p, _ in pairs], self._over_workers([g for _, g in pairs], how)))

    def _average(self, parameters):
        strategy = self._strategy
        if strategy.localsgd:
            average_parameters(parameters, strategy.localsgd_configs, self._over_workers)
            return
        rate = self._optimizer_itself._lr()
        average_adaptively(
            parameters, strategy.adaptive_localsgd_configs, self._over_workers, self._program.current(self._loss), rate
        )

    def _over_workers(self, tensors, how):
        """Their means (or sums) over the workers; those of one dtype go together, in buckets."""
        if how not in ("avg", "sum"):
            raise _C.located(
                ValueError(f"fleet: gradient_scale_configs['scale_strategy'] is {how!r}; it must be 'avg' or 'sum'")
            )
        group = resolve(None) if self._tensors is None else self._tensors.data_group
        if group.nranks == 1:
            return list(tensors)
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
            flat = _C.ops.all_reduce(flat.astype(_C.float16) if half else flat, group.id, how).astype(dtype)
            for number, part in zip(bucket, _C.ops.split(flat, [p.shape[0] for p in parts], 0)):
                out[number] = _C.ops.reshape(part, tensors[number].shape)
        return out
