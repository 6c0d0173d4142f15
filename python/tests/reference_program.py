"""Programs in the reference's format, built op by op, and what an op of it gives here."""

import proa
from proa import _C, static
from proa.jit.reference import wire


class Program:
    """The bytes of a program, built op by op."""

    def __init__(self):
        self.blocks = [{"parent": -1, "vars": [], "ops": []}]
        self.at = 0

    def block(self):
        self.blocks.append({"parent": self.at, "vars": [], "ops": []})
        return len(self.blocks) - 1

    def var(self, name, dims=(), dtype="float32", **more):
        self.blocks[self.at]["vars"].append({"name": name, "dtype": dtype, "dims": list(dims), **more})
        return name

    def fed(self, name, dims, dtype="float32", **more):
        return self.var(name, dims, dtype, need_check_feed=True, **more)

    def parameter(self, name, dims):
        return self.var(name, dims, persistable=True, parameter=True, stop_gradient=False)

    def op(self, kind, inputs, outputs, **attributes):
        named = lambda slots: {k: [v] if isinstance(v, str) else v for k, v in slots.items()}
        self.blocks[self.at]["ops"].append(
            {"type": kind, "inputs": named(inputs), "outputs": named(outputs), "attributes": attributes}
        )

    def grads(self, kind, taken, made, wanted, **attributes):
        """The op of the gradients of one; `wanted`: names whose gradients it gives."""
        named = lambda slots: {k: [v] if isinstance(v, str) else v for k, v in slots.items()}
        taken, made = named(taken), named(made)
        given = {f"{k}@GRAD": [f"{n}@GRAD" for n in names] for k, names in made.items()}
        outs = {f"{k}@GRAD": [f"{n}@GRAD" if n in wanted else "@EMPTY@" for n in names] for k, names in taken.items()}
        for names in outs.values():
            for name in names:
                self.var(name)
        self.op(f"{kind}_grad", {**taken, **made, **given}, outs, **attributes)

    def start(self, name):
        self.op("fill_constant", {}, {"Out": self.var(f"{name}@GRAD", [1])}, shape=[1], value=1.0, dtype=5)

    def sgd(self, *parameters, rate=0.1):
        self.op("fill_constant", {}, {"Out": self.var("rate", [1])}, shape=[1], value=rate, dtype=5)
        for p in parameters:
            self.op("sgd", {"Param": p, "Grad": f"{p}@GRAD", "LearningRate": "rate"}, {"ParamOut": p})

    def read(self, state):
        program = static.deserialize_program(wire.program(self.blocks, 1_008_000, {}))
        static.set_program_state(program, {name: value.copy() for name, value in state.items()})
        return program


def _program(kind, inputs, attributes, outputs, fetched, levels, weights):
    """The bytes of a program of one op, and those of its parameters."""
    variables, ops, given = [], [], {}
    for slot, arrays in inputs.items():
        for k, array in enumerate(arrays if isinstance(arrays, list) else [arrays]):
            name = f"{slot.lower()}{k}"
            given.setdefault(slot, []).append(name)
            kept = slot in weights
            dims = list(array.shape) if kept else [-1, *array.shape[1:]]
            variables.append({"name": name, "dtype": array.dtype.name, "dims": dims, "persistable": kept,
                              "need_check_feed": not kept, "lod_level": levels.get(slot, 0)})  # fmt: skip
            if not kept:
                ops.append({"type": "feed", "inputs": {"X": ["feed"]}, "outputs": {"Out": [name]},
                            "attributes": {"col": len(ops)}})  # fmt: skip
    variables += [{"name": "feed", "kind": 9, "persistable": True}, {"name": "fetch", "kind": 10, "persistable": True}]
    made = {slot: [f"out_{slot}"] for slot in outputs}
    for slot, (dtype, level) in outputs.items():
        variables.append({"name": f"out_{slot}", "dtype": dtype, "dims": [-1, 1], "lod_level": level})
    ops.append({"type": kind, "inputs": given, "outputs": made, "attributes": attributes})
    for col, slot in enumerate(fetched):
        ops.append({"type": "fetch", "inputs": {"X": [f"out_{slot}"]}, "outputs": {"Out": ["fetch"]},
                    "attributes": {"col": col}})  # fmt: skip
    kept = {f"{slot.lower()}0": inputs[slot] for slot in weights if slot in inputs}
    stream = b"".join(
        wire.tensor_head(array.dtype.name, array.shape) + array.tobytes() for _, array in sorted(kept.items())
    )
    return wire.program([{"parent": -1, "vars": variables, "ops": ops}], 1_008_000, {}), stream


def run(kind, inputs, outputs=("Out",), level=1, attributes=None, lengths=(), levels=None, weights=(), **options):
    """(results, lengths of the sequences in the first one) of an op.

    Args:
        outputs (tuple | dict): slots, or their dtypes by slot. level (int): how many levels of sequences they are said to have.
        lengths (tuple): of the inputs that have sequences. levels (dict): how many levels these have, by slot.
        weights (tuple): slots of parameters.
    """
    kinds = outputs if isinstance(outputs, dict) else dict.fromkeys(outputs, options.get("dtype", "float32"))
    outputs = {slot: (dtype, level) for slot, dtype in kinds.items()}
    levels = {"X": 1, "Input": 1} if levels is None else levels
    fetched = options.get("fetched", list(outputs))
    data = _program(kind, inputs, attributes or {}, outputs, fetched, levels, weights)
    module = _C.parse_program_files(*data)
    fed = [a for slot, arrays in inputs.items() if slot not in weights
           for a in (arrays if isinstance(arrays, list) else [arrays])]  # fmt: skip
    names = module.input_names
    assert len(names) == len(fed) + len(lengths) and all("@LENGTHS" in n for n in names[len(fed) :])
    found = [t.numpy() for t in module.run([proa.to_tensor(a) for a in [*fed, *lengths]])]
    of = [found[i] for i, n in enumerate(module.output_names) if n.startswith("fetch_0@LENGTHS")]
    return found[: len(fetched)], of[0] if len(of) == 1 else of or None
