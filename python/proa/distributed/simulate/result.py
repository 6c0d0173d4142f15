"""Result: what a simulated step takes, and where its time and memory go."""

import json
from typing import NamedTuple

from proa.distributed.simulate.memory import KINDS

__all__ = ["RankResult", "Result"]


class RankResult(NamedTuple):
    """One rank, which may stand for others of its stage.

    Attributes:
        rank, stage (int): which.
        busy (float): seconds in which it computes.
        communicates (float): seconds in which its exchanges and messages are under way, beside computing or not.
        idle (float): seconds of the step in which it does not compute.
        memory (dict): bytes by "parameters", "gradients", "states" and "activations".
    """

    rank: int
    stage: int
    busy: float
    communicates: float
    idle: float
    memory: dict

    @property
    def peak(self):
        """Bytes at most."""
        return sum(self.memory.values())


def _union(spans):
    """The length of what some spans cover together."""
    total, end = 0.0, float("-inf")
    for a, b in sorted(spans):
        total += max(b - max(a, end), 0.0)
        end = max(end, b)
    return total


def _span(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.4g} {unit}"


class Result:
    """A simulated step.

    Attributes:
        seconds (float): of the step.
        bubble (float): the share of the time from the first forward to the last backward in which stages wait, mean of all.
        ranks (list[RankResult]): those that were simulated: all, or one of each stage.
        represented (int): ranks of the job.
        events (int): of the simulation.
        tasks (list[Task]): all of them, with beginning and end.
    """

    def __init__(self, engine, plan, memory, topology, strategy):
        self.tasks, self.events, self.represented, self.strategy = engine.tasks, engine.events, topology.ranks, strategy
        self.seconds = max((task.end for task in self.tasks), default=0.0)
        spans = {rank: ([], [], []) for rank in sorted(plan.made)}
        until = max(task.end for task in plan.backward_ends.values())
        for task in self.tasks:
            if task.kind != "wait":
                computes, exchanges, passes = spans[task.rank]
                (computes if task.kind == "compute" else exchanges).append((task.start, task.end))
                if task.kind == "compute" and task.start < until:
                    passes.append((task.start, min(task.end, until)))
        self.ranks = []
        for rank, (computes, exchanges, _) in spans.items():
            busy, stage = _union(computes), strategy.place(rank).pp
            self.ranks.append(RankResult(rank, stage, busy, _union(exchanges), self.seconds - busy, memory[stage]))
        shares = [_union(passes) / until for *_, passes in spans.values()] if until > 0 else [1.0]
        self.bubble = 1.0 - sum(shares) / len(shares)

    @property
    def peak(self):
        """Bytes of the rank that holds most."""
        return max(rank.peak for rank in self.ranks)

    def trace(self):
        """Events in Chrome's trace format, a row for each stream of each simulated rank, times in microseconds."""
        events = []
        for rank in self.ranks:
            name = {"name": f"rank {rank.rank}, stage {rank.stage}"}
            events.append({"ph": "M", "name": "process_name", "pid": rank.rank, "args": name})
        for task in self.tasks:
            if task.kind != "wait":
                events.append({
                    "ph": "X", "name": task.name, "cat": task.kind, "pid": task.rank, "tid": task.stream,
                    "ts": task.start * 1e6, "dur": (task.end - task.start) * 1e6,
                })  # fmt: skip
        return events

    def save_trace(self, path):
        """Writes `trace()` to a file for chrome://tracing or Perfetto."""
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"traceEvents": self.trace()}, stream)

    def __repr__(self):
        lines = [
            f"{self.represented} ranks, {self.strategy}: {_span(self.seconds)} a step, bubble {100 * self.bubble:.1f} %, "
            f"at most {self.peak / 2**20:.4g} MiB",
            f"{'rank':>6} {'stage':>5} {'busy':>10} {'exchange':>10} {'idle':>10} "
            + " ".join(f"{kind + ' MiB':>15}" for kind in KINDS),
        ]
        shown = self.ranks if len(self.ranks) <= 16 else self.ranks[:15]
        for one in shown:
            lines.append(
                f"{one.rank:>6} {one.stage:>5} {_span(one.busy):>10} {_span(one.communicates):>10} {_span(one.idle):>10} "
                + " ".join(f"{one.memory[kind] / 2**20:>15.4g}" for kind in KINDS)
            )
        if len(shown) < len(self.ranks):
            lines.append(f"... and {len(self.ranks) - len(shown)} more")
        return "\n".join(lines)
