"""From a program to a graph: each operation by the rule of its op."""

import dataclasses
import functools
import importlib
import inspect
import pkgutil

from proa import _C
from proa.onnx import opset, rule
from proa.onnx.graph import Value

# What makes fewer operations for the same results; fused ops are left to who runs the model.
_PASSES = ("identities", "constant_folding", "common_subexpressions", "dead_code")


@functools.cache
def rules():
    """The rules of all ops by name; those of a family stand in `ops/<family>/onnx.py`."""
    from proa._generated import onnx as families

    found = {}
    for module in pkgutil.iter_modules(families.__path__):
        for name, rule_of in vars(importlib.import_module(f"{families.__name__}.{module.name}")).items():
            if name.startswith("onnx_"):
                found[name.removeprefix("onnx_")] = rule_of
    return found


@dataclasses.dataclass
class _Operation:
    """The operation whose rule runs."""

    results: list  # of its outputs in a row
    wanted: list
    regions: list


@dataclasses.dataclass
class Problem:
    """An operation that the graph cannot hold."""

    op: str
    why: str
    arguments: str
    where: str | None

    def __str__(self):
        where = f"\n    recorded: {self.where}" if self.where else ""
        return f"{self.op}({self.arguments}): {self.why}{where}"


class Converter:
    """One program in one version of the operator set.

    Args:
        program: a _C.Program, which is left as it is.
        outputs (list): its tensors that the graph gives.
        graph (Graph): empty.
        own_rules (dict): rules by op, that go before those of Proa.
        for_test (bool): the program as it runs in a test.
    """

    def __init__(self, program, outputs, graph, own_rules=None, for_test=False):
        copy = program.clone(for_test)
        # A result that no operation made is a tensor, which the copy captures when it is asked for its number.
        wanted = [copy.value(program.value_number(t)) if _C.is_symbolic(t) else t for t in outputs]
        copy.run_passes(list(_PASSES), [t for t in wanted if _C.is_symbolic(t)])
        self.outputs = [copy.value_number(t) for t in wanted]
        self.info, self.block = _C.program_values(copy), _C.program_block(copy)
        self.graph, self.problems, self.left_out = graph, [], []
        self._rules = {**rules(), **(own_rules or {})}
        self._values = {}
        self._used = set(self.outputs)
        self._note_uses(self.block)

    def run(self, names):
        """Fills the graph. `names` are those of outputs. Returns the values of inputs and outputs.

        Raises:
            NeedsOpset: the program takes a later version of the operator set.
        """
        inputs = []
        for number, info in enumerate(self.info):
            if info["kind"] == "input":
                inputs.append(self._set(number, self._described(number, self.graph.free_name(info["name"]))))
        with self.graph.building():
            self._convert(self.block)
            outputs = [self._named(self._get(number), names[i]) for i, number in enumerate(self.outputs)]
        return inputs, outputs

    def _note_uses(self, block):
        for operation in block["operations"]:
            for ids in operation["values"].values():
                self._used.update(ids if isinstance(ids, list) else [ids])
            for region in operation["regions"]:
                self._note_uses(region)
                self._used.update(region["returns"])

    def _described(self, number, name=""):
        info = self.info[number]
        return Value(name, info["dtype"].name, tuple(info["shape"]))

    def _set(self, number, value):
        self._values[number] = value
        return value

    def _get(self, number):
        if number is None:
            return None
        if number not in self._values:
            self._set(number, self._captured(number))
        return self._values[number]

    def _captured(self, number):
        info = self.info[number]
        tensor = info["captured"]
        if tensor is None:
            raise opset.NotInOnnx("a value that no operation makes")
        return self.graph.parameter(info["name"], info["dtype"].name, tensor.detach().numpy())

    def _named(self, value, name):
        """The value under a name of its own: what a graph gives is no input, constant or another output."""
        out = Value(self.graph.free_name(name), value.dtype, value.shape)
        onnx = opset.package()

        self.graph.nodes.append(onnx.helper.make_node("Identity", [value.name], [out.name]))
        return out

    def _convert(self, block):
        for operation in block["operations"]:
            numbers = [n for ids in operation["results"] for n in ids]
            if not numbers and "turn" in operation["values"]:  # it prints or asserts
                self.left_out.append(f"{operation['op']} recorded at {operation['where'] or 'an unknown line'}")
                continue
            try:
                made = self._made(operation, numbers)
            except opset.NotInOnnx as error:
                self.problems.append(
                    Problem(operation["op"], str(error), self._arguments(operation), operation["where"])
                )
                made = [self._described(n, "unknown") for n in numbers]
            for number, value in zip(numbers, made, strict=True):
                if value is not None:
                    value = Value(value.name, value.dtype, tuple(self.info[number]["shape"]))
                self._set(number, value)

    def _made(self, operation, numbers):
        """The values that the rule gives for the results."""
        name = operation["op"]
        function = self._rules.get(name)
        if function is None and not operation["values"] and name in _fixed_ops():
            return self._computed(operation)
        if function is None:
            raise opset.NotInOnnx(_no_rule(operation))
        arguments = dict(operation["attributes"])
        for parameter, ids in operation["values"].items():
            found = [self._get(i) for i in ids] if isinstance(ids, list) else self._get(ids)
            arguments[parameter] = found
        self._check_late(function, operation, arguments)
        arguments = {k: getattr(v, "name", v) if isinstance(v, _C.DType) else v for k, v in arguments.items()}
        results = [self._described(n) for n in numbers]
        before = getattr(self.graph, "operation", None)
        regions = [functools.partial(self._region, region) for region in operation["regions"]]
        self.graph.operation = _Operation(results, [n in self._used for n in numbers], regions)
        try:
            made = function(**arguments)
        finally:
            self.graph.operation = before
        made = [
            v
            for part in (made if isinstance(made, (tuple, list)) else [made])
            for v in (part if isinstance(part, list) else [part])
        ]
        for value, expected, number in zip(made, results, numbers, strict=True):
            if value is None and number in self._used:
                raise opset.NotInOnnx("ONNX cannot give all of its outputs that are used")
            if value is not None and value.dtype != expected.dtype:
                raise AssertionError(f"rule of {name}: gives {value.dtype}, not {expected.dtype}")
        return made

    def _computed(self, operation):
        """Constants: what depends on attributes alone."""
        made = getattr(_C.ops, operation["op"])(**operation["attributes"])
        tensors = made if isinstance(made, (tuple, list)) else [made]
        return [self.graph.parameter("", t.dtype.name, t.numpy()) for t in tensors]

    def _check_late(self, function, operation, arguments):
        """What the rule must know is no value of the program."""
        notes = inspect.get_annotations(function)
        types = _parameter_types().get(operation["op"], {})
        for name, value in arguments.items():
            if isinstance(value, Value) and types.get(name, "Tensor") != "Tensor" and notes.get(name) is not rule.late:
                raise opset.NotInOnnx(f"{name} is known only when the program runs; ONNX wants the number")

    def _region(self, region, values=None, outputs=None):
        """The nodes of a region. `values` stand for its arguments; returns what it returns."""
        for number, value in zip(region["arguments"], values or (), strict=True):
            self._set(number, Value(value.name, value.dtype, tuple(self.info[number]["shape"])))
        self._convert(region)
        return [self._get(n) for n in region["returns"]]

    def _arguments(self, operation):
        parts = []
        for name, ids in operation["values"].items():
            for number in ids if isinstance(ids, list) else [ids]:
                if number is not None:
                    dims = ", ".join("?" if d < 0 else str(d) for d in self.info[number]["shape"])
                    parts.append(f"{name}: [{dims}] {self.info[number]['dtype'].name}")
        return ", ".join(parts)


def _no_rule(operation):
    if operation["op"].endswith("_") and not operation["results"]:
        return "it changes a tensor of the model, and models of ONNX have no state; export it in evaluation mode"
    return (
        "no rule says what it is in ONNX; compute it outside of the model, or say it by a rule of your own: "
        f"export(..., rules={{'{operation['op']}': function}})"
    )


@functools.cache
def _fixed_ops():
    """Ops that give the same for the same arguments."""
    return {d["name"] for d in _C.op_registry() if "random" not in d["traits"]}


@functools.cache
def _parameter_types():
    return {d["name"]: {p["name"]: p["type"] for p in d["params"]} for d in _C.op_registry()}
