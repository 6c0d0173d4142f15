"""Programs that several workers train as the stages of a pipeline: `strategy.pipeline` in static mode."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup
from proa.distributed.fleet.meta_optimizers.divided_program import degrees
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import HybridParallelOptimizer, watch_all_ranks
from proa.distributed.fleet.meta_optimizers.program_optimizer import Equal, checkpoints_of, merged_runs
from proa.distributed.fleet.meta_optimizers.program_stages import ProgramStage, ProgramStages
from proa.distributed.fleet.meta_parallel.pipeline_parallel import PipelineParallel
from proa.distributed.fleet.utils.hybrid_parallel_util import average_gradients
from proa.distributed.groups import world_size
from proa.framework.grad_mode import no_grad
from proa.optimizer import Optimizer
from proa.static.binding import value_in
from proa.static.program import default_startup_program
from proa.static.recomputing import find_checkpoints
from proa.static.scope import programs

__all__ = ["PipelineProgramOptimizer", "ProgramPipeline"]


class _Worker(PipelineParallel):
    """PipelineParallel of a stage of a program, whose inputs go to the stages that use them."""

    def _through(self, data, step):
        stage = self._model
        feeds = [self._micro(data[0][name], step.micro, f"feed {name!r}") for name in stage.feeds]
        gets = () if self.is_first_stage else self._line.receive(-1, step)
        y = self._layers(gets, feeds)
        if not self.is_last_stage:
            self._line.send(y, 1, step)
        return gets, y


def _degrees(strategy, workers, stages):
    """(sharding, data) degrees of the workers of one stage."""
    if not strategy.sharding:
        return 1, workers
    named = strategy.sharding_configs["pp_degree"]
    if named not in (1, stages):
        raise _C.located(
            ValueError(f"pipeline: sharding_configs['pp_degree'] is {named}, and the program has {stages} stages")
        )
    return degrees(strategy.sharding_configs, workers)


def _checkpoints(program, strategy):
    """Numbers of the values at which segments end; None without `recompute`."""
    tensors = checkpoints_of(strategy)
    if tensors is None:
        return None
    return [program._program.value_number(t) for t in find_checkpoints(program, tensors)]


class ProgramPipeline:
    """What a run of a program with stages does.

    Args:
        program (static.Program): recorded under `device_guard`; in mixed precision if `scaler` is given.
        loss (Tensor): what is trained.
        optimizer (Optimizer): does the steps, of the parameters of this worker's stage.
        strategy (DistributedStrategy): has `pipeline_configs`, and `recompute`, `gradient_merge` and `sharding` beside.
        scaler (amp.GradScaler, optional): scales the loss.

    Raises:
        ValueError: the program cannot be divided, or the workers are no multiple of its stages.
    """

    def __init__(self, program, loss, optimizer, strategy, scaler=None):
        self.stages = ProgramStages(program, [program.current(loss)])
        count = self.stages.count
        if self.stages.made_in.get(self.stages.targets[0]) != count - 1:
            raise _C.located(
                ValueError(
                    f"pipeline: the loss must be computed in the last stage, {count - 1}; put it under its device_guard"
                )
            )
        if world_size() % count:
            raise _C.located(
                ValueError(
                    f"pipeline: the program has {count} stages, and the job {world_size()} workers; give a multiple"
                )
            )
        sharding, data = _degrees(strategy, world_size() // count, count)
        names, dims = ["data", "pipe", "sharding", "model"], [data, count, sharding, 1]
        self.hcg = HybridCommunicateGroup(CommunicateTopology(names, dims))
        self.stage = self.hcg.get_stage_id()
        self._program, self._optimizer, self._strategy, self._scaler = program, optimizer, strategy, scaler
        self._of, self._worker, self._step, self._shared = None, None, None, None
        self._checkpoints = _checkpoints(program, strategy)
        self._merged, self._runs = merged_runs(strategy), 0

    def _captured(self):
        """[(tensor, stages that use it)] of what the program trains."""
        from proa.static.replay import parse

        recorded = self._program._program
        numbers = parse(str(recorded))[0]
        used = self.stages.captured
        return [
            (tensor, [s for s in range(self.stages.count) if number in used[s]])
            for number, (_, tensor) in zip(numbers, recorded.captured)
            if not tensor.stop_gradient
        ]

    def _bind(self, scope):
        """The worker and its optimizer on the parameters of a scope."""
        if self._of == (scope, scope._changes):
            return
        if self._shared is None:
            self._share()
        with _C.eager_mode():
            stage = ProgramStage(self.stages, self.stage, lambda tensor: value_in(scope, tensor), self._checkpoints)
            if self._step is not None and self.hcg._size("sharding") > 1:
                self._check_same(stage)
            for tensor, stages in self._captured():
                value_in(scope, tensor).is_shared_copy = len(stages) > 1 and self.stage != stages[0]
            if self._step is None or self.hcg._size("sharding") == 1:
                for settings in self._optimizer._groups:
                    settings["params"] = []
                self._optimizer._groups[0]["params"] = stage.parameters()
                self._optimizer._buckets = None
            self._worker = _Worker(stage, self.hcg, self._strategy)
            self._worker.sums_gradients = self._strategy.gradient_scale_configs["scale_gradient"]
            if self._step is None:
                self._step = HybridParallelOptimizer(self._optimizer, self.hcg, self._strategy)
        self._of = (scope, scope._changes)

    def _check_same(self, stage):
        """RuntimeError where parameters are other tensors than those that were divided."""
        before = [id(p) for p in self._worker._model.parameters()]
        if before != [id(p) for p in stage.parameters()]:
            raise _C.located(
                RuntimeError(
                    "Executor.run: a pipeline beside sharding has the states of the parameters of one scope; train in that scope, and "
                    "load into its tensors (static.load, set_state_dict)"
                )
            )

    def _share(self):
        """Groups of the stages that use one parameter; all workers make all of them, in one order."""
        self._shared = []
        for tensor, stages in self._captured():
            if len(stages) > 1:
                for pipe in self.hcg.topology().get_comm_list("pipe"):
                    group = collective.new_group([pipe[s] for s in stages])
                    if group.is_member():
                        self._shared.append((group, tensor))

    def run(self, scope, feeds, fetches):
        """One step of training.

        Args:
            scope (Scope): has the parameters.
            feeds (dict): the inputs of all micro-batches, on all workers.
            fetches (list): the loss, and parameters.

        Returns:
            list[Tensor]: the mean loss of the micro-batches where it is asked for.

        Raises:
            ValueError: a fetch of another value, or a feed is missing.
        """
        missing = [name for name in self.stages.feeds[self.stage] if name not in feeds]
        if missing:
            raise _C.located(ValueError(f"Executor.run: stage {self.stage} of the pipeline needs feed {missing[0]!r}"))
        recorded = self._program._program
        for tensor in fetches:
            if _C.is_symbolic(tensor) and recorded.value_number(tensor) != self.stages.targets[0]:
                raise _C.located(
                    ValueError(
                        f"Executor.run: {tensor.name!r} is inside of one stage; a program with stages gives its loss and "
                        "its parameters"
                    )
                )
        self._bind(scope)
        loss = self._worker.forward_backward_pipeline((feeds, None), self._scaler)
        self._runs += 1
        if self._runs % self._merged == 0:
            self._update(scope)
        return [loss if _C.is_symbolic(tensor) else value_in(scope, tensor) for tensor in fetches]

    def _update(self, scope):
        """The step, of the gradients of all micro-batches (and runs, with `gradient_merge`)."""
        self._average()
        for group, tensor in self._shared:
            value = value_in(scope, tensor)
            # In stage 2 of sharding, that of the part.
            average_gradients([value.part if getattr(value, "gradient_in_part", False) else value], group, total=True)
        if self._scaler is None:
            self._step.step()
        else:
            with _C.eager_mode():
                self._scaler.step(self._step)
                self._scaler.update()
        self._step.clear_grad()

    @no_grad()
    def _average(self):
        """Gradients that were added up become means: of micro-batches with `scale_gradient` (otherwise the loss of each was divided),
        of runs with `gradient_merge`."""
        count = self._worker.accumulate_steps if self._worker.sums_gradients else 1
        count *= self._merged if self._strategy.gradient_merge_configs["avg"] else 1
        if count == 1:
            return
        with _C.eager_mode():
            for parameter in self._step._parameter_list:
                if parameter.grad is not None:
                    parameter.grad = parameter.grad / count

    @no_grad()
    def gather(self, scope):
        """Gives all workers the parameters of all stages; all call it together."""
        pipe = self.hcg.get_pipe_parallel_group()
        with _C.eager_mode():
            for tensor, stages in self._captured():
                value = value_in(scope, tensor)
                sent = value.detach().clone()
                collective.broadcast(sent, pipe.ranks[stages[0] if stages else 0], pipe)
                value.set_value(sent)


class PipelineProgramOptimizer:
    """An optimizer whose minimize divides a program into stages. What is not here it has from the optimizer.

    Args:
        optimizer (Optimizer | OptimizerWithMixedPrecision): does the steps.
        strategy (DistributedStrategy): has `pipeline_configs`.
    """

    def __init__(self, optimizer, strategy):
        self._inner, self._strategy = optimizer, strategy

    def __getattr__(self, name):
        return getattr(self.__dict__["_inner"], name)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """From now on a run of the loss's program by an Executor is a step of training, of this worker's stage.

        Returns:
            (list, list): empty: nothing is appended to the program.
        """
        if not isinstance(loss, _C.Tensor) or not _C.is_symbolic(loss):
            raise _C.located(
                TypeError(
                    "minimize: loss must be a value of a program; fleet.distributed_optimizer was called in static mode"
                )
            )
        program = next(p for p in list(programs) if p.owns(loss))
        startup = default_startup_program() if startup_program is None else startup_program
        inner, scaler = self._inner, None
        if not isinstance(inner, Optimizer):  # in mixed precision
            scaler = inner.mix_for_scaler(program)
            inner, scaler = inner._optimizer, watch_all_ranks(scaler) if scaler is not None else None
        if not inner._groups:
            inner._add_param_group({"params": []})
        program._pipeline = ProgramPipeline(program, loss, inner, self._strategy, scaler)
        equal = Equal(program)
        equal.run_now()
        startup._starts["parameters of the first worker"] = equal
        return [], []
