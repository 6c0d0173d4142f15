"""Gradients of a program in PaddlePaddle's format: each operation has an operation `<type>_grad`, as that framework makes them.

It takes what the operation took and made and the gradients of what it made, and gives those of what it took.
"""

from proa.jit.reference import inverse, wire
from proa.jit.reference.graph import NotInReference
from proa.jit.reference.wire import CODES

FORWARD, BACKWARD, OPTIMIZE, LOSS = 0, 1, 2, 256
_NONE = "@EMPTY@"


def _same(kind, attributes=lambda op: {}):
    """An op whose gradient is an op on the gradient alone."""
    return lambda graph, op, grads, outs: graph.op(
        kind, {"X": grads("Out")}, {"Out": [outs("X")[0]]}, attributes(op["attributes"])
    )


def _split(graph, op, grads, outs):
    graph.op("concat", {"X": grads("Out")}, {"Out": outs("X")}, {"axis": op["attributes"]["axis"]})


def _unbind(graph, op, grads, outs):
    graph.op("stack", {"X": grads("Out")}, {"Y": outs("X")}, {"axis": op["attributes"]["axis"]})


# Of ops that have no `<type>_grad`.
_OWN = {
    "assign": _same("assign"),
    "cast": _same("cast", lambda a: {"in_dtype": a["out_dtype"], "out_dtype": a["in_dtype"]}),
    "flip": _same("flip", lambda a: {"axis": a["axis"]}),
    "scale": _same("scale", lambda a: {"scale": a["scale"], "bias": 0.0, "bias_after_scale": True}),
    "sign": _same("scale", lambda a: {"scale": 0.0, "bias": 0.0, "bias_after_scale": True}),
    "split": _split,
    "unbind": _unbind,
}

# Results whose gradients an op wants even where nobody asks for them.
_WANTED = {"rnn": ("State",)}


class Gradients:
    """The gradients of one loss.

    Args:
        graph (Graph): the operations so far are those that they are asked of.
        loss (Value): a number.
        wanted (list[Value]): whose gradients.
        still (set): names of variables that lead no gradients on.
    """

    def __init__(self, graph, loss, wanted, still):
        self._graph, self._loss, self._wanted = graph, loss, wanted
        self._forward = list(enumerate(graph.blocks[0]["ops"]))
        self._parts = {}  # by variable: (operation, slot, place) of each operation that gives a part of its gradient
        self._needed = {v.name for v in wanted}
        for _, op in self._forward:
            if op["attributes"].get("op_role", FORWARD) in (FORWARD, LOSS) and not op["type"] == "fill_constant":
                if any(n in self._needed for names in op["inputs"].values() for n in names):
                    made = [n for names in op["outputs"].values() for n in names if self._floating(n)]
                    self._needed.update(n for n in made if n not in still)

    def _floating(self, name):
        return "float" in self._graph.declared(name).get("dtype", "")

    def values(self):
        """A variable for the gradient of each of `wanted`, None where the loss does not depend on it."""
        if self._loss.name not in self._needed:
            return [None for _ in self._wanted]
        graph = self._graph
        with graph.role(BACKWARD | LOSS):
            first = self._variable(self._loss.name)
            attributes = {
                "shape": [max(d, 1) for d in self._loss.shape],
                "value": 1.0,
                "dtype": CODES[self._loss.dtype],
            }
            graph.op("fill_constant", {}, {"Out": [first]}, attributes)
        settled = {self._loss.name: first}
        with graph.role(BACKWARD):
            for _, op in reversed(self._forward):
                made = [n for names in op["outputs"].values() for n in names]
                known = [n for n in made if self._settle(n, settled)]
                if known and any(n in self._needed for names in op["inputs"].values() for n in names):
                    self._differentiate(op, settled)
            found = [self._settle(v.name, settled) for v in self._wanted]
        return [None if name is None else graph.value(name) for name in found]

    def _variable(self, name):
        declared = self._graph.declared(name)
        shape = [None if d < 0 else d for d in declared["dims"]]
        made = self._graph.variable(f"{name}@GRAD", declared["dtype"], [-1 if d is None else d for d in shape])
        return made.name

    def _settle(self, name, settled):
        """The gradient of a variable when all parts of it are there; None if there are none."""
        parts = self._parts.pop(name, None)
        if parts is None:
            return settled.get(name)
        whole = self._variable(name)
        if len(parts) == 1:
            op, slot, place = parts[0]
            op["outputs"][slot][place] = whole
        else:
            names = []
            for number, (op, slot, place) in enumerate(parts):
                declared = self._graph.declared(name)
                part = self._graph.variable(f"{name}@GRAD@RENAME@block0@{number}", declared["dtype"], declared["dims"])
                op["outputs"][slot][place] = part.name
                names.append(part.name)
            self._graph.op("sum", {"X": names}, {"Out": [whole]}, {})
        settled[name] = whole
        return whole

    def _differentiate(self, op, settled):
        if any(isinstance(v, wire.Block) for v in op["attributes"].values()):
            raise NotInReference("gradients through a condition or a loop cannot be written")

        def grads(slot):
            names = op["outputs"].get(slot, [])
            if not any(n in settled for n in names):
                return None
            return [settled.get(n) or self._zeros(n, settled) for n in names]

        outs, noted = {}, []
        for slot, names in op["inputs"].items():
            if any(n in self._needed and self._floating(n) for n in names):
                outs[slot] = [_NONE] * len(names)
                noted += [(slot, i, n) for i, n in enumerate(names) if n in self._needed and self._floating(n)]
        own = _OWN.get(op["type"])
        before = len(self._graph.blocks[0]["ops"])
        if own is not None:
            own(self._graph, op, grads, lambda slot: outs[slot])
        else:
            given = {
                **op["inputs"],
                **{slot: names for slot, names in op["outputs"].items() if slot not in op["inputs"]},
            }
            given |= {f"{slot}@GRAD": g for slot in op["outputs"] if (g := grads(slot)) is not None}
            for slot in _WANTED.get(op["type"], ()):
                given[f"{slot}@GRAD"] = [settled.get(n) or self._zeros(n, settled) for n in op["outputs"][slot]]
            attributes = {k: v for k, v in op["attributes"].items() if not k.startswith("op_role")}
            attributes = {**inverse.defaults().get(op["type"], {}), **attributes}
            results = {f"{slot}@GRAD": names for slot, names in outs.items()}
            self._graph.op(f"{op['type']}_grad", given, results, attributes)
        made = self._graph.blocks[0]["ops"][-1]
        assert len(self._graph.blocks[0]["ops"]) > before
        for slot, i, name in noted:
            # One that has a form of its own gives its only result.
            where = f"{slot}@GRAD" if own is None else next(iter(made["outputs"]))
            self._parts.setdefault(name, []).append((made, where, i if own is None else 0))

    def _zeros(self, name, settled):
        zeros = self._variable(name)
        self._graph.op("fill_any_like", {"X": [name]}, {"Out": [zeros]}, {"value": 0.0, "dtype": -1})
        settled[name] = zeros
        return zeros
