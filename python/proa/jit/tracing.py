"""Recording of functions and layers into programs."""

import contextlib
import functools

from proa import _C
from proa.framework.dtype import is_floating
from proa.framework.once import always
from proa.framework.size import Size
from proa.jit import baked, structure
from proa.jit.dy2static import (
    alternatives,
    array_functions,
    branches,
    builtin_functions,
    calls,
    checks,
    coded,
    handled,
    leaks,
    lost,
    ordering,
    state,
    tracebacks,
    undefined,
    wishes,
)
from proa.jit.dy2static.arrays import TensorArray, TupleArray
from proa.jit.input_spec import InputSpec
from proa.nn.layer import use
from proa.nn.layer.use import Uses

# Modules that say of functions what is called in their place.
_REPLACEMENTS = (array_functions, builtin_functions, ordering)
use.set_converter(calls.recorded)
_NOTED = (bool, int, float, str, type(None))  # what a file may give in the place of tensors
# What results may hold besides tensors and containers: belongs to the recording.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type, slice)


class Trace:
    """A function recorded once: its program, inputs and outputs.

    Every op that the function calls is recorded: what it computes from parameters and buffers
    follows them, random numbers are drawn anew in each run, tensors that it makes and changes are
    those of the run. Values that depend on constants alone can be read while it is recorded.

    Args:
        function: takes the inputs.
        specs (list): an InputSpec (or anything that is passed on as it is) for each positional argument; lists,
            tuples, dicts of them too.
        layer (Layer, optional): whose parameters and buffers name what the program captures.
        keywords (dict): for arguments by name.
        file (str, optional): "proa" for a program that is written to a file: errors are assertions of its own;
            "foreign" for one that other tools read, which neither prints nor asserts: `left_out` says, as texts, what it would.
        follow (bool): the program leads gradients where the function does: what `no_grad` and `detach` keep away from
            them, it keeps away too. For inputs whose `stop_gradient` is False.
    """

    def __init__(self, function, specs, layer=None, keywords=None, follow=False, file=None):
        self.states = []  # captured tensors that are values of the program although nothing names them
        with wishes.collecting():
            record = functools.partial(self._record_as_wished, function, specs, layer, keywords, follow, file)
            record()
            baked.settle(self, record, layer)

    def _record_as_wished(self, *arguments):
        missed = None
        while True:
            try:
                self._record(*arguments)
                return
            except Exception as error:
                if not wishes.noted(error):
                    if missed is not None and missed != str(error):
                        # A kind with which the code that was recorded for it cannot go on.
                        error.add_note(f"  {missed}")
                    raise
                if wishes.is_of_kinds(error):
                    missed = f"{tracebacks.innermost(error)}: {error}"

    def _record(self, function, specs, layer, keywords, follow, file):
        self.program = _C.Program()
        if follow:
            self.program.follow_gradients()
        self.specs, self.keywords = list(specs), dict(keywords or {})
        given = []
        tree = structure.flatten((self.specs, self.keywords), given, _as_input)
        self.input_names = []
        inputs = [self._input(spec, name, follow) for spec, name in zip(given, self._names(tree), strict=True)]
        self.inputs = inputs
        before = [self.program.value_number(t) for t in inputs]
        args, kwargs = structure.unflatten(tree, iter(inputs))
        self._name_state(layer)
        with Uses([layer] if layer is not None else ()) as self.uses, always(), self.program.recording():
            before_regions = branches.regions_so_far()
            self.left_out = []
            result, self.checks = _converted_call(function, args, kwargs, self.left_out if file == "foreign" else None)
            if file == "foreign":
                self.left_out += checks.left_out_of(self.checks)
                self.checks = []
            elif file == "proa":
                self.checks = checks.record(self.checks)
            self.outputs = []
            self.result = self._flattened(alternatives.settled(result) if file == "foreign" else result)
        _refuse_hidden(self.result)
        # Inputs that the function changed in place: what they become follows the outputs.
        self.changed = [i for i, t in enumerate(inputs) if self.program.value_number(t) != before[i]]
        self.num_results = len(self.outputs)
        # By numbers: the tensors have the graph of the gradients, which the recording need not keep.
        number = lambda t: self.program.value_number(t) if _C.is_symbolic(t) else t
        self._results = [number(t) for t in self.outputs]
        self.outputs += [inputs[i] for i in self.changed]
        # What is raised and printed after the run comes last: not part of a saved program.
        self.first_check = len(self.outputs)
        self.outputs += [t for check in self.checks for t in check.tensors]
        if branches.regions_so_far() > before_regions:
            self._refuse_leaks()

    def _flattened(self, result):
        if not isinstance(result, alternatives.Alternatives):
            return structure.flatten(result, self.outputs, _late_result)
        if isinstance(result.which, int):
            return self._flattened(result.values[result.which])
        return structure.choice(result.which, result.values, self.outputs, _late_result)

    def _names(self, tree):
        """A name for each input: that of its spec, else its place among the arguments."""
        positional, named = tree.items
        for i, item in enumerate(positional.items):
            yield from structure.paths(item, f"x{i}")
        for key, item in zip(named.keys, named.items, strict=True):
            yield from structure.paths(item, key)

    def _input(self, spec, place, follow):
        name = spec.name or _identifier(place)
        base, count = name, 1
        while name in self.input_names:
            name, count = f"{base}_{count}", count + 1
        self.input_names.append(name)
        tensor = self.program.add_input(name, list(spec.shape), spec.dtype, follow and not spec.stop_gradient)
        if not spec.stop_gradient and is_floating(spec.dtype):
            tensor.stop_gradient = False  # for those who ask
        return tensor

    def _name_state(self, layer):
        named = [] if layer is None else [*layer.named_parameters(), *layer.named_buffers()]
        for name, tensor in named:
            self.program.capture(tensor, name)
        for i, held in enumerate(self.states):
            if not any(tensor is held for _, tensor in named):
                self.program.capture(held, f"state_{i}")

    def _refuse_leaks(self):
        """What a branch or loop makes is not seen outside of it, however it got there: by an attribute, a global."""
        if leaks.is_leaking(self.program, [self.program.value_number(t) for t in self.outputs if _C.is_symbolic(t)]):
            raise _C.located(
                RuntimeError(
                    "a tensor that was made in a branch or loop that depends on a tensor is used after it; it left by an "
                    "object that the function does not show to be changed: assign it to a name or attribute in the branch"
                )
            )

    @property
    def result_names(self):
        """What a file calls the results: `output_0`, ...; where a tensor chooses among values, `output@WHICH` is its number and
        `output_0@2` the first tensor of value 2."""
        choices = structure.choices(self.result)
        if choices is None:
            return [f"output_{i}" for i in range(self.num_results)]
        for count, others in choices:
            if not count and (len(others) != 1 or not isinstance(others[0], _NOTED)):
                raise _C.located(
                    TypeError(
                        f"by a tensor the function returns {', '.join(map(repr, others)) or 'nothing'}, which a file does not hold: "
                        "let it return None, a text or number, or a tensor that stands for it"
                    )
                )
        return ["output@WHICH", *(f"output_{k}@{i}" for i, (count, _) in enumerate(choices) for k in range(count))]

    @property
    def constant_results(self):
        """Of values without tensors among which a tensor chooses: what they are, by their numbers. A file notes them."""
        choices = enumerate(structure.choices(self.result) or ())
        return {i: others[0] for i, (count, others) in choices if not count and others != [None]}

    @property
    def results(self):
        """The tensors of the program that the function gives, in the order of its result."""
        return [self.program.value(n) if isinstance(n, int) else n for n in self._results]

    def place_of(self, tensor):
        """Which of the results a tensor is; None if it is none of them."""
        if not isinstance(tensor, _C.Tensor):
            return None
        own = _C.is_symbolic(tensor) and _C.program_of(tensor) is self.program
        number = self.program.value_number(tensor) if own else None
        return next((k for k, n in enumerate(self._results) if n is tensor or own and n == number), None)

    @property
    def parameters(self):
        """The tensors that the program captures and that are trained, each once."""
        return self.main_program.trained_parameters()

    @property
    def main_program(self):
        """The program as a `static.Program`."""
        from proa.static.program import Program

        main = Program()
        main._program = self.program
        return main

    def check(self, results):
        """Asserts and prints what the function does of the results of a run."""
        at = self.first_check
        for check in self.checks:
            check.run(results[at : at + len(check.tensors)])
            at += len(check.tensors)

    def module(self):
        """The program to be called."""
        return self.program.module(self.input_names, self.outputs)


def _identifier(place):
    """`x0[1]['a']` as a name: x0_1_a."""
    return "_".join(part for part in "".join(c if c.isalnum() else " " for c in place).split())


def _as_input(value):
    return (structure.TENSOR, value) if isinstance(value, InputSpec) else None


def _late_result(value):
    """Results that are a tensor of the program but nothing of the kind for the caller."""
    if isinstance(value, Size):
        return structure.SIZE, value.tensor()
    if isinstance(value, coded.Coded):
        str(value)  # says what to give instead
    if isinstance(value, TupleArray):
        return structure.ROWS, (value.keys, value.parts)
    return (structure.ITEMS, value.stacked) if isinstance(value, TensorArray) else None


def _converted_call(function, args, kwargs, left_out=None):
    """(what the function gives, what is to be checked after a run); it and what it calls are converted (dy2static)."""
    undefined.forget()
    coded.forget()
    try:
        with calls.converting(), state.recording_of(function, (args, kwargs)), checks.collecting(left_out) as found:
            return calls.call(function)(*args, **kwargs), found
    except RecursionError as error:
        error.add_note(f"  at {tracebacks.most_repeated(error)}")
        error.add_note(
            "  calls that go deeper without end while a program is recorded: where a tensor decides whether to go on, both "
            "ways are recorded, and the recursion has no end; write a `while` loop, or let a number of Python decide"
        )
        raise tracebacks.of_user(error)  # noqa: B904 (it is the same error)
    except (Exception, handled.Refused) as error:
        # It is the same error, or says what it was.
        raise tracebacks.of_user(undefined.explained(handled.unwrapped(error)))  # noqa: B904


def _refuse_hidden(tree):
    """Results are rebuilt in each call; what hides tensors of the program cannot be."""
    for value in structure.constants(tree):
        if isinstance(value, lost.Lost):
            raise value.error()
        if isinstance(value, _PLAIN):
            continue
        hidden = [name for name, v in getattr(value, "__dict__", {}).items() if _holds_symbolic(v)]
        if hidden:
            raise _C.located(
                TypeError(
                    f"the recorded function gives a {type(value).__name__}, whose {hidden[0]} holds values of the "
                    "program; give lists, tuples, dicts, named tuples or data classes of tensors"
                )
            )


def _holds_symbolic(value):
    leaves = []
    structure.flatten(value, leaves)
    return any(_C.is_symbolic(t) for t in leaves)


@contextlib.contextmanager
def in_mode(layer, training):
    """The layer in training or in evaluation mode; afterwards each sublayer as it was."""
    modes = [(sub, sub.training) for sub in layer.sublayers(include_self=True)]
    layer.train() if training else layer.eval()
    try:
        yield
    finally:
        for sub, training in modes:
            sub.training = training
