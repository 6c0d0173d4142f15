"""How long a training step would take on other machines: a discrete-event simulator of distributed training.

A recorded program of one process (`read`, `record`), a `Topology`, a `Strategy` and a `CostModel` go in; `predict` gives the time
of a step, the bubbles of its pipeline, what each rank does when, and the memory that it holds.

    work      what the calls of forward, backward and update compute and move, by the shapes of the program
    costs     what calls cost on this machine, fitted to measured ones (`measure_step`, `fit`)
    topology  ranks on nodes, the cores that they share, and links (`measure_links`, `fit_link`, `fit_to_steps`)
    dividing  tensor parallel: which calls a rank has a part of, and what is exchanged
    parts     pipelines: which calls a stage has
    planning  the tasks of a step, and what they wait for
    events    runs them

Not simulated: experts (MoE), offload, time between steps (data, checkpoints), the heat of machines.
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.simulate.calibrating": "LinkSample fit_link fit_to_steps measure_links measure_step",
    "proa.distributed.simulate.costs": "CostModel OpSample fit",
    "proa.distributed.simulate.dividing": "divide",
    "proa.distributed.simulate.predicting": "predict",
    "proa.distributed.simulate.reading": "read record",
    "proa.distributed.simulate.result": "Result",
    "proa.distributed.simulate.strategy": "Strategy",
    "proa.distributed.simulate.topology": "Link Sharing Topology",
    "proa.distributed.simulate.work": "Work",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(
    __name__,
    _HOMES,
    (
        "calibrating",
        "collectives",
        "costs",
        "dividing",
        "events",
        "memory",
        "parts",
        "planning",
        "predicting",
        "reading",
        "result",
        "strategy",
        "topology",
        "work",
    ),
)
