"""From a program to one of PaddlePaddle: each operation by the rule of its op."""

import dataclasses
import functools
import importlib
import pkgutil

import numpy as np

from proa import _C
from proa.jit.reference import inverse
from proa.jit.reference.graph import NotInReference, Value

# What makes fewer operations for the same results; fused ops are left to who runs the model.
_PASSES = ("identities", "constant_folding", "common_subexpressions", "dead_code")


@functools.cache
def rules():
    """The rules of ops that no line of reference.rules read backwards says; `ops/<family>/pdmodel.py`."""
    from proa._generated import pdmodel as families

    found = {}
    for module in pkgutil.iter_modules(families.__path__):
        for name, rule_of in vars(importlib.import_module(f"{families.__name__}.{module.name}")).items():
            if name.startswith("pdmodel_"):
                found[name.removeprefix("pdmodel_")] = rule_of
    return found


@dataclasses.dataclass
class _Operation:
    """The operation whose rule runs."""

    results: list  # of its outputs in a row
    wanted: list
    regions: list


@dataclasses.dataclass
class Problem:
    """An operation that the format cannot hold."""

    op: str
    why: str
    arguments: str
    where: str | None

    def __str__(self):
        where = f"\n    recorded: {self.where}" if self.where else ""
        return f"{self.op}({self.arguments}): {self.why}{where}"


class Converter:
    """One program.

    Args:
        program: a _C.Program, which is left as it is.
        outputs (list): its tensors that the model gives.
        graph (Graph): empty.
        trainable (set): names of parameters that are trained.
        for_test (bool): the program as it runs in a test.
    """

    def __init__(self, program, outputs, graph, trainable=(), for_test=False):
        copy = program.clone(for_test)
        wanted = [copy.value(program.value_number(t)) if _C.is_symbolic(t) else t for t in outputs]
        copy.run_passes(list(_PASSES), [t for t in wanted if _C.is_symbolic(t)])
        # Numbers of values; a tensor where the result does not depend on the inputs.
        self.outputs = [copy.value_number(t) if _C.is_symbolic(t) else t for t in wanted]
        self.info, self.block = _C.program_values(copy), _C.program_block(copy)
        self.graph, self.problems, self.left_out = graph, [], []
        self._trainable, self._values = set(trainable), {}
        self._used = {n for n in self.outputs if isinstance(n, int)}
        self._note_uses(self.block)

    def run(self, input_names):
        """Fills the graph; `problems` has what it cannot hold, `left_out` what it does without."""
        numbers = {info["name"]: n for n, info in enumerate(self.info) if info["kind"] == "input"}
        with self.graph.building():
            feed = self.graph.special("feed", 9, persistable=True)
            for column, name in enumerate(input_names):
                info = self.info[numbers[name]]
                value = self.graph.variable(name, info["dtype"].name, tuple(info["shape"]), need_check_feed=True)
                self.graph.op("feed", {"X": [feed]}, {"Out": [value.name]}, {"col": column})
                self._values[numbers[name]] = value
            self._convert(self.block)
            fetch = self.graph.special("fetch", 10, persistable=True)
            for column, output in enumerate(self.outputs):
                value = self._get(output) if isinstance(output, int) else self._held(output, output.name)
                name = self._own(value).name
                self.graph.op("fetch", {"X": [name]}, {"Out": [fetch]}, {"col": column})

    def _own(self, value):
        """The value as a variable that is nothing else: no input, parameter or other output."""
        out = self.graph.variable("output", value.dtype, value.shape)
        self.graph.op("assign", {"X": [value.name]}, {"Out": [out.name]}, {})
        return out

    def _note_uses(self, block):
        for operation in block["operations"]:
            for ids in operation["values"].values():
                self._used.update(ids if isinstance(ids, list) else [ids])
            for region in operation["regions"]:
                self._note_uses(region)
                self._used.update(region["returns"])

    def _described(self, number):
        info = self.info[number]
        return Value("", info["dtype"].name, tuple(info["shape"]))

    def _get(self, number):
        if number is None:
            return None
        if number not in self._values:
            info = self.info[number]
            if info["captured"] is None:
                raise NotInReference("a value that no operation makes")
            self._values[number] = self._held(info["captured"], info["name"])
        return self._values[number]

    def _held(self, tensor, name):
        """A tensor of the model, as a variable."""
        return self.graph.parameter(name, tensor.dtype.name, _elements(tensor), name in self._trainable)

    def _convert(self, block):
        for operation in block["operations"]:
            numbers = [n for ids in operation["results"] for n in ids]
            if not numbers and "turn" in operation["values"]:  # it prints or asserts
                self.left_out.append(f"{operation['op']} recorded at {operation['where'] or 'an unknown line'}")
                continue
            try:
                found = self._made(operation, numbers)
            except NotInReference as error:
                problem = Problem(operation["op"], str(error), self._arguments(operation), operation["where"])
                self.problems.append(problem)
                found = [self.graph.variable("unknown", self._described(n).dtype) for n in numbers]
            for number, value in zip(numbers, found, strict=True):
                if value is not None:
                    info = self.info[number]
                    value = self.graph.describe(value, info["dtype"].name, tuple(info["shape"]))
                self._values[number] = value

    def _made(self, operation, numbers):
        """The values that the rule gives for the results."""
        name = operation["op"]
        arguments = dict(operation["attributes"])
        for parameter, ids in operation["values"].items():
            arguments[parameter] = [self._get(i) for i in ids] if isinstance(ids, list) else self._get(ids)
        arguments = {k: getattr(v, "name", v) if isinstance(v, _C.DType) else v for k, v in arguments.items()}
        results = [self._described(n) for n in numbers]
        before = self.graph.operation
        regions = [functools.partial(self._region, region) for region in operation["regions"]]
        self.graph.operation = _Operation(results, [n in self._used for n in numbers], regions)
        try:
            function = rules().get(name)
            found = function(**arguments) if function is not None else inverse.made(name, arguments)
        finally:
            self.graph.operation = before
        if found is None and not operation["values"] and not operation["regions"] and name in _fixed_ops():
            return self._computed(operation)
        if found is None:
            raise NotInReference(_no_rule(operation))
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        for value, number in zip(found, numbers, strict=True):
            if value is None and number in self._used:
                raise NotInReference("the format cannot give all of its outputs that are used")
        return found

    def _computed(self, operation):
        """Constants: what depends on attributes alone."""
        found = getattr(_C.ops, operation["op"])(**operation["attributes"])
        tensors = found if isinstance(found, (tuple, list)) else [found]
        return [self._held(t, "") for t in tensors]

    def _region(self, region, values=()):
        """The operations of a region. `values` stand for its arguments; returns what it returns."""
        for number, value in zip(region["arguments"], values, strict=True):
            self._values[number] = value
        self._convert(region)
        return [self._get(n) for n in region["returns"]]

    def _arguments(self, operation):
        parts = []
        for name, ids in operation["values"].items():
            for number in ids if isinstance(ids, list) else [ids]:
                if number is not None:
                    dims = ", ".join("?" if d < 0 else str(d) for d in self.info[number]["shape"])
                    parts.append(f"{name}: [{dims}] {self.info[number]['dtype'].name}")
        parts += [f"{k}={v!r}" for k, v in operation["attributes"].items() if v not in (None, [], "")]
        return ", ".join(parts)


def _elements(tensor):
    """A NumPy array; of bfloat16 its bits, the upper half of float32."""
    array = tensor.detach().numpy()
    return (array.view(np.uint32) >> 16).astype(np.uint16) if tensor.dtype == _C.bfloat16 else array


def _no_rule(operation):
    if operation["op"].endswith("_") and not operation["results"]:
        return "it changes a tensor of the model; save it in evaluation mode, or in the format of Proa"
    return (
        "no rule says what it is in PaddlePaddle's format; compute it outside of the model, or save it in the format "
        "of Proa"
    )


@functools.cache
def _fixed_ops():
    """Ops that give the same for the same arguments."""
    return {d["name"] for d in _C.op_registry() if "random" not in d["traits"]}
