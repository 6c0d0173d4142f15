"""Programs that several workers train as the stages of a pipeline: `strategy.pipeline` in static mode."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import HybridParallelOptimizer
from proa.distributed.fleet.meta_optimizers.program_optimizer import Equal
from proa.distributed.fleet.meta_optimizers.program_stages import ProgramStage, ProgramStages
from proa.distributed.fleet.meta_parallel.pipeline_parallel import PipelineParallel
from proa.distributed.fleet.utils.hybrid_parallel_util import average_gradients
from proa.distributed.groups import world_size
from proa.framework.grad_mode import no_grad
from proa.static.binding import value_in
from proa.static.program import default_startup_program
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


class ProgramPipeline:
    """What a run of a program with stages does.

    Args:
        program (static.Program): recorded under `device_guard`.
        loss (Tensor): what is trained.
        optimizer (Optimizer): does the steps, of the parameters of this worker's stage.
        strategy (DistributedStrategy): has `pipeline_configs`.

    Raises:
        ValueError: the program cannot be divided, or the workers are no multiple of its stages.
    """

    def __init__(self, program, loss, optimizer, strategy):
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
        names, dims = ["data", "pipe", "sharding", "model"], [world_size() // count, count, 1, 1]
        self.hcg = HybridCommunicateGroup(CommunicateTopology(names, dims))
        self.stage = self.hcg.get_stage_id()
        self._program, self._optimizer, self._strategy = program, optimizer, strategy
        self._of, self._worker, self._step, self._shared = None, None, None, None

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
            stage = ProgramStage(self.stages, self.stage, lambda tensor: value_in(scope, tensor))
            for tensor, stages in self._captured():
                value_in(scope, tensor).is_shared_copy = len(stages) > 1 and self.stage != stages[0]
            for settings in self._optimizer._groups:
                settings["params"] = []
            self._optimizer._groups[0]["params"] = stage.parameters()
            self._optimizer._buckets = None
            self._worker = _Worker(stage, self.hcg, self._strategy)
            self._worker.sums_gradients = self._strategy.gradient_scale_configs["scale_gradient"]
            if self._step is None:
                self._step = HybridParallelOptimizer(self._optimizer, self.hcg, self._strategy)
        self._of = (scope, scope._changes)

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
        loss = self._worker.forward_backward_pipeline((feeds, None))
        if self._worker.sums_gradients:
            self._average()
        for group, tensor in self._shared:
            average_gradients([value_in(scope, tensor)], group, total=True)
        self._step.step()
        self._step.clear_grad()
        return [loss if _C.is_symbolic(tensor) else value_in(scope, tensor) for tensor in fetches]

    @no_grad()
    def _average(self):
        """Gradients that micro-batches have added up become means (`scale_gradient`); otherwise the loss of each was divided."""
        with _C.eager_mode():
            for parameter in self._optimizer._groups[0]["params"]:
                if parameter.grad is not None:
                    parameter.grad = parameter.grad / self._worker.accumulate_steps

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
        optimizer (Optimizer): does the steps.
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
        if not self._inner._groups:
            self._inner._add_param_group({"params": []})
        program._pipeline = ProgramPipeline(program, loss, self._inner, self._strategy)
        equal = Equal(program)
        equal.run_now()
        startup._starts["parameters of the first worker"] = equal
        return [], []
