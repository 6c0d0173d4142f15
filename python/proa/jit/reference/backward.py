"""Gradients of a program in PaddlePaddle's format: each operation has an operation `<type>_grad`, as that framework makes them.

It takes what the operation took and made and the gradients of what it made, and gives those of what it took.
"""

from proa.jit.reference import inverse
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


def _select(graph, op, grads, outs):
    """Of the two values that were chosen from, the one that was not may need no gradient; it gets one all the same."""
    declared = graph.declared(op["outputs"]["Out"][0])
    spare = lambda: graph.variable("unused", declared["dtype"], declared["dims"]).name
    names = [_NONE if i in outs.wanted("X") else spare() for i in range(2)]
    graph.op("select_output", {"X": grads("Out"), "Mask": op["inputs"]["Mask"]}, {"Out": names}, {})


# Of ops that have no `<type>_grad`.
_OWN = {
    "assign": _same("assign"),
    "cast": _same("cast", lambda a: {"in_dtype": a["out_dtype"], "out_dtype": a["in_dtype"]}),
    "flip": _same("flip", lambda a: {"axis": a["axis"]}),
    "select_input": _select,
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
        self._block = _Block(graph, graph.blocks[0]["ops"], {v.name for v in wanted}, still)

    def values(self):
        """A variable for the gradient of each of `wanted`, None where the loss does not depend on it."""
        if self._loss.name not in self._block.needed:
            return [None for _ in self._wanted]
        graph = self._graph
        with graph.role(BACKWARD | LOSS):
            first = self._block.variable(self._loss.name)
            attributes = {
                "shape": [max(d, 1) for d in self._loss.shape],
                "value": 1.0,
                "dtype": CODES[self._loss.dtype],
            }
            graph.op("fill_constant", {}, {"Out": [first]}, attributes)
        with graph.role(BACKWARD):
            found = self._block.run({self._loss.name: first}, [v.name for v in self._wanted])
        return [None if name is None else graph.value(name) for name in found]


class _Block:
    """The gradients of the operations of a block, to which the block that is built is added.

    Args:
        graph (Graph): of both.
        forward (list): the operations.
        needed (set): names of variables whose gradients are wanted; `needed` has those that depend on them, too.
        still (set): as above.
        inside (bool): the block is that of a condition or a loop: gradients of what comes from around it have their names
            from it, `<name>@GRAD`, for by these they are found.
    """

    def __init__(self, graph, forward, needed, still, inside=False):
        self._graph, self._forward, self._still, self._inside = graph, list(forward), still, inside
        self._parts = {}  # by variable: (operation, slot, place) of each operation that gives a part of its gradient
        self._carried = {}  # by variable of a loop: the variable that its gradient is in, from turn to turn
        self.needed = set(needed)
        for op in self._forward:
            if op["attributes"].get("op_role", FORWARD) in (FORWARD, LOSS) and not op["type"] == "fill_constant":
                if any(n in self.needed for names in op["inputs"].values() for n in names):
                    made = [n for names in op["outputs"].values() for n in names if self._floating(n)]
                    self.needed.update(n for n in made if n not in still)

    def _floating(self, name):
        return "float" in self._graph.declared(name).get("dtype", "")

    def run(self, settled, wanted, carried=()):
        """The names of the gradients of `wanted`, None where there is none.

        Args:
            settled (dict): the gradients, by variable, of what the block made.
            wanted (list[str]): variables.
            carried (iterable[str]): those of a loop, whose gradients take the place of what `settled` says of them.
        """
        settled = dict(settled)
        self._carried = {name: settled[name] for name in carried}
        for op in reversed(self._forward):
            made = [n for names in op["outputs"].values() for n in names]
            known = [n for n in made if self._settle(n, settled)]
            if known and any(n in self.needed for names in op["inputs"].values() for n in names):
                self._differentiate(op, settled)
        for name, into in self._carried.items():
            if self._parts.get(name) is None:  # no turn reads what the one before gave
                self._graph.op("fill_any_like", {"X": [name]}, {"Out": [into]}, {"value": 0.0, "dtype": -1})
        return [self._settle(name, settled) for name in wanted]

    def variable(self, name):
        """Declares the gradient of a variable."""
        declared = self._graph.declared(name)
        shape = [None if d < 0 else d for d in declared["dims"]]
        dims = [-1 if d is None else d for d in shape]
        if self._inside:
            return self._graph.local(f"{name}@GRAD", declared["dtype"], dims)
        return self._graph.variable(f"{name}@GRAD", declared["dtype"], dims).name

    def _settle(self, name, settled):
        """The gradient of a variable when all parts of it are there; None if there are none."""
        parts = self._parts.pop(name, None)
        if parts is None:
            return settled.get(name)
        whole = self._carried.get(name) or self.variable(name)
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
        if op["type"] in _SLOTS:
            return self._through(op, settled)

        def grads(slot):
            names = op["outputs"].get(slot, [])
            if not any(n in settled for n in names):
                return None
            return [settled.get(n) or self._zeros(n, settled) for n in names]

        outs, noted = _Outs(), []
        for slot, names in op["inputs"].items():
            if any(n in self.needed and self._floating(n) for n in names):
                outs[slot] = [_NONE] * len(names)
                noted += [(slot, i, n) for i, n in enumerate(names) if n in self.needed and self._floating(n)]
        outs.noted = noted
        own = _OWN.get(op["type"])
        before = len(self._graph.operations)
        if own is not None:
            own(self._graph, op, grads, outs)
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
        made = self._graph.operations[-1]
        assert len(self._graph.operations) > before
        for slot, i, name in noted:
            # One that has a form of its own gives its only result.
            where = f"{slot}@GRAD" if own is None else next(iter(made["outputs"]))
            self._parts.setdefault(name, []).append((made, where, i))

    def _through(self, op, settled):
        """The gradients of a condition or a loop: a block of them, which the format runs where it ran the block, backwards."""
        slot, scopes = _SLOTS[op["type"]]
        loop, taken = op["type"] == "while", op["inputs"][slot]
        made = [n for n in op["outputs"]["Out"] if n in self.needed and self._floating(n)]
        if loop:
            for name in made:
                if not self._settle(name, settled):
                    self._zeros(name, settled)
                if settled[name] != f"{name}@GRAD":
                    raise NotInReference("gradients of two losses through one loop cannot be written")
        known = [n for n in made if n in settled]
        wanted = [n for n in taken if n in self.needed and self._floating(n)]
        inner = op["attributes"]["sub_block"]
        with self._graph.block(forward=inner) as body:
            block = _Block(self._graph, self._graph.blocks[inner]["ops"], self.needed, self._still, inside=True)
            carried = made if loop else ()
            found = dict(zip(wanted, block.run({n: settled[n] for n in known}, wanted, carried), strict=True))
        outs = [settled[n] if loop and n in made else _NONE for n in taken]
        inputs = {slot: taken, "Out": op["outputs"]["Out"], "Out@GRAD": [settled[n] for n in known]}
        attributes = {"sub_block": body}
        if loop:
            attributes |= {"original_output_grad": inputs["Out@GRAD"], "is_test": False}
        else:
            inputs["Cond"] = op["inputs"]["Cond"]
            attributes["is_scalar_condition"] = True
        self._graph.op(
            f"{op['type']}_grad", {**inputs, scopes: op["outputs"][scopes]}, {f"{slot}@GRAD": outs}, attributes
        )
        given = self._graph.operations[-1]
        for place, name in enumerate(taken):
            if found.get(name) is not None and outs[place] is _NONE:
                self._parts.setdefault(name, []).append((given, f"{slot}@GRAD", place))

    def _zeros(self, name, settled):
        zeros = self.variable(name)
        self._graph.op("fill_any_like", {"X": [name]}, {"Out": [zeros]}, {"value": 0.0, "dtype": -1})
        settled[name] = zeros
        return zeros


# Of ops with a block: where they name what it reads of those around it, and what it leaves behind.
_SLOTS = {"conditional_block": ("Input", "Scope"), "while": ("X", "StepScopes")}


class _Outs(dict):
    """By slot, names for the gradients of what an operation took, which come later."""

    noted = ()

    def __call__(self, slot):
        return self[slot]

    def wanted(self, slot):
        """The places of a slot that get one."""
        return [i for s, i, _ in self.noted if s == slot]
