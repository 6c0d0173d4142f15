"""From a program to a graph: each operation by the rule of its op."""

import functools
import inspect

from proa import _C
from proa.jit.exporter import Exporter, family_rules, fixed_ops
from proa.onnx import opset, rule
from proa.onnx.graph import Value


@functools.cache
def rules():
    """The rules of all ops by name; those of a family stand in `ops/<family>/onnx.py`."""
    from proa._generated import onnx as families

    return family_rules(families, "onnx_")


class Converter(Exporter):
    """One program in one version of the operator set.

    Args:
        program: a _C.Program, which is left as it is.
        outputs (list): its tensors that the graph gives.
        graph (Graph): empty.
        own_rules (dict): rules by op, that go before those of Proa.
        for_test (bool): the program as it runs in a test.
    """

    def __init__(self, program, outputs, graph, own_rules=None, for_test=False):
        super().__init__(program, outputs, graph, Value, opset.NotInOnnx, for_test)
        self._rules = {**rules(), **(own_rules or {})}

    def run(self, names):
        """Fills the graph. `names` are those of outputs. Returns the values of inputs and outputs.

        Raises:
            NeedsOpset: the program takes a later version of the operator set.
        """
        inputs = []
        for number, info in enumerate(self.info):
            if info["kind"] == "input":
                inputs.append(self.described(number, self.graph.free_name(info["name"])))
                self.values[number] = inputs[-1]
        with self.graph.building():
            self.convert(self.block)
            outputs = [self._named(self.value_of(output), names[i]) for i, output in enumerate(self.outputs)]
        return inputs, outputs

    def held(self, tensor, name):
        return self.graph.parameter(name, tensor.dtype.name, tensor.detach().numpy())

    def placed(self, value, number):
        return Value(value.name, value.dtype, tuple(self.info[number]["shape"]))

    entered = placed

    def _named(self, value, name):
        """The value under a name of its own: what a graph gives is no input, constant or another output."""
        out = Value(self.graph.free_name(name), value.dtype, value.shape)
        onnx = opset.package()

        self.graph.nodes.append(onnx.helper.make_node("Identity", [value.name], [out.name]))
        return out

    def made(self, operation, numbers):
        name = operation["op"]
        function = self._rules.get(name)
        if function is None and not operation["values"] and name in fixed_ops():
            return self.computed(operation)
        if function is None:
            raise opset.NotInOnnx(_no_rule(operation))
        arguments = self.arguments(operation)
        _check_late(function, name, arguments)
        found = self.run_rule(lambda: function(**arguments), operation, numbers)
        values = [
            v
            for part in (found if isinstance(found, (tuple, list)) else [found])
            for v in (part if isinstance(part, list) else [part])
        ]
        self.check_used(values, numbers, "ONNX")
        for value, number in zip(values, numbers, strict=True):
            expected = self.described(number).dtype
            if value is not None and value.dtype != expected:
                raise AssertionError(f"rule of {name}: gives {value.dtype}, not {expected}")
        return values


def _check_late(function, op, arguments):
    """What the rule must know is no value of the program."""
    notes = inspect.get_annotations(function)
    types = _parameter_types().get(op, {})
    for name, value in arguments.items():
        if isinstance(value, Value) and types.get(name, "Tensor") != "Tensor" and notes.get(name) is not rule.late:
            raise opset.NotInOnnx(f"{name} is known only when the program runs; ONNX wants the number")


def _no_rule(operation):
    if operation["op"].endswith("_") and not operation["results"]:
        return "it changes a tensor of the model, and models of ONNX have no state; export it in evaluation mode"
    return (
        "no rule says what it is in ONNX; compute it outside of the model, or say it by a rule of your own: "
        f"export(..., rules={{'{operation['op']}': function}})"
    )


@functools.cache
def _parameter_types():
    return {d["name"]: {p["name"]: p["type"] for p in d["params"]} for d in _C.op_registry()}
