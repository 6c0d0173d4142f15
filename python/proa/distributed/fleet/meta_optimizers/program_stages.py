"""A program divided into the stages of a pipeline, by the devices that `static.device_guard` named while it was recorded."""

from proa import _C
from proa.nn.layer.layers import Layer
from proa.static.replay import Replay, parse

__all__ = ["ProgramStage", "ProgramStages"]


def _innermost(guards, number):
    """The stage of the smallest guard around an operation; None outside of all."""
    around = [(end - first, stage) for first, end, stage in guards if first <= number < end]
    return min(around)[1] if around else None


class ProgramStages:
    """Which operations belong to which stage, and which values go from each to the next.

    An operation outside of guards belongs to the last stage that it has an operand of; one without operands to the first
    stage that uses it.

    Attributes:
        count (int): how many stages.
        calls (list[list[Call]]): the operations of each.
        cuts (list[list[int]]): numbers of the values that stage i hands to the next.
        feeds (list[list[str]]): inputs of the program that each uses.
        captured (list[set[int]]): numbers of the parameters and buffers that each uses.

    Args:
        program (static.Program): recorded under guards.
        loss (Tensor): of the last stage.

    Raises:
        ValueError: no stages were named, numbers are left out, values go backwards, or the loss is not of the last stage.
    """

    def __init__(self, program, loss):
        self.program = program
        recorded = program._program
        captured, calls = parse(str(recorded))
        guards = program._devices
        named = sorted({stage for _, _, stage in guards})
        if named != list(range(len(named))) or len(named) < 2:
            raise _C.located(
                ValueError(
                    "pipeline: static.device_guard must name the stages 'gpu:0', 'gpu:1' and so on (or 'cpu:0' ...), two at "
                    f"least; it named {named or 'none'}"
                )
            )
        self.count = len(named)
        self.loss = recorded.value_number(program.current(loss))
        inputs = {recorded.value_number(recorded.find(name)): name for name in recorded.input_names}
        of_call, made_in = self._assign(calls, guards)
        self.calls = [[c for c, stage in zip(calls, of_call) if stage == s] for s in range(self.count)]
        last_use = {}
        self.feeds = [[] for _ in range(self.count)]
        self.captured = [set() for _ in range(self.count)]
        captured = set(captured)
        for call, stage in zip(calls, of_call):
            for value in _operands(call):
                if value in made_in:
                    self._check(call, stage, made_in[value])
                    last_use[value] = max(last_use.get(value, 0), stage)
                elif value in captured:
                    self.captured[stage].add(value)
                elif value in inputs and inputs[value] not in self.feeds[stage]:
                    self.feeds[stage].append(inputs[value])
        self.cuts = [
            [value for value, stage in made_in.items() if stage <= s < last_use.get(value, stage)]
            for s in range(self.count - 1)
        ]
        if made_in.get(self.loss) != self.count - 1:
            raise _C.located(
                ValueError(
                    f"pipeline: the loss must be computed in the last stage, {self.count - 1}; put it under its device_guard"
                )
            )

    def _assign(self, calls, guards):
        """(stage of each call, {value: stage that makes it})."""
        of_call, made_in, first_use = [], {}, {}
        for number, call in enumerate(calls):
            stage = _innermost(guards, number)
            if stage is None:
                stage = max((made_in[v] for v in _operands(call) if v in made_in), default=None)
            of_call.append(stage)
            if stage is not None:
                made_in.update(dict.fromkeys(_results(call), stage))
        for number in reversed(range(len(calls))):  # those that need nothing, from behind: who uses them has a stage
            call = calls[number]
            if of_call[number] is None:
                of_call[number] = min((first_use[v] for v in _results(call) if v in first_use), default=self.count - 1)
                made_in.update(dict.fromkeys(_results(call), of_call[number]))
            for value in _operands(call):
                first_use[value] = min(first_use.get(value, self.count), of_call[number])
        return of_call, made_in

    @staticmethod
    def _check(call, stage, made_in):
        if made_in > stage:
            raise _C.located(
                ValueError(
                    f"pipeline: values go from a stage to later ones, and stage {stage} needs one of stage {made_in}: "
                    f"{call.line}"
                )
            )


def _flat(part):
    return [v for item in part for v in (_flat(item) if isinstance(item, list) else [item])]


def _results(call):
    return [v for v in _flat(call.results) if isinstance(v, int) and not isinstance(v, bool)]


def _operands(call):
    """Values that it takes, those that its regions take from outside among them."""
    own = set(_results(call))
    found = [v for v in call.values() if v not in own]
    for region in call.regions:
        inside = set(region.arguments)
        for inner in region.calls:
            found += [v for v in _operands(inner) if v not in inside]
            inside.update(_results(inner))
        found += [v for v in _flat(region.returns) if isinstance(v, int) and v not in inside]
    return found


class _Part(Replay):
    """The calls of one stage, made again; what it gets from the stage before stands in `env`."""

    def __init__(self, stages, stage, feeds, captured):
        super().__init__(stages.program._program, feeds, captured)
        self.calls = stages.calls[stage]

    def made(self, values):
        """What stands for `values` after the calls."""
        for call in self.calls:
            self._make(call, exact=True)
        return [self.env[value] for value in values]


class ProgramStage(Layer):
    """One stage of a program, on the parameters that a scope has.

    Args:
        stages (ProgramStages): of the program.
        stage (int): which.
        value_of (Callable): gives for a captured tensor of the program the one of the scope.
    """

    def __init__(self, stages, stage, value_of):
        super().__init__()
        self._stages, self._stage, self._value_of = stages, stage, value_of
        self.feeds = stages.feeds[stage]
        self._gets = stages.cuts[stage - 1] if stage else []
        self._gives = stages.cuts[stage] if stage < stages.count - 1 else [stages.loss]
        self._modules = {}  # by what the inputs are
        recorded = stages.program._program
        self.trained = []
        for number, (_, tensor) in zip(parse(str(recorded))[0], recorded.captured):
            if number in stages.captured[stage] and not tensor.stop_gradient:
                self.trained.append(value_of(tensor))

    def parameters(self, include_sublayers=True):
        """Those that the stage uses."""
        return list({id(p): p for p in self.trained}.values())

    def get_num_virtual_stages(self):
        """One part a stage."""
        return 1

    def allreduce_shared_weight_gradients(self):
        """Done by ProgramPipeline."""

    @staticmethod
    def _loss_fn(outputs, _):
        return outputs[0]

    def forward(self, gets, feeds):
        """What the next stage gets, or (loss,), as a tuple.

        Args:
            gets (tuple): from the stage before.
            feeds (list): of a micro-batch, in the order of `self.feeds`.
        """
        tensors = [*gets, *feeds]
        key = tuple((tuple(t.shape), t.dtype, t.stop_gradient) for t in tensors)
        if key not in self._modules:
            self._modules[key] = self._record(tensors)
        return tuple(self._modules[key].call(tensors))

    def _record(self, tensors):
        """The calls of the stage as a program of their own, for inputs like these."""
        program = _C.Program()
        program.follow_gradients()
        names = [f"x{at}" for at in range(len(tensors))]
        inputs = [
            program.add_input(name, list(t.shape), t.dtype, not t.stop_gradient) for name, t in zip(names, tensors)
        ]
        with _C.eager_mode(), program.recording():
            outputs = self._again(*inputs)
        return program.module(names, outputs)

    def _again(self, *tensors):
        count = len(self._gets)
        part = _Part(self._stages, self._stage, dict(zip(self.feeds, tensors[count:])), self._value_of)
        part.env.update(zip(self._gets, tensors[:count]))
        return part.made(self._gives)
