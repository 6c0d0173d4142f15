"""From a program to one of PaddlePaddle: each operation by the rule of its op."""

import functools

import numpy as np

from proa import _C
from proa.jit.exporter import Exporter, family_rules, fixed_ops
from proa.jit.reference import inverse
from proa.jit.reference.graph import NotInReference, Value


@functools.cache
def rules():
    """The rules of ops that no line of reference.rules read backwards says; `ops/<family>/pdmodel.py`."""
    from proa._generated import pdmodel as families

    return family_rules(families, "pdmodel_")


class Converter(Exporter):
    """One program.

    Args:
        program: a _C.Program, which is left as it is.
        outputs (list): its tensors that the model gives.
        graph (Graph): empty.
        trainable (set): names of parameters that are trained.
        for_test (bool): the program as it runs in a test.
    """

    def __init__(self, program, outputs, graph, trainable=(), for_test=False):
        super().__init__(program, outputs, graph, Value, NotInReference, for_test)
        self._trainable = set(trainable)

    def run(self, input_names):
        """Fills the graph; `problems` has what it cannot hold, `left_out` what it does without."""
        numbers = {info["name"]: n for n, info in enumerate(self.info) if info["kind"] == "input"}
        with self.graph.building():
            feed = self.graph.special("feed", 9, persistable=True)
            for column, name in enumerate(input_names):
                info = self.info[numbers[name]]
                value = self.graph.variable(name, info["dtype"].name, tuple(info["shape"]), need_check_feed=True)
                self.graph.op("feed", {"X": [feed]}, {"Out": [value.name]}, {"col": column})
                self.values[numbers[name]] = value
            self.convert(self.block)
            fetch = self.graph.special("fetch", 10, persistable=True)
            for column, output in enumerate(self.outputs):
                name = self._own(self.value_of(output)).name
                self.graph.op("fetch", {"X": [name]}, {"Out": [fetch]}, {"col": column})

    def _own(self, value):
        """The value as a variable that is nothing else: no input, parameter or other output."""
        out = self.graph.variable("output", value.dtype, value.shape)
        self.graph.op("assign", {"X": [value.name]}, {"Out": [out.name]}, {})
        return out

    def held(self, tensor, name):
        return self.graph.parameter(name, tensor.dtype.name, _elements(tensor), name in self._trainable)

    def placed(self, value, number):
        info = self.info[number]
        return self.graph.describe(value, info["dtype"].name, tuple(info["shape"]))

    def unknown(self, number):
        return self.graph.variable("unknown", self.described(number).dtype)

    def made(self, operation, numbers):
        name, arguments, rule = operation["op"], self.arguments(operation), rules().get(operation["op"])
        found = self.run_rule(
            lambda: rule(**arguments) if rule is not None else inverse.made(name, arguments), operation, numbers
        )
        if found is None and not operation["values"] and not operation["regions"] and name in fixed_ops():
            return self.computed(operation)
        if found is None:
            raise NotInReference(_no_rule(operation))
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        self.check_used(found, numbers, "the format")
        return found


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
