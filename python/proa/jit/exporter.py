"""From a program to the file of another program: the walk over its operations that all such formats share."""

import dataclasses
import functools
import importlib
import pkgutil

from proa import _C


def family_rules(families, prefix):
    """The rules of a format by op: functions `<prefix><op>` of the modules that stand beside the ops, one a family.

    Args:
        families (module): the package of those modules.
        prefix (str): "onnx_".
    """
    found = {}
    for module in pkgutil.iter_modules(families.__path__):
        for name, rule_of in vars(importlib.import_module(f"{families.__name__}.{module.name}")).items():
            if name.startswith(prefix):
                found[name.removeprefix(prefix)] = rule_of
    return found


@functools.cache
def fixed_ops():
    """Ops that give the same for the same arguments."""
    return {d["name"] for d in _C.op_registry() if "random" not in d["traits"]}


@dataclasses.dataclass
class Operation:
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


class Exporter:
    """One program on its way into a graph of the format.

    A format is a class below this one: it makes values of its graph of tensors (`held`) and runs the rule of an
    operation (`made`). `outputs` are numbers of values; a tensor where the result does not depend on the inputs.

    Args:
        program: a _C.Program, which is left as it is.
        outputs (list): its tensors that the graph gives.
        graph: empty; `operation` is what this one is at.
        value (type): of the graph's values, made of a name, a dtype and a shape.
        cannot (type): the exception by which a rule says that the format cannot hold an operation.
        for_test (bool): the program as it runs in a test.
    """

    # What makes fewer operations for the same results; fused ops are left to who runs the model.
    passes: tuple[str, ...] = tuple(_C.export_passes())

    def __init__(self, program, outputs, graph, value, cannot, for_test):
        copy = program.clone(for_test)
        wanted = [copy.value(program.value_number(t)) if _C.is_symbolic(t) else t for t in outputs]
        if self.passes:
            copy.run_passes(list(self.passes), [t for t in wanted if _C.is_symbolic(t)])
        self.outputs = [copy.value_number(t) if _C.is_symbolic(t) else t for t in wanted]
        self.info, self.block = _C.program_values(copy), _C.program_block(copy)
        self.graph, self.problems, self.left_out = graph, [], []
        self.values = {}
        self.used = {n for n in self.outputs if isinstance(n, int)}
        self._value, self._cannot = value, cannot
        self._note_uses(self.block)

    def held(self, tensor, name):
        """A tensor of the model as a value of the graph."""
        raise NotImplementedError

    def made(self, operation, numbers):
        """The values that the rule of an operation gives for its results."""
        raise NotImplementedError

    def placed(self, value, number):
        """A value that a rule made, with what the program says of it."""
        raise NotImplementedError

    def entered(self, value, number):
        """A value that stands for an argument of a region."""
        return value

    def unknown(self, number):
        """What stands for a result of an operation that the graph cannot hold, so that the next ones are looked at."""
        return self.described(number, "unknown")

    def described(self, number, name=""):
        """A value that is like the one of the program."""
        info = self.info[number]
        return self._value(name, info["dtype"].name, tuple(info["shape"]))

    def value_of(self, output):
        """The value of one of `outputs`."""
        return self.get(output) if isinstance(output, int) else self.held(output, output.name)

    def get(self, number):
        """The value for one of the program; None for an input that is left out."""
        if number is None:
            return None
        if number not in self.values:
            info = self.info[number]
            if info["captured"] is None:
                raise self._cannot("a value that no operation makes")
            self.values[number] = self.held(info["captured"], info["name"])
        return self.values[number]

    def convert(self, block):
        """Fills the graph with the operations of a block; `problems` has what it cannot hold."""
        for operation in block["operations"]:
            numbers = [n for ids in operation["results"] for n in ids]
            if not numbers and "turn" in operation["values"]:  # it prints or asserts
                self.left_out.append(f"{operation['op']} recorded at {operation['where'] or 'an unknown line'}")
                continue
            try:
                found = self.made(operation, numbers)
            except self._cannot as error:
                problem = Problem(operation["op"], str(error), self._arguments(operation), operation["where"])
                self.problems.append(problem)
                found = [self.unknown(n) for n in numbers]
            for number, value in zip(numbers, found, strict=True):
                self.values[number] = None if value is None else self.placed(value, number)

    def arguments(self, operation):
        """The arguments of an operation by name, as its rule takes them."""
        given = dict(operation["attributes"])
        for parameter, ids in operation["values"].items():
            given[parameter] = [self.get(i) for i in ids] if isinstance(ids, list) else self.get(ids)
        return {k: getattr(v, "name", v) if isinstance(v, _C.DType) else v for k, v in given.items()}

    def run_rule(self, rule, operation, numbers):
        """What `rule` gives, while `graph.operation` says what it is for."""
        before = self.graph.operation
        regions = [functools.partial(self._region, region) for region in operation["regions"]]
        results = [self.described(n) for n in numbers]
        self.graph.operation = Operation(results, [n in self.used for n in numbers], regions)
        try:
            return rule()
        finally:
            self.graph.operation = before

    def check_used(self, values, numbers, format_name):
        """That no result is left out which another operation reads."""
        for value, number in zip(values, numbers, strict=True):
            if value is None and number in self.used:
                raise self._cannot(f"{format_name} cannot give all of its outputs that are used")

    def computed(self, operation):
        """Constants: what depends on attributes alone."""
        found = getattr(_C.ops, operation["op"])(**operation["attributes"])
        tensors = found if isinstance(found, (tuple, list)) else [found]
        return [self.held(t, "") for t in tensors]

    def _note_uses(self, block):
        for operation in block["operations"]:
            for ids in operation["values"].values():
                self.used.update(ids if isinstance(ids, list) else [ids])
            for region in operation["regions"]:
                self._note_uses(region)
                self.used.update(region["returns"])

    def _region(self, region, values=()):
        """The operations of a region. `values` stand for its arguments; returns what it returns."""
        for number, value in zip(region["arguments"], values, strict=True):
            self.values[number] = self.entered(value, number)
        self.convert(region)
        return [self.get(n) for n in region["returns"]]

    def _arguments(self, operation):
        parts = []
        for name, ids in operation["values"].items():
            for number in ids if isinstance(ids, list) else [ids]:
                if number is not None:
                    dims = ", ".join("?" if d < 0 else str(d) for d in self.info[number]["shape"])
                    parts.append(f"{name}: [{dims}] {self.info[number]['dtype'].name}")
        parts += [f"{k}={v!r}" for k, v in operation["attributes"].items() if v not in (None, [], "")]
        return ", ".join(parts)
