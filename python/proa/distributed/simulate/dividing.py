"""Work of one of several ranks that divide each layer (tensor parallel)."""

from proa import _C
from proa.distributed.simulate.work import Exchange, Work

__all__ = ["divide"]


class _Divider:
    """Which calls and values a rank has a part of.

    A call with a matrix of parameters whose other operand is whole divides the columns: its result is a part. One whose other
    operand is a part divides the rows: its result is a sum over the ranks, which is exchanged. A table of rows that is looked
    up by numbers is divided by rows too. A call with vectors of parameters, or with a whole operand of the size of the part,
    needs whole operands: parts are gathered before. Other calls go on with parts.
    """

    def __init__(self, work, degree):
        self.work, self.degree = work, degree
        self.parts, self.exchanges, self.calls, self.divided_parameters = set(), [], set(), set()
        self.matrices = {p.number for p in work.parameters if len(p.shape) >= 2}
        self.vectors = {p.number for p in work.parameters if len(p.shape) < 2}
        self.parents = {p.number for p in work.parameters}
        self._summed = set()  # calls whose input's gradient is a sum
        for op in work.forward:
            self._pass(op)

    def _exchange(self, phase, op, kind, values):
        size = sum(self.work.values.get(value, 0.0) for value in values)
        self.exchanges.append(Exchange(phase, op.position, kind, size))

    def _pass(self, op):
        inputs = [v for v in op.reads if v not in self.parents and v in self.work.values]
        parts = [v for v in inputs if v in self.parts]
        matrices = [v for v in op.reads if v in self.matrices]
        made = [v for v in op.makes if v in self.work.values]
        if matrices:
            self.calls.add(op.position)
            self.divided_parameters.update(matrices)
            if parts:
                self._exchange("forward", op, "all_reduce", made)
            elif op.flops == 0:  # a look-up
                self._exchange("forward", op, "all_reduce", made)
            else:
                self.divided_parameters.update(v for v in op.reads if v in self.vectors)
                self.parts.update(made)
                self._exchange("backward", op, "all_reduce", inputs[:1])
            return
        if not parts:
            return
        largest = max(self.work.values[v] for v in parts)
        whole = [v for v in inputs if v not in self.parts and self.work.values[v] >= largest]
        if whole or any(v in self.vectors for v in op.reads):
            self._exchange("forward", op, "all_gather", parts)
            self.parts.difference_update(parts)
            return
        self.calls.add(op.position)
        self.parts.update(made)


def divide(work, degree, sequence=False):
    """The work of one of `degree` ranks that divide each layer between them, and their exchanges.

    Matrices of parameters are divided by columns and by rows in turn, as in `ColumnParallelLinear` and `RowParallelLinear`;
    tables by rows; what lies between is divided with them. Two sums of activations a block are left, in forward and in backward.

    Args:
        work (Work): of one process.
        degree (int): how many ranks.
        sequence (bool): what is not divided by layers is divided by the length of the sequence (sequence parallel): sums become
            a reduce_scatter and an all_gather.

    Raises:
        ValueError: a matrix of parameters that has fewer rows and columns than there are ranks.

    Examples:
        >>> from proa.distributed.simulate import divide, record
        >>> net = [proa.nn.Linear(64, 256), proa.nn.GELU(), proa.nn.Linear(256, 64)]
        >>> x = proa.static.InputSpec([32, 64], "float32", "x")
        >>> half = divide(record(net, [x], lambda y: y.mean()), 2)
        >>> [(e.phase, e.kind, e.bytes) for e in half.exchanges]
        [('backward', 'all_reduce', 8192.0), ('forward', 'all_reduce', 8192.0)]
    """
    if degree == 1:
        return work
    small = [p for p in work.parameters if len(p.shape) >= 2 and max(p.shape) < degree]
    if small:
        raise _C.located(
            ValueError(f"divide: {degree} ranks cannot divide a parameter of sizes {list(small[0].shape)} between them")
        )
    divider = _Divider(work, degree)
    share = 1.0 / degree

    def of_call(op):
        if op.phase == "update":
            return divided_bytes / work.parameter_bytes if work.parameter_bytes else 1.0
        return share if sequence or op.position in divider.calls else 1.0

    parameters = [
        p._replace(bytes=p.bytes * (share if p.number in divider.divided_parameters else 1.0)) for p in work.parameters
    ]
    divided_bytes = sum(p.bytes for p in parameters)
    operations = [op._replace(flops=op.flops * of_call(op), bytes=op.bytes * of_call(op)) for op in work.operations]
    values = {v: size * (share if sequence or v in divider.parts else 1.0) for v, size in work.values.items()}
    exchanges = divider.exchanges
    if sequence:
        exchanges = [
            one
            for e in exchanges
            for one in (
                [e._replace(kind="reduce_scatter"), e._replace(kind="all_gather")] if e.kind == "all_reduce" else [e]
            )
        ]
    states = work.states * (divided_bytes / work.parameter_bytes if work.parameter_bytes else 1.0)
    return Work(operations, parameters, values, states, work.marks, exchanges)
