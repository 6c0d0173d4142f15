"""A program divided into the stages of a pipeline, by the devices that `static.device_guard` named while it was recorded."""

from typing import NamedTuple

from proa import _C
from proa.autograd.recomputation import recompute
from proa.nn.layer.layers import Layer
from proa.static.recomputing import changes_tensors
from proa.static.replay import Replay, parse

__all__ = ["ProgramStage", "ProgramStages"]


def _innermost(guards, number):
    """The stage of the smallest guard around an operation; None outside of all."""
    around = [(end - first, stage) for first, end, stage in guards if first <= number < end]
    return min(around)[1] if around else None


def _guarded(program):
    """(the operations of a program, the stage of each that a guard names), also if it was made again since (in mixed precision)."""
    versions = [before for before, *_ in program._replaced] + [program._program]
    calls = parse(str(versions[0]))[1]
    stages = [_innermost(program._devices, number) for number in range(len(calls))]
    for (_, values, _), after in zip(program._replaced, versions[1:]):
        known = {}
        for call, stage in zip(calls, stages):
            for value in _results(call):
                if stage is not None and value in values and _C.program_of(values[value]) is after:
                    known[after.value_number(values[value])] = stage
        calls, stages = _by_results(after, known)
    return calls, stages


def _by_results(recorded, known):
    """(its operations, the stage of each by that of its results; None where it is not known)."""
    calls = parse(str(recorded))[1]
    return calls, [next((known[v] for v in _results(call) if v in known), None) for call in calls]


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
        calls, guarded = _guarded(program)
        if part is not None:
            known = {value: stage for call, stage in zip(calls, guarded) for value in _results(call)}
            recorded = part._program
            calls, guarded = _by_results(recorded, known)
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
    """Calls of one stage, made again; what they get from others stands in `env`."""

    def __init__(self, stages, calls, feeds, captured):
        super().__init__(stages.recorded, feeds, captured)
        self.calls = calls

    def made(self, values):
        """What stands for `values` after the calls."""
        for call in self.calls:
            self._make(call, exact=True)
        return [self.env[value] for value in values]


class _Segment(NamedTuple):
    """Calls of a stage that follow each other, and that backward makes again together.

    Attributes:
        calls (list[Call]): they.
        gets (list[int]): numbers of the values that they take from before.
        feeds (list[str]): inputs of the program that they use.
        gives (list[int]): numbers of the values that others need of them.
        modules (dict): recordings of them, by what the inputs are.
    """

    calls: list
    gets: list
    feeds: list
    gives: list
    modules: dict


class ProgramStage(Layer):
    """One stage of a program, on the parameters that a scope has.

    Args:
        stages (ProgramStages): of the program.
        stage (int): which.
        value_of (Callable): gives for a captured tensor of the program the one of the scope.
        checkpoints (list[int], optional): numbers of values at which the stage ends segments; backward computes the inside of
            each once more. None: it keeps what it needs.
    """

    def __init__(self, stages, stage, value_of, checkpoints=None):
        super().__init__()
        self._stages, self._stage, self._value_of = stages, stage, value_of
        self.feeds = stages.feeds[stage]
        self._gets, self._gives = stages.gets(stage), stages.gives(stage)
        self._again = checkpoints is not None
        self._segments = self._divided(set(checkpoints or ()))
        recorded = stages.recorded
        self.trained = []
        for number, (_, tensor) in zip(parse(str(recorded))[0], recorded.captured):
            if number in stages.captured[stage] and not tensor.stop_gradient:
                self.trained.append(value_of(tensor))

    def _divided(self, checkpoints):
        """The segments of the stage: each but the last ends with a call that makes a checkpoint."""
        recorded, pieces = self._stages.recorded, [[]]
        for call in self._stages.calls[self._stage]:
            pieces[-1].append(call)
            if checkpoints.intersection(_results(call)):
                pieces.append([])
        pieces = [piece for piece in pieces if piece] or [[]]
        number_of = {recorded.value_number(recorded.find(name)): name for name in self.feeds}
        used = [{v for call in piece for v in _operands(call)} for piece in pieces]
        segments, there = [], dict.fromkeys(self._gets)
        for at, piece in enumerate(pieces):
            own = dict.fromkeys(v for call in piece for v in _results(call))
            later = {*self._gives}.union(*used[at + 1 :])
            gives = [v for v in own if v in later] if len(pieces) > 1 else self._gives
            gets = [v for v in there if v in used[at]] if len(pieces) > 1 else self._gets
            feeds = [name for v, name in number_of.items() if v in used[at]] if len(pieces) > 1 else self.feeds
            segments.append(_Segment(piece, gets, feeds, gives, {}))
            there |= own
        return segments

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
        return outputs[0].astype(_C.float32)

    def forward(self, gets, feeds):
        """What the next stage gets, or (loss,), as a tuple.

        Args:
            gets (tuple): from the stage before.
            feeds (list): of a micro-batch, in the order of `self.feeds`.
        """
        values, named = dict(zip(self._gets, gets)), dict(zip(self.feeds, feeds))
        for segment in self._segments:
            tensors = [*(values[v] for v in segment.gets), *(named[name] for name in segment.feeds)]
            key = tuple((tuple(t.shape), t.dtype, t.stop_gradient) for t in tensors)
            if key not in segment.modules:
                segment.modules[key] = self._record(segment, tensors)
            module = segment.modules[key]
            # What changes running statistics is done once.
            if self._again and not any(changes_tensors(call) for call in segment.calls):
                with _C.eager_mode():
                    found = recompute(lambda *tensors, module=module: tuple(module.call(list(tensors))), *tensors)
            else:
                found = module.call(tensors)
            values.update(zip(segment.gives, found))
        return tuple(values[v] for v in self._gives)

    def _record(self, segment, tensors):
        """The calls of a segment as a program of their own, for inputs like these."""
        names = [f"x{at}" for at in range(len(tensors))]
        return self._recorded(segment, names, tensors, follow=True)

    def recorded(self, names, like):
        """A module of the stage's calls.

        Args:
            names (list[str]): of what it gets, and of its feeds.
            like (list[Tensor]): what those are like; dims that are open stay open.
        """
        (segment,) = self._segments
        return self._recorded(segment, names, like, follow=False)

    def _recorded(self, segment, names, like, follow):
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
            count = len(segment.gets)
            part = _Part(self._stages, segment.calls, dict(zip(segment.feeds, inputs[count:])), self._value_of)
            part.env.update(zip(segment.gets, inputs[:count]))
            outputs = part.made(segment.gives)
        return program.module(names, outputs)
