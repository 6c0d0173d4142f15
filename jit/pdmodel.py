"""What ops with regions are in PaddlePaddle's format. The language: python/proa/jit/reference/rule.py."""

from proa.jit.reference.graph import current
from proa.jit.reference.rule import STEP_SCOPES, blank, block, cast, op, regions, results, variable


def _assign(value, into):
    op("assign", {"X": value}, into=into)


def pdmodel_cond(predicate):
    truth = _truth(predicate)
    ways = [(truth, regions()[0]), (op("logical_not", {"X": truth}, dtype="bool"), regions()[1])]
    made = []
    for condition, region in ways:
        outs = [variable(r) for r in results()]
        with block() as body:
            for value, out in zip(region([]), outs, strict=True):
                _assign(value, out)
        scope = blank("step_scope", STEP_SCOPES)
        _block_op("conditional_block", "Input", outs, {"Scope": [scope]}, body, Cond=condition)
        made.append(outs)
    mask = cast(truth, "int32")
    chosen = [
        op("select_input", {"X": [otherwise, then], "Mask": mask}, dtype=then.dtype, shape=then.shape)
        for then, otherwise in zip(*made, strict=True)
    ]
    return chosen


def _truth(x):
    return cast(x, "bool")


def _block_op(kind, slot, outs, more, body, **inputs):
    """An op with a block. It names in `slot` what the block reads of the blocks around it, so that it lives until then."""
    graph = current()
    inputs = {name: [v.name] for name, v in inputs.items()}
    given = {slot: sorted({*graph.reads(body), *(v.name for v in outs if kind == "while")})}
    attributes = {"sub_block": body, "is_test": not graph.trains}  # in training each turn is kept
    attributes |= {"is_scalar_condition": True} if kind == "conditional_block" else {}
    graph.op(kind, {**given, **inputs}, {"Out": [v.name for v in outs], **more}, attributes)


def pdmodel_while(vars):
    condition, body = regions()
    carried = [variable(v) for v in vars]
    for value, into in zip(vars, carried, strict=True):
        _assign(value, into)
    first = _truth(condition(carried)[0])
    going_on = variable(first, "condition")
    _assign(first, going_on)
    with block() as inside:
        following = [op("assign", {"X": v}) for v in body(carried)]  # of which none reads what another writes
        for value, into in zip(following, carried, strict=True):
            _assign(value, into)
        _assign(_truth(condition(carried)[0]), going_on)
    scopes = blank("step_scopes", STEP_SCOPES)
    _block_op("while", "X", [*carried, going_on], {"StepScopes": [scopes]}, inside, Condition=going_on)
    return carried


def pdmodel_detach(x):
    return op("assign", {"X": x})
