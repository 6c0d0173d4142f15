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
        targets (list[Tensor]): what the last stage gives.
        part (static.Program, optional): a copy of the program that has less of it, to be divided in its place.

    Raises:
        ValueError: no stages were named, numbers are left out, or values go backwards.
    """

    def __init__(self, program, targets, part=None):
        recorded = program._program
        named = sorted({stage for _, _, stage in program._devices})
        if named != list(range(len(named))) or len(named) < 2:
            raise _C.located(
                ValueError(
                    "pipeline: static.device_guard must name the stages 'gpu:0', 'gpu:1' and so on (or 'cpu:0' ...), two at "
                    f"least; it named {named or 'none'}"
                )
            )
        self.count = len(named)
        calls = parse(str(recorded))[1]
        guarded = [_innermost(program._devices, number) for number in range(len(calls))]
        if part is not None:
            known = {value: stage for call, stage in zip(calls, guarded) for value in _results(call)}
            recorded = part._program
            calls = parse(str(recorded))[1]
            guarded = [next((known[v] for v in _results(call) if v in known), None) for call in calls]
        self.recorded = recorded
        self.targets = [recorded.value_number(t) for t in targets]
        of_call, self.made_in = self._assign(calls, guarded)
        self.calls = [[c for c, stage in zip(calls, of_call) if stage == s] for s in range(self.count)]
        self._follow(calls, of_call)

    def _follow(self, calls, of_call):
        """Notes what each stage uses, and what goes from each to the next."""
        recorded, made_in = self.recorded, self.made_in
        inputs = {recorded.value_number(recorded.find(name)): name for name in recorded.input_names}
        captured = set(parse(str(recorded))[0])
        last_use = dict.fromkeys(self.targets, self.count - 1)
        self.feeds = [[] for _ in range(self.count)]
        self.captured = [set() for _ in range(self.count)]
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

    def gets(self, stage):
        """Numbers of the values that a stage gets from the one before."""
        return self.cuts[stage - 1] if stage else []

    def gives(self, stage):
        """Numbers of the values that a stage gives: to the next, or to the program's user."""
        return self.cuts[stage] if stage < self.count - 1 else self.targets

    def _assign(self, calls, guarded):
        """(stage of each call, {value: stage that makes it}) from the stages that guards name, None outside of them."""
        of_call, made_in, first_use = [], {}, {}
        for number, call in enumerate(calls):
            stage = guarded[number]
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
        super().__init__(stages.recorded, feeds, captured)
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
        self._gets, self._gives = stages.gets(stage), stages.gives(stage)
        self._modules = {}  # by what the inputs are
        recorded = stages.recorded
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
        names = [f"x{at}" for at in range(len(tensors))]
        return self.recorded(names, tensors, follow=True)

    def recorded(self, names, like, follow=False):
        """A module of the stage's calls.

        Args:
            names (list[str]): of what it gets, and of its feeds.
            like (list[Tensor]): what those are like; dims that are open stay open.
            follow (bool): it will be differentiated.
        """
        program = _C.Program()
        if follow:
            program.follow_gradients()
        inputs = [
            program.add_input(
                name, [n if type(n) is int else -1 for n in t.shape], t.dtype, follow and not t.stop_gradient
            )
            for name, t in zip(names, like)
        ]
        with _C.eager_mode(), program.recording():
            outputs = self._again(*inputs)
        return program.module(names, outputs)

    def _again(self, *tensors):
        count = len(self._gets)
        part = _Part(self._stages, self._stage, dict(zip(self.feeds, tensors[count:])), self._value_of)
        part.env.update(zip(self._gets, tensors[:count]))
        return part.made(self._gives)
