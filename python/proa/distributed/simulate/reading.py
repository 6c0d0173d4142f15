"""From a recorded program to its Work: which call is forward, which belongs to its backward, what each costs."""

import contextlib
import functools

from proa import _C
from proa.amp.auto_cast import auto_cast
from proa.distributed.simulate.work import Operation, Parameter, Work
from proa.framework.grad_mode import no_grad
from proa.static import program as programs
from proa.static.gradients import append_backward
from proa.static.replay import Replay, Value, parse

__all__ = ["read", "record"]


@functools.cache
def _registry():
    return {op["name"]: op for op in _C.op_registry()}


def _traits(name):
    return _registry()[name]["traits"] if name in _registry() else ()


def _is_view(call):
    return call.op == "detach" or "view" in _traits(call.op)


def _flat(parts):
    for part in parts:
        if isinstance(part, list):
            yield from _flat(part)
        elif isinstance(part, Value):
            yield part


def _operands(call):
    """Numbers of the values that a call reads, those that its regions read from outside among them."""
    if call.op == "shape":  # it asks for sizes alone
        return []
    found = list(_flat(call.args))
    for region in call.regions:
        inside = set(region.arguments)
        for inner in region.calls:
            found += [value for value in _operands(inner) if value not in inside]
            inside.update(_flat(inner.results))
    return found


class _Again(Replay):
    """Calls of a program that are made again, as they were recorded."""

    def make(self, numbers):
        with auto_cast(enable=False):
            for number in numbers:
                self._make(self.calls[number], exact=True)


def _again(program, loss, sizes, only):
    """The program made again for inputs of these sizes, and its loss; of the calls in `only`, with what gradients need of them."""
    recorded = program._program
    unknown = set(sizes) - set(recorded.input_names)
    if unknown:
        raise _C.located(ValueError(f"read: the program has no input {', '.join(map(repr, sorted(unknown)))}"))
    again = programs.Program()
    with programs.program_guard(again), no_grad() if only is None else contextlib.nullcontext():
        inputs = {}
        for name in recorded.input_names:
            declared = recorded.find(name)
            inputs[name] = programs.data(name, sizes.get(name, declared.shape), declared.dtype)
        replay = _Again(recorded, inputs)
        replay.make(range(len(replay.calls)) if only is None else sorted(only))
        loss = replay.env[recorded.value_number(loss)]
        if only is not None:
            append_backward(loss, [tensor for tensor in again.list_vars() if not tensor.stop_gradient])
    return again, loss


class _Reader:
    def __init__(self, program, loss):
        self.recorded = program._program
        numbers, self.calls = parse(str(self.recorded))
        self.flops = self.recorded.flops()
        self.loss = self.recorded.value_number(loss)
        self.captured = dict(zip(numbers, (tensor for _, tensor in self.recorded.captured), strict=True))
        self._meta = {}
        # One number for all handles of a tensor, and for a value and its views.
        first, self.root = {}, {}
        for number, tensor in self.captured.items():
            key = (tensor.data_ptr() or id(tensor), tuple(tensor.shape))
            self.root[number] = first.setdefault(key, number)
        # A gradient that is differentiated again holds parameters by handles that are not trained.
        self.trained = {self.root[n] for n, tensor in self.captured.items() if not tensor.stop_gradient}

    def shape(self, number):
        if number not in self._meta:
            if number in self.captured:
                tensor = self.captured[number]
                shape = tuple(tensor.shape)
            else:
                tensor = self.recorded.value(number)
                shape = tuple(size if isinstance(size, int) else -1 for size in tensor.shape)
            size = tensor.dtype.itemsize if hasattr(tensor.dtype, "itemsize") else tensor.element_size()
            self._meta[number] = shape, size
        return self._meta[number][0]

    def bytes(self, number):
        total = 1
        for size in self.shape(number):
            if size < 0:
                raise _C.located(
                    ValueError(
                        f"read: a size of %{int(number)} is known only when the program runs; give the sizes of its inputs: "
                        "sizes={'x': [32, 64]}"
                    )
                )
            total *= size
        return total * self._meta[number][1]

    def rooted(self, number):
        return self.root.get(number, number)

    def follow(self, call):
        """Notes what a view shows."""
        source = next(_flat(call.args), None)
        if _is_view(call) and source is not None:
            self.root.update((result, self.rooted(source)) for result in _flat(call.results))

    def moved(self, call):
        """Bytes that a call reads and writes; of a call that is made of others those of its arguments."""
        if _is_view(call):
            return 0.0
        values = set(_flat(call.args)) if call.op != "shape" else set()
        if "composite" not in _traits(call.op):
            values |= set(_flat(call.results))
        return float(sum(self.bytes(value) for value in values))

    def updates(self, call):
        """Whether a call changes parameters in place."""
        return "inplace" in _traits(call.op) and any(self.rooted(value) in self.trained for value in _operands(call))

    def updated(self):
        """Whether the program has the step of an optimizer, and so backward."""
        return any(self.updates(call) for call in self.calls)

    def forward_calls(self):
        """Which calls the loss needs."""
        needed, found = {self.loss}, set()
        for number in reversed(range(len(self.calls))):
            call = self.calls[number]
            if any(value in needed for value in _flat(call.results)):
                found.add(number)
                needed.update(_operands(call))
        return found

    def operations(self):
        forward, operations = self.forward_calls(), []
        uses, of_parameter, place = {}, {}, 0
        for number in sorted(forward):
            call = self.calls[number]
            if any(param["name"] == "group" for param in _registry().get(call.op, {}).get("params", ())):
                raise _C.located(
                    ValueError(
                        f"read: the program has a collective ({call.op}); record the program of one process, the strategy "
                        "divides it"
                    )
                )
            self.follow(call)
            if call.op == "detach":
                continue
            reads = tuple(dict.fromkeys(self.rooted(value) for value in _operands(call)))
            for value in reads:
                uses.setdefault(value, []).append(place)
                if value in self.trained:
                    of_parameter.setdefault(value, place)
            makes = tuple(value for value in _flat(call.results) if self.rooted(value) == value)
            operations.append(Operation(call.op, "forward", place, self.flops[number], self.moved(call), reads, makes))
            place += 1
        operations += self._after(forward, uses, place)
        return operations, of_parameter

    def _after(self, forward, uses, positions):
        """Backward goes through the calls of forward from the last to the first; an op in place on parameters is an update."""
        operations, at = [], positions - 1
        for number, call in enumerate(self.calls):
            if number in forward:
                continue
            self.follow(call)
            if call.op == "detach":
                continue
            reads = tuple(dict.fromkeys(self.rooted(value) for value in _operands(call)))
            moved = self.moved(call)
            if self.updates(call):
                operations.append(Operation(call.op, "update", 0, self.flops[number], moved, reads))
                continue
            exact = [at_ for v in reads if v in self.trained for at_ in uses.get(v, ()) if at_ <= at]
            near = exact or [at_ for v in reads for at_ in uses.get(v, ()) if at_ <= at]
            at = max(near, default=at)
            makes = tuple(_flat(call.results))
            operations.append(Operation(call.op, "backward", at, self.flops[number], moved, reads, makes))
        return operations

    def states(self, operations):
        """Bytes of what updates read besides parameters and what the program computes."""
        held = {v for op in operations if op.phase == "update" for v in op.reads if v in self.captured}
        return float(sum(self.bytes(value) for value in held - self.trained))


def read(program, loss, sizes=None, marks=()):
    """The work of a program, by the sizes that it was recorded with; nothing is computed.

    Args:
        program (static.Program): a network and its loss, of one process for one micro-batch; with the step of an optimizer
            (`minimize`), or without: then its backward is recorded into a copy.
        loss (Tensor): the value of the program that is trained on.
        sizes (dict, optional): sizes of inputs by name, where the program was recorded with open ones.
        marks (sequence[int], optional): numbers of operations at which layers begin.

    Returns:
        Work

    Raises:
        TypeError: for what is no program, or no value of one.
        ValueError: a size is not known; an input is not there; the program has collectives.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [None, 64])
        ...     loss = proa.nn.Linear(64, 8)(x).mean()
        >>> work = proa.distributed.simulate.read(main, loss, sizes={"x": [32, 64]})
        >>> work.parameter_bytes
        2080
        >>> [(op.name, op.flops) for op in work.forward]
        [('linear', 33024.0), ('mean', 256.0)]
    """
    if not isinstance(program, programs.Program):
        raise _C.located(TypeError(f"read: program must be a static.Program, not {type(program).__name__}"))
    if not _C.is_symbolic(loss) or not program.owns(loss):
        raise _C.located(TypeError("read: loss must be a value of the program"))
    reader = _Reader(program, loss)
    updated = reader.updated()
    if sizes or not updated:
        program, loss = _again(program, loss, sizes or {}, None if updated else reader.forward_calls())
        reader = _Reader(program, loss)
    operations, of_parameter = reader.operations()
    parameters = [Parameter(n, reader.shape(n), reader.bytes(n), at) for n, at in of_parameter.items()]
    fed = {v for op in operations if op.phase == "forward" for v in op.reads} - set(reader.captured)
    made = {v for op in operations if op.phase == "forward" for v in op.makes}
    values = {v: float(reader.bytes(v)) for v in fed | made}
    counted = (number for number in sorted(reader.forward_calls()) if reader.calls[number].op != "detach")
    places = {number: place for place, number in enumerate(counted)}
    marks = [min((place for number, place in places.items() if number >= mark), default=0) for mark in marks]
    return Work(operations, parameters, values, reader.states(operations), marks)


def record(layers, inputs, loss, optimizer=None):
    """Records one micro-batch of a list of layers, one after the other, and reads its work.

    Args:
        layers (Layer or list[Layer]): each is given what the one before gave.
        inputs (list[InputSpec]): of the first layer, and the labels, if `loss` takes some; all sizes known.
        loss (Callable): of the outputs and the labels the loss, a tensor of one element.
        optimizer (Optimizer, optional): whose step belongs to the work.

    Returns:
        Work: whose `marks` are the beginnings of the layers.

    Examples:
        >>> from proa.static import InputSpec
        >>> net = [proa.nn.Linear(64, 64), proa.nn.ReLU(), proa.nn.Linear(64, 8)]
        >>> inputs = [InputSpec([32, 64], "float32", "x"), InputSpec([32, 8], "float32", "y")]
        >>> work = proa.distributed.simulate.record(net, inputs, proa.nn.MSELoss())
        >>> work.positions, work.marks
        (6, [0, 1, 2])
    """
    layers = list(layers) if isinstance(layers, (list, tuple)) else [layers]
    program, marks = programs.Program(), []
    with programs.program_guard(program):
        given = [programs.data(spec.name or f"input_{i}", spec.shape, spec.dtype) for i, spec in enumerate(inputs)]
        x = given[0]
        for layer in layers:
            marks.append(program.num_operations)
            x = layer(x)
        found = loss(x, *given[1:])
        if optimizer is not None:
            optimizer.minimize(found)
    return read(program, found, marks=marks)
