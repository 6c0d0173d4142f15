"""Work: a training step of one process, taken apart into calls, parameters and values."""

from typing import NamedTuple

__all__ = ["Exchange", "Operation", "Parameter", "Work"]


class Operation(NamedTuple):
    """A call of an op.

    Attributes:
        name (str): the op.
        phase (str): "forward", "backward" or "update".
        position (int): its place in forward, or of backward that of the forward call that it belongs to.
        flops, bytes (float): its arithmetic, and what it reads and writes.
        reads, makes (tuple[int]): numbers of values; of views those that they show.
    """

    name: str
    phase: str
    position: int
    flops: float
    bytes: float
    reads: tuple = ()
    makes: tuple = ()


class Parameter(NamedTuple):
    """A trained tensor: its number, its sizes, its bytes, and the first forward call that uses it."""

    number: int
    shape: tuple
    bytes: float
    position: int


class Exchange(NamedTuple):
    """A collective of the ranks that divide each layer, after the call at `position` of a phase."""

    phase: str
    position: int
    kind: str
    bytes: float


class Work:
    """What one micro-batch and one update cost a process. `read` and `record` make it.

    Attributes:
        operations (list[Operation]): in the order of the program.
        positions (int): how many calls forward has.
        parameters (list[Parameter]): that are trained.
        values (dict): bytes of inputs and of what forward makes, by number.
        states (float): bytes that the optimizer keeps beside parameters and gradients.
        marks (list[int]): positions at which layers begin, if they are known.
        exchanges (list[Exchange]): between ranks that divide layers.
        kept (list[(float, tuple[int])]): bytes of a value that backward needs of forward, and the positions that need it.
        crossing (list[float]): for each position the bytes of values that later calls need of it and of those before.
    """

    def __init__(self, operations, parameters, values, states, marks=(), exchanges=()):
        self.operations, self.parameters, self.values, self.states = operations, parameters, values, states
        self.marks, self.exchanges = list(marks), list(exchanges)
        self.forward = [op for op in operations if op.phase == "forward"]
        self.positions = len(self.forward)
        self.kept = self._kept()
        self.crossing = self._crossing()

    def _kept(self):
        needed = {}
        for op in self.operations:
            if op.phase == "backward":
                for value in op.reads:
                    if value in self.values:
                        needed.setdefault(value, set()).add(op.position)
        return [(self.values[value], tuple(sorted(at))) for value, at in needed.items()]

    def _crossing(self):
        made = {value: op.position for op in self.forward for value in op.makes}
        last = {value: op.position for op in self.forward for value in op.reads if value in made}
        change = [0.0] * self.positions
        for value, at in last.items():
            change[made[value]] += self.values[value]
            change[at] -= self.values[value]
        for at in range(1, self.positions):
            change[at] += change[at - 1]
        return change

    def kept_in(self, begin, end):
        """Bytes of forward that backward of the positions from `begin` to `end` needs."""
        return sum(size for size, at in self.kept if any(begin <= one < end for one in at))

    def parameters_in(self, begin, end):
        """The parameters whose first use is at the positions from `begin` to `end`."""
        return [p for p in self.parameters if begin <= p.position < end]

    @property
    def parameter_bytes(self):
        """Bytes of all parameters."""
        return sum(p.bytes for p in self.parameters)

    def seconds(self, costs, phase):
        """By position the seconds of a phase; of "update" one number for all of it."""
        found = [0.0] * (1 if phase == "update" else self.positions)
        for op in self.operations:
            if op.phase == phase:
                found[0 if phase == "update" else op.position] += costs.seconds(op.name, op.flops, op.bytes)
        return found

    def __repr__(self):
        flops = {
            phase: sum(op.flops for op in self.operations if op.phase == phase) for phase in ("forward", "backward")
        }
        return (
            f"Work({self.positions} calls, {self.parameter_bytes / 2**20:.4g} MiB of parameters, "
            f"{flops['forward'] / 1e9:.4g} + {flops['backward'] / 1e9:.4g} GFLOP)"
        )
