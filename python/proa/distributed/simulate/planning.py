"""Plan: the tasks of a training step, rank by rank, and what they wait for."""

from proa.distributed.fleet.meta_parallel.pp_utils.schedule import schedule
from proa.distributed.simulate.collectives import spans_of

__all__ = ["Plan"]


class Plan:
    """Puts the tasks of ranks into an engine.

    Args:
        engine (Engine): takes the tasks.
        work (Work): of one rank.
        parts (list[Part]): of all stages.
        strategy (Strategy), topology (Topology), costs (CostModel): what they are.
        ranks (sequence[int]): whose tasks are made: all, or one of each stage.
    """

    def __init__(self, engine, work, parts, strategy, topology, costs, ranks):
        self.engine, self.work, self.parts, self.strategy = engine, work, parts, strategy
        self.topology, self.costs = topology, costs
        self.made = frozenset(ranks)
        self._counts = {}  # of collectives, by rank and axis: those of one number belong together
        self._wait = {}  # for what the next computing of a rank waits
        self._seconds, self._groups, self._places = {}, {}, {}
        self.backward_ends = {}  # of each rank
        self.updates = [sum(work.seconds(costs, "update"))] * strategy.pp
        for stage in range(strategy.pp):
            own = sum(part.parameters for part in parts[stage :: strategy.pp])
            self.updates[stage] *= own / work.parameter_bytes / strategy.sharding if work.parameter_bytes else 0.0
        for rank in ranks:
            self._step(rank)

    # Pieces of work ---------------------------------------------------------------

    def _compute(self, rank, name, seconds, needs=()):
        waits = self._wait.pop(rank, ())
        return self.engine.add(name, "compute", rank, "compute", seconds, self.topology.threads, (*waits, *needs))

    def _group(self, rank, axis):
        """The ranks along an axis, and how many of them have tasks."""
        place = self.strategy.place(rank)._replace(**{axis: 0})
        if (axis, place) not in self._groups:
            group = tuple(self.strategy.group(rank, axis))
            self._groups[axis, place] = group, sum(one in self.made for one in group)
        return self._groups[axis, place]

    def _alike(self, axis, group):
        """Groups that one stands for: itself, or of those that do the same one of each kind of place."""
        if len(self.made) == self.topology.ranks:
            return [group]
        key = (axis, group[0], group[-1])
        if key not in self._places:
            self._places[key] = _places(self.strategy, self.topology, axis, group)
        return self._places[key]

    def _cost(self, kind, axis, group, size, calls=1):
        """(seconds of waiting and of moving, cores) of a collective, of the slowest of those that one stands for."""
        key = (kind, axis, size, calls, group[0], group[-1])
        if key not in self._seconds:
            algorithm = self.strategy.algorithm
            self._seconds[key] = max(
                (
                    (spans_of(kind, one, size, self.topology, algorithm, calls), self.topology.link(one)[0].cores)
                    for one in self._alike(axis, group)
                ),
                key=lambda found: sum(found[0]),
            )
        return self._seconds[key]

    def _exchange(self, rank, name, stream, seconds, cores, needs):
        """A message or collective; who waits for one to arrive needs no core."""
        waits, moves = seconds
        if cores and waits and self.topology.shares_cores:
            needs = [self.engine.add(name, "communicate", rank, stream, waits, 0.0, needs)]
            return self.engine.add(name, "communicate", rank, stream, moves, cores, needs)
        return self.engine.add(name, "communicate", rank, stream, waits + moves, cores, needs)

    def _collective(self, rank, axis, kind, size, needs, calls=1):
        """The task after which this rank has the result; None if there is nobody to exchange with."""
        group, together = self._group(rank, axis)
        if len(group) == 1:
            return None
        seconds, cores = self._cost(kind, axis, group, size, calls)
        number = self._counts[rank, axis] = self._counts.get((rank, axis), 0) + 1
        if together == 1:
            return self._exchange(rank, f"{kind} {axis}", "exchange", seconds, cores, needs)
        # All begin when the last has come.
        key = (axis, group[0], number)
        begin, end = self.engine.gate((*key, "begin")), self.engine.gate((*key, "end"))
        arrives = self.engine.add(f"arrive {kind}", "wait", rank, "exchange", 0.0, 0.0, needs)
        self.engine.need(begin, arrives)
        task = self._exchange(rank, f"{kind} {axis}", "exchange", seconds, cores, [begin])
        self.engine.need(end, task)
        return end

    def _pieces(self, rank, name, pieces, buckets=()):
        """Computing with exchanges among the ranks that divide layers, which are waited for; the last task."""
        open, task = list(buckets), None
        for piece in pieces:
            if piece.seconds or task is None:
                task = self._compute(rank, name, piece.seconds)
            if piece.exchange is not None:
                exchange = piece.exchange
                done = self._collective(rank, "mp", exchange.kind, exchange.bytes, [task])
                if done is not None:
                    self._wait[rank] = [done]
                    task = done
            while open and open[0].position >= piece.position and piece.exchange is None:
                self._bucket(rank, open.pop(0), task)
        return task

    def _bucket(self, rank, bucket, task):
        """Exchanges gradients that are complete, beside what follows."""
        strategy = self.strategy
        if strategy.dp > 1 and strategy.sharding == 1:  # they are put together first
            task = self._compute(rank, "pack", self.costs.seconds("concat", 0.0, 2 * bucket.bytes))
        done = self._collective(rank, "sharding", "reduce_scatter", bucket.bytes, [task])
        done = self._collective(rank, "dp", "all_reduce", bucket.bytes / strategy.sharding, [done or task]) or done
        if done is not None:
            self._exchanged.append(done)

    def _send(self, rank, to_stage, size, task, key):
        place = self.strategy.place(rank)
        other = self.strategy.rank(place._replace(pp=to_stage % self.strategy.pp))
        gate = self.engine.gate(key)
        if other == rank or not size:
            self.engine.need(gate, task)
            return
        task = self._message(rank, "send", size) or task
        seconds, cores = self._cost("send", "pp", (rank, other), size)
        sent = self._exchange(rank, "send", "send", seconds, cores, [task])
        self.engine.need(gate, sent)

    def _message(self, rank, name, size):
        """What a message takes of the rank itself, if that was measured: Python, and copies of bytes."""
        if name not in self.costs.laws:
            return None
        return self._compute(rank, name, self.costs.seconds(name, 0.0, size))

    # A step -----------------------------------------------------------------------

    def _copy(self, rank):
        """Which pipeline a rank is in; one rank stands for all of its stage."""
        place = self.strategy.place(rank)
        return place._replace(pp=0)

    def _gather(self, rank, part):
        """In stage 3 of sharding parameters are gathered before they are used, one after the other."""
        if self.strategy.stage < 3 or not part.parameters:
            return
        before = self._wait.pop(rank, [])
        done = self._collective(
            rank, "sharding", "all_gather", part.parameters, [*before, self._latest.get(rank)], part.tensors
        )
        if done is not None:
            self._wait[rank] = [done]

    def _forward(self, rank, number, micro):
        part = self.parts[number]
        if number:
            self._wait.setdefault(rank, []).append(self.engine.gate(("forward", self._copy(rank), micro, number)))
            self._message(rank, "recv", part.takes)
        self._gather(rank, part)
        task = self._latest[rank] = self._pieces(rank, f"forward {micro}.{number}", part.forward)
        if number + 1 < len(self.parts):
            self._send(rank, number + 1, part.gives, task, ("forward", self._copy(rank), micro, number + 1))

    def _backward(self, rank, number, micro):
        part, strategy = self.parts[number], self.strategy
        if number + 1 < len(self.parts):
            self._wait.setdefault(rank, []).append(self.engine.gate(("backward", self._copy(rank), micro, number)))
            self._message(rank, "recv", part.gives)
        self._gather(rank, part)
        if strategy.recompute:
            self._pieces(rank, f"forward again {micro}.{number}", part.forward)
        exchanged = strategy.overlap and micro == strategy.micro_batches - 1
        pieces = part.again if micro else part.backward
        task = self._pieces(rank, f"backward {micro}.{number}", pieces, part.buckets if exchanged else ())
        self._latest[rank] = self.backward_ends[rank] = task
        if number:
            self._send(rank, number - 1, part.takes, task, ("backward", self._copy(rank), micro, number - 1))

    def _step(self, rank):
        strategy, stage = self.strategy, self.strategy.place(rank).pp
        self._exchanged, self._latest = [], {}
        for step in schedule(strategy.schedule, strategy.pp, stage, strategy.micro_batches, strategy.chunks):
            number = step.chunk * strategy.pp + stage
            (self._forward if step.kind == "forward" else self._backward)(rank, number, step.micro)
        if not strategy.overlap:
            for part in self.parts[stage :: strategy.pp]:
                for bucket in part.buckets:
                    self._bucket(rank, bucket, self._latest[rank])
        task = self._compute(rank, "update", self.updates[stage], self._exchanged)
        if strategy.stage < 3:
            own = self.parts[stage :: strategy.pp]
            size, count = sum(part.parameters for part in own), sum(len(part.buckets) for part in own)
            self._collective(rank, "sharding", "all_gather", size, [task], max(count, 1))


def _places(strategy, topology, axis, group):
    """Of groups that do the same at different places, one of each place: within a node, and across."""
    found = {}
    stage = strategy.place(group[0]).pp
    offset = [rank - group[0] for rank in group]
    for rank in range(topology.ranks):
        place = strategy.place(rank)
        if place.pp == stage and (axis == "pp" or getattr(place, axis) == getattr(strategy.place(group[0]), axis)):
            ranks = [rank + o for o in offset]
            found.setdefault(topology.link(ranks), ranks)
    return list(found.values())
