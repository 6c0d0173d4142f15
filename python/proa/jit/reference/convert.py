"""From a program to one of PaddlePaddle: each operation by the rule of its op."""

import collections
import functools

import numpy as np

from proa import _C
from proa.jit.exporter import Exporter, Problem, family_rules, fixed_ops
from proa.jit.reference import backward, inverse
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
        return self.graph.parameter(name, tensor.dtype.name, elements(tensor), name in self._trainable)

    def placed(self, value, number):
        info = self.info[number]
        return self.graph.describe(value, info["dtype"].name, tuple(info["shape"]))

    def unknown(self, number):
        return self.graph.variable("unknown", self.described(number).dtype)

    def made(self, operation, numbers):
        name, arguments, rule = operation["op"], self.arguments(operation), rules().get(operation["op"])
        if name.endswith("_") and not numbers and not self.graph.trains:
            raise NotInReference(_no_rule(operation))
        found = self.run_rule(
            lambda: rule(**arguments) if rule is not None else inverse.made(name, arguments), operation, numbers
        )
        if found is None and numbers and not operation["values"] and not operation["regions"] and name in fixed_ops():
            return self.computed(operation)
        if found is None:
            raise NotInReference(_no_rule(operation))
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        self.check_used(found, numbers, "the format")
        return found


def elements(tensor):
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


class WholeConverter(Converter):
    """A program as it was built: all that it computes, its gradients as the format makes them (backward.py), and the steps
    of optimizers.

    Args:
        program: a _C.Program, which is left as it is; its captured tensors that are kept have names.
        sections (list): (first and end numbers of operations, number of the loss, [(number of a parameter, number of its
            gradient)]) of each time that gradients were added.
        graph (Graph): empty.
        parameters (dict): by name, whether it is trained.
    """

    passes = ()  # the file has the operations as they are

    def __init__(self, program, sections, graph, parameters):
        super().__init__(program, [], graph)
        self._parameters = parameters
        graph.trains = True
        self._sections, self._still, self._gradients, self._named = sections, set(), set(), set()
        operations = self.block["operations"]
        inside = {n for start, end, *_ in sections for n in range(start, end)}
        self.used = {n for *_, loss, pairs in sections for n in (loss, *(number for number, _ in pairs))}
        kept = []
        for number in reversed(range(len(operations))):
            if number not in inside and not self._is_idle(operations[number]):
                kept.append(number)
                self._note_uses({"operations": [operations[number]]})
        self._kept = sorted(kept)

    def _is_idle(self, operation):
        """Whether it only says sizes, which nothing reads: recorded for gradients."""
        results = [n for ids in operation["results"] for n in ids]
        return operation["op"] in ("shape", "detach") and not any(
            n in self.used or self.info[n]["name"] for n in results
        )

    def run(self, input_names=None):
        operations, at = self.block["operations"], 0
        with self.graph.building():
            for number, info in enumerate(self.info):
                if info["kind"] == "input":
                    self.values[number] = self.graph.variable(
                        info["name"], info["dtype"].name, tuple(info["shape"]), need_check_feed=True
                    )
            for start, end, loss, pairs in [*self._sections, (len(operations), len(operations), None, ())]:
                for number in self._kept:
                    if at <= number < start:
                        with self.graph.role(self._role(operations[number])):
                            self.convert({"operations": [operations[number]]})
                self._name_values()
                self._differentiate(loss, pairs, operations[start - 1])
                at = end

    def _role(self, operation):
        """That of a step of an optimizer for what works on gradients."""
        read = {n for ids in operation["values"].values() for n in (ids if isinstance(ids, list) else [ids])}
        if not read & self._gradients:
            return backward.FORWARD
        self._gradients.update(n for ids in operation["results"] for n in ids)
        return backward.OPTIMIZE

    def _differentiate(self, loss, pairs, last):
        self._gradients.update(number for _, number in pairs)
        if loss is None or self.problems:
            return
        try:
            gradients = backward.Gradients(self.graph, self.get(loss), [self.get(n) for n, _ in pairs], self._still)
            for (_, number), value in zip(pairs, gradients.values(), strict=True):
                if value is not None:
                    self.values[number] = value
        except NotInReference as error:
            self.problems.append(Problem("append_backward", str(error), "", last["where"]))

    def _name_values(self):
        """Variables get the names that the program gives its values; where it has none of its own, a copy gets it."""
        uses = collections.Counter(value.name for value in self.values.values() if value is not None)
        for number, info in enumerate(self.info):
            value = self.values.get(number)
            if info["kind"] != "result" or not info["name"] or value is None or number in self._named:
                continue
            self._named.add(number)
            if uses[value.name] == 1 and self.graph.is_made(value.name) and not value.name.endswith("@GRAD"):
                value.name = self.graph.rename(value.name, info["name"])
            elif value.name != info["name"]:
                out = self.graph.variable(info["name"], value.dtype, value.shape)
                self.graph.op("assign", {"X": [value.name]}, {"Out": [out.name]}, {})

    def held(self, tensor, name):
        if not name:
            return self.graph.constant(elements(tensor), tensor.dtype.name)
        return self.graph.variable(
            name, tensor.dtype.name, tuple(tensor.shape), outermost=True, persistable=True,
            parameter=name in self._parameters, stop_gradient=not self._parameters.get(name, False),
        )  # fmt: skip

    def made(self, operation, numbers):
        found = super().made(operation, numbers)
        if operation["op"] == "detach":
            self._still.update(value.name for value in found)
        return found
