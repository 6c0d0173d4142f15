"""The discrete-event engine: tasks that wait for one another, and ranks that share the cores of their node.

Tasks wait in a heap for the time at which they end. Where a node has fewer cores than its tasks want, all of them slow down
alike; so each node has a clock of its own, which runs at that speed, a task ends at a fixed time of that clock, and a change
of speed moves one entry of the heap whatever the number of tasks. A run takes O(E log E) for E tasks.
"""

import heapq
import itertools

from proa import _C

__all__ = ["Engine", "Task"]

_AWAKE = -1
STREAMS = ("compute", "exchange", "send")


class Task:
    """Work of a rank: `seconds` at full speed, on one of its streams.

    Attributes:
        name, kind (str): what it is: "update", of the kind "compute"; kinds are compute, communicate, wait.
        rank (int), stream (str): whose work it is, where it waits for what was put there before.
        seconds (float): at full speed.
        cores (float): that it wants.
        needs (list[Task]): which end before it begins.
        start, end (float): when it ran.
    """

    __slots__ = ("_after", "_missing", "cores", "end", "kind", "name", "needs", "rank", "seconds", "start", "stream")

    def __init__(self, name, kind, rank, stream, seconds, cores, needs):
        self.name, self.kind, self.rank, self.stream = name, kind, rank, stream
        self.seconds, self.cores, self.needs = seconds, cores, needs
        self.start = self.end = None
        self._after, self._missing = [], len(needs)
        for need in needs:
            need._after.append(self)

    def __repr__(self):
        return f"Task({self.name!r}, rank {self.rank} {self.stream}, {self.start} to {self.end})"


class _Node:
    """The cores of a node and what uses them: a clock that runs at the speed of each task."""

    def __init__(self, cores, crowding):
        self.cores, self.crowding = cores, crowding
        self.used, self.clock, self.speed, self.at = 0.0, 0.0, 1.0, 0.0
        self.running, self.stamp = [], 0

    def advance(self, now):
        self.clock += (now - self.at) * self.speed
        self.at = now

    def change(self, cores):
        self.used += cores
        if not self.running:
            self.used = 0.0
        each = self.used / self.cores  # that want a core
        self.speed = 1.0 if each <= 1.0 else 1.0 / (each * (1.0 + self.crowding * min(each - 1.0, 1.0)))
        self.stamp += 1


class Engine:
    """Makes tasks and runs them, once.

    Args:
        topology (Topology): nodes, cores, and ranks that are slow.

    Examples:
        >>> from proa.distributed.simulate import Topology
        >>> from proa.distributed.simulate.events import Engine
        >>> engine = Engine(Topology(2, cores_per_node=1))
        >>> first, second = (engine.add("work", "compute", rank, "compute", 1.0, cores=1) for rank in (0, 1))
        >>> engine.run()
        2.0
        >>> first.end
        2.0
    """

    def __init__(self, topology):
        self.topology = topology
        self.tasks = []
        self.events = 0
        self._last = {}  # of each rank's streams
        self._gates = {}

    def add(self, name, kind, rank, stream, seconds, cores=0.0, needs=()):
        """Work that begins after what was added to this stream of the rank before, and after `needs` (None is left out)."""
        needs = [need for need in needs if need is not None]
        before = self._last.get((rank, stream))
        if before is not None:
            needs.append(before)
        if kind == "compute":
            seconds *= self.topology.slow.get(rank, 1.0)
        task = Task(name, kind, rank, stream, seconds, cores, list(dict.fromkeys(needs)))
        self._last[rank, stream] = task
        self.tasks.append(task)
        return task

    def gate(self, key):
        """The moment of this key, which comes when all that it is said to need has ended; it takes no time, and is nobody's."""
        task = self._gates.get(key)
        if task is None:
            task = self._gates[key] = Task(str(key), "wait", None, None, 0.0, 0.0, [])
            self.tasks.append(task)
        return task

    @staticmethod
    def need(task, other):
        """`task` begins after `other`; before the run."""
        task.needs.append(other)
        task._missing += 1
        other._after.append(task)

    def run(self):
        """Runs all tasks; the time at which the last ends.

        Raises:
            RuntimeError: tasks that wait for each other.
        """
        self._heap, self._order, self._now = [], itertools.count(), 0.0
        self._nodes = {}
        for task in self.tasks:
            if task._missing == 0:
                self._start(task)
        while self._heap:
            self._now, _, what, stamp = heapq.heappop(self._heap)
            if isinstance(what, Task):
                (self._start if stamp == _AWAKE else self._end)(what)
            elif what.stamp == stamp:
                self._step(what)
        waiting = [task for task in self.tasks if task.end is None]
        if waiting:
            raise _C.located(
                RuntimeError(f"simulate: {len(waiting)} tasks wait for each other, the first is {waiting[0]}")
            )
        return max((task.end for task in self.tasks), default=0.0)

    def _start(self, task):
        if self._waits_for_a_core(task):
            heapq.heappush(self._heap, (self._now + self.topology.sharing.slice, next(self._order), task, _AWAKE))
            return
        task.start = self._now
        if task.cores == 0 or task.seconds == 0 or not self.topology.shares_cores:
            heapq.heappush(self._heap, (self._now + task.seconds, next(self._order), task, 0))
            return
        number = self.topology.node(task.rank)
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = _Node(self.topology.cores_per_node, self.topology.sharing.crowding)
        node.advance(self._now)
        heapq.heappush(node.running, (node.clock + task.seconds, next(self._order), task))
        node.change(task.cores)
        self._expect(node)

    def _waits_for_a_core(self, task):
        """Whether this is computing of a rank that has waited, and all cores are in use: what runs there goes on for a while."""
        if not self.topology.sharing.slice or task.kind != "compute" or task.start is not None:
            return False
        node = self._nodes.get(self.topology.node(task.rank))
        if node is None or node.used + task.cores <= node.cores:
            return False
        before = [need.end for need in task.needs if need.rank == task.rank and need.stream == task.stream]
        if before and max(before) >= self._now:
            return False
        task.start = self._now
        return True

    def _expect(self, node):
        """Notes when the next task of a node ends."""
        if node.running:
            left = max(node.running[0][0] - node.clock, 0.0)
            heapq.heappush(self._heap, (self._now + left / node.speed, next(self._order), node, node.stamp))

    def _step(self, node):
        node.at, node.clock = self._now, node.running[0][0]
        ended = []
        while node.running and node.running[0][0] <= node.clock:
            ended.append(heapq.heappop(node.running)[2])
            node.change(-ended[-1].cores)
        self._expect(node)
        for task in ended:
            self._end(task)

    def _end(self, task):
        task.end = self._now
        self.events += 1
        for after in task._after:
            after._missing -= 1
            if after._missing == 0:
                self._start(after)
