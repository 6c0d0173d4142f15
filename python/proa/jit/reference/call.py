"""Calls of ops of PaddlePaddle by the rules that read its files (`ops/<family>/reference*.rules`): what an op of theirs is here is said once."""

import functools
import json

from proa import _C
from proa.jit.reference import wire
from proa.static.sequences import levels_of, note

_VERSION = 2_003_000


@functools.lru_cache(64)
def _module(kind, inputs, outputs, attributes):
    """A program of one op; `inputs` are (name, slot, dtype, dims, levels of sequences), `outputs` (slot, dtype, levels)."""
    variables, ops, taken = [], [], {}
    for name, slot, dtype, dims, levels in inputs:
        taken.setdefault(slot, []).append(name)
        variables.append(
            {"name": name, "dtype": dtype, "dims": list(dims), "need_check_feed": True, "lod_level": levels}
        )
        ops.append(
            {"type": "feed", "inputs": {"X": ["feed"]}, "outputs": {"Out": [name]}, "attributes": {"col": len(ops)}}
        )
    for slot, dtype, levels in outputs:
        variables.append({"name": f"out_{slot}", "dtype": dtype, "dims": [-1, 1], "lod_level": levels})
    variables += [{"name": "feed", "kind": 9, "persistable": True}, {"name": "fetch", "kind": 10, "persistable": True}]
    made = {slot: [f"out_{slot}"] for slot, *_ in outputs}
    ops.append({"type": kind, "inputs": taken, "outputs": made, "attributes": json.loads(attributes)})
    for col, (slot, *_) in enumerate(outputs):
        ops.append(
            {
                "type": "fetch",
                "inputs": {"X": [f"out_{slot}"]},
                "outputs": {"Out": ["fetch"]},
                "attributes": {"col": col},
            }
        )
    return _C.parse_program_files(wire.program([{"parent": -1, "vars": variables, "ops": ops}], _VERSION, {}), b"")


def _dims(tensor):
    """The sizes of a tensor but the first, which tells images or regions; -1 for what only the run knows."""
    return (-1, *(n if type(n) is int else -1 for n in tensor.shape[1:]))


def reference_op(kind, inputs, outputs, attributes):
    """The results of an op of PaddlePaddle, recorded where a program is.

    Args:
        kind (str): its type, which must have a rule.
        inputs (dict): a Tensor by slot; None is left out.
        outputs (dict): (dtype, how many levels of sequences it has) by slot.
        attributes (dict): those of the op.

    Returns:
        list[Tensor]: one for each of outputs, with their sequences.

    Raises:
        ValueError: what the rule refuses.
    """
    given = {slot: t for slot, t in inputs.items() if t is not None}
    forms = tuple((slot.lower(), slot, t.dtype.name, _dims(t), len(levels_of(t))) for slot, t in given.items())
    module = _module(kind, forms, tuple((slot, *form) for slot, form in outputs.items()), json.dumps(attributes))
    fed = {slot.lower(): t for slot, t in given.items()}
    for slot, t in given.items():
        fed.update((f"{slot.lower()}@LENGTHS{i}", lengths) for i, lengths in enumerate(levels_of(t)))
    results = dict(zip(module.output_names, module.call([fed[name] for name in module.input_names]), strict=True))
    made = list(results.values())[: len(outputs)]
    for k, result in enumerate(made):
        note(result, [t for name, t in results.items() if name.startswith(f"fetch_{k}@LENGTHS")])
    return made
