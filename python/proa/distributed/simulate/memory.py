"""Bytes that a rank of a stage holds at most."""

from proa.distributed.fleet.meta_parallel.pp_utils.schedule import schedule

__all__ = ["KINDS", "held"]

KINDS = ("parameters", "gradients", "states", "activations")


def _activations(parts, strategy, stage):
    """The most that is kept for backward at one time."""
    now = most = 0.0
    for step in schedule(strategy.schedule, strategy.pp, stage, strategy.micro_batches, strategy.chunks):
        part = parts[step.chunk * strategy.pp + stage]
        keeps = min(part.takes, part.kept) if strategy.recompute else part.kept
        if step.kind == "forward":
            now += keeps
            most = max(most, now)
        else:
            most = max(most, now + part.kept - keeps)
            now -= keeps
    return most


def held(work, parts, strategy, stage):
    """What a rank of a stage holds, in bytes.

    With P bytes of parameters of the stage, K P of states and N ranks of sharding: P + P + K P / N in stage 1, P + P / N + K P / N
    in stage 2, (P + P + K P) / N in stage 3.

    Args:
        work (Work): of one rank.
        parts (list[Part]): of all stages.
        strategy (Strategy): how it is divided.
        stage (int): of the pipeline.

    Returns:
        dict: by the names in `KINDS`.
    """
    own = sum(part.parameters for part in parts[stage :: strategy.pp])
    states = work.states * own / work.parameter_bytes if work.parameter_bytes else 0.0
    shards = strategy.sharding
    return {
        "parameters": own / (shards if strategy.stage >= 3 else 1),
        "gradients": own / (shards if strategy.stage >= 2 else 1),
        "states": states / shards,
        "activations": _activations(parts, strategy, stage),
    }
