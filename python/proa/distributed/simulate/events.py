"""The discrete-event engine: tasks that wait for one another, and ranks that share the cores of their node.

Tasks wait in a heap for the time at which they end. Where cores are fewer than what tasks want, all of these slow down alike; so
cores that are shared have a clock of their own, which runs at that speed, a task ends at a fixed time of that clock, and a
change of speed moves one entry of the heap whatever the number of tasks. A run takes O(E log E) for E tasks.
"""

import heapq
import itertools
import math

from proa import _C

__all__ = ["Engine", "Task"]

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

    __slots__ = (
        "_after",
        "_missing",
        "cores",
        "end",
        "kind",
        "name",
        "needs",
        "rank",
        "seconds",
        "start",
        "stream",
        "threads",
    )

    def __init__(self, name, kind, rank, stream, seconds, cores, needs):
        self.name, self.kind, self.rank, self.stream = name, kind, rank, stream
        self.seconds, self.cores, self.needs = seconds, cores, needs
        self.start = self.end = None
        self.threads = 0  # that are not at their end
        self._after, self._missing = [], len(needs)
        for need in needs:
            need._after.append(self)

    def __repr__(self):
        return f"Task({self.name!r}, rank {self.rank} {self.stream}, {self.start} to {self.end})"


class _Thread:
    """A part of a task that runs on one core: the number-th of its rank."""

    __slots__ = ("cores", "number", "task")

    def __init__(self, task, number, cores):
        self.task, self.number, self.cores = task, number, cores


class _Cores:
    """Cores that all which runs on them shares evenly: a clock that runs at the speed of each."""

    def __init__(self, node, count):
        self.node, self.count = node, count
        self.used, self.clock, self.speed, self.at = 0.0, 0.0, 1.0, 0.0
        self.running = []  # a heap of (end by this clock, order, thread)
        self.stamp = 0  # of the last change

    @property
    def crowded(self):
        return self.used > self.count

    def begin(self, now, end, order, thread):
        """`end`: seconds of the thread at full speed."""
        self._advance(now)
        heapq.heappush(self.running, (self.clock + end, order, thread))
        self._change(thread.cores)

    def ended(self, now):
        """Threads that end now, which are not here any more."""
        self.at, self.clock = now, self.running[0][0]
        while self.running and self.running[0][0] <= self.clock:
            thread = heapq.heappop(self.running)[2]
            self._change(-thread.cores)
            yield thread

    def give(self, now):
        """(seconds that are left at full speed, thread) of the one that has most before it, which leaves."""
        self._advance(now)
        entry = max(self.running)
        self.running.remove(entry)
        heapq.heapify(self.running)
        self._change(-entry[2].cores)
        return entry[0] - self.clock, entry[2]

    def next(self, now):
        """When the next thread ends."""
        return now + max(self.running[0][0] - self.clock, 0.0) / self.speed

    def _advance(self, now):
        self.clock += (now - self.at) * self.speed
        self.at = now

    def _change(self, cores):
        self.used = self.used + cores if self.running else 0.0
        each = self.used / self.count  # that want a core
        crowding = self.node.sharing.crowding * min(each - 1.0, 1.0)
        self.speed = 1.0 if each <= 1.0 else 1.0 / (each * (1.0 + crowding))
        self.stamp += 1


class _Node:
    """The cores of a node. Without a tick all tasks share all of them; with one, each thread is on a core and stays there."""

    def __init__(self, cores, sharing):
        self.sharing = sharing
        count = max(int(cores), 1) if sharing.tick else 1
        self.cores = [_Cores(self, cores / count) for _ in range(count)]
        self.homes = {}  # where a thread of a rank was last

    def threads(self, task):
        count = max(math.ceil(task.cores), 1) if self.sharing.tick else 1
        return [_Thread(task, number, task.cores / count) for number in range(count)]

    def place(self, thread):
        """A system's choice for what wakes up: where it was, or else a core that has room, or else where it was."""
        if len(self.cores) == 1:
            return self.cores[0]
        key = thread.task.rank, thread.number
        home = self.homes.get(key) or self.cores[sum(key) % len(self.cores)]
        if home.used + thread.cores > home.count:
            home = next((cores for cores in self.cores if cores.used + thread.cores <= cores.count), home)
        self.homes[key] = home
        return home

    def crowded(self):
        """The cores that are crowded most, or None."""
        most = max(self.cores, key=lambda cores: cores.used)
        return most if most.crowded else None


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
            self._now, _, what, argument = heapq.heappop(self._heap)
            what(argument)
        waiting = [task for task in self.tasks if task.end is None]
        if waiting:
            raise _C.located(
                RuntimeError(f"simulate: {len(waiting)} tasks wait for each other, the first is {waiting[0]}")
            )
        return max((task.end for task in self.tasks), default=0.0)

    def _at(self, seconds, what, argument):
        heapq.heappush(self._heap, (seconds, next(self._order), what, argument))

    def _start(self, task):
        task.start = self._now
        if task.cores == 0 or task.seconds == 0 or not self.topology.shares_cores:
            self._at(self._now + task.seconds, self._end, task)
            return
        number = self.topology.node(task.rank)
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = _Node(self.topology.cores_per_node, self.topology.sharing)
        threads = node.threads(task)
        task.threads = len(threads)
        for thread in threads:
            self._put(node.place(thread), thread, task.seconds)

    def _put(self, cores, thread, seconds):
        cores.begin(self._now, seconds, next(self._order), thread)
        self._expect(cores)

    def _expect(self, cores):
        """Notes when the next thread of some cores ends, or when they take one over."""
        if cores.running:
            self._at(cores.next(self._now), self._step, (cores, cores.stamp))
        elif len(cores.node.cores) > 1:
            self._at(self._now + cores.node.sharing.tick, self._take, (cores, cores.stamp))

    def _step(self, noted):
        cores, stamp = noted
        if cores.stamp != stamp:
            return
        ended = [thread.task for thread in cores.ended(self._now)]
        self._expect(cores)
        for task in ended:
            task.threads -= 1
            if task.threads == 0:
                self._end(task)

    def _take(self, noted):
        """Cores that have been idle for a tick take over what waits for others."""
        cores, stamp = noted
        if cores.stamp != stamp:
            return
        other = cores.node.crowded()
        if other is not None:
            seconds, thread = other.give(self._now)
            self._expect(other)
            cores.node.homes[thread.task.rank, thread.number] = cores
            self._put(cores, thread, seconds)

    def _end(self, task):
        task.end = self._now
        self.events += 1
        for after in task._after:
            after._missing -= 1
            if after._missing == 0:
                self._start(after)
