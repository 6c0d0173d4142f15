"""In which order a stage of a pipeline works, and what share of the time it waits.

A model of `stages * chunks` parts is dealt out: stage s has the parts s, s + stages, s + 2 * stages ... as its chunks
0, 1, 2 ... Micro-batches pass all parts forward, then backward. A schedule is a list for each stage; what a part needs
from its neighbour is waited for.
"""

from typing import NamedTuple

from proa import _C

__all__ = ["MODES", "Step", "bubble", "schedule"]

MODES = ("1F1B", "F-then-B")


class Step(NamedTuple):
    """One piece of work: `kind` is "forward" or "backward", of micro-batch `micro` through chunk `chunk`."""

    kind: str
    micro: int
    chunk: int


def _turns(stages, micro_batches, chunks):
    """(micro, chunk) in the order in which they go forward: as many micro-batches as stages through each chunk in turn."""
    return [
        (first + place, chunk)
        for first in range(0, micro_batches, stages if chunks > 1 else 1)
        for chunk in range(chunks)
        for place in range(stages if chunks > 1 else 1)
    ]


def schedule(mode, stages, stage, micro_batches, chunks=1):
    """The steps of one stage for one batch.

    "F-then-B" goes all forward, then all backward. "1F1B" alternates as soon as the last part has something to go back, so
    that few micro-batches are kept; with several chunks a stage it is the interleaved schedule.

    Args:
        mode (str): "1F1B" or "F-then-B".
        stages, stage (int): how many, and which.
        micro_batches (int): of a batch; with several chunks a multiple of `stages`.
        chunks (int): parts of the model a stage.

    Returns:
        list[Step]

    Raises:
        ValueError: another mode, or micro-batches that do not divide evenly.

    Examples:
        >>> from proa.distributed.fleet.meta_parallel.pp_utils.schedule import schedule
        >>> [step.kind[0] + str(step.micro) for step in schedule("1F1B", stages=2, stage=0, micro_batches=3)]
        ['f0', 'f1', 'b0', 'f2', 'b1', 'b2']
    """
    if mode not in MODES:
        raise _C.located(
            ValueError(f"pipeline_configs['schedule_mode'] must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
        )
    if chunks > 1 and micro_batches % stages:
        raise _C.located(
            ValueError(
                f"pipeline: {chunks} parts a stage need a number of micro-batches (accumulate_steps) that the {stages} "
                f"stages divide evenly, not {micro_batches}"
            )
        )
    turns = _turns(stages, micro_batches, chunks)
    forward = [Step("forward", micro, chunk) for micro, chunk in turns]
    backward = [Step("backward", micro, chunks - 1 - chunk) for micro, chunk in turns]
    if mode == "F-then-B":
        return forward + backward
    early = stages - stage - 1
    if chunks > 1:
        early = 2 * early + (chunks - 1) * stages
    early = min(early, len(forward))
    order = forward[:early]
    for ahead, back in zip(forward[early:], backward):
        order += [ahead, back]
    return order + backward[len(forward) - early :]


def bubble(stages, micro_batches, chunks=1):
    """The share of the time of a batch in which a stage waits: (S - 1) / (C M + S - 1) of S stages, M micro-batches, C chunks.

    Where all parts take the same time and messages take none.

    Examples:
        >>> from proa.distributed.fleet.meta_parallel.pp_utils.schedule import bubble
        >>> bubble(4, 8), bubble(4, 8, chunks=2)
        (0.2727272727272727, 0.15789473684210525)
    """
    return (stages - 1) / (chunks * micro_batches + stages - 1)
