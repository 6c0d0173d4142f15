"""Parts of a model: which calls each stage has, in pieces between which ranks exchange something."""

from typing import NamedTuple

from proa import _C

__all__ = ["Bucket", "Part", "Piece", "cut", "parts_of"]


class Piece(NamedTuple):
    """Seconds of computing, then perhaps an Exchange, or positions at which gradients are complete."""

    seconds: float
    exchange: object = None
    position: int = -1


class Bucket(NamedTuple):
    """Gradients that are exchanged together: complete when backward of `position` has ended."""

    position: int
    bytes: float
    tensors: int


class Part(NamedTuple):
    """What one stage computes at once, from position `begin` to `end`.

    Attributes:
        forward, backward (list[Piece]): in their order; backward of the first micro-batch.
        again (list[Piece]): backward of the others, which add their gradients to what is there.
        seconds (tuple): of forward and backward, without exchanges.
        takes, gives (float): bytes of activations from the part before, and to the next.
        parameters, tensors (float, int): bytes and number of its parameters.
        kept (float): bytes of activations from forward to backward.
        buckets (list[Bucket]): in the order in which they are complete.
    """

    begin: int
    end: int
    forward: list
    backward: list
    again: list
    seconds: tuple
    takes: float
    gives: float
    parameters: float
    tensors: int
    kept: float
    buckets: list


def cut(seconds, count, marks=()):
    """Where `count` parts of a list of calls begin, so that the longest is as short as it can be.

    Args:
        seconds (sequence[float]): of each call.
        count (int): how many parts.
        marks (sequence[int]): where layers begin; parts begin at these if there are enough.

    Raises:
        ValueError: more parts than calls.

    Examples:
        >>> from proa.distributed.simulate.parts import cut
        >>> cut([3, 1, 1, 1, 2], 2)
        [0, 2]
    """
    if count > len(seconds):
        raise _C.located(ValueError(f"cut: {len(seconds)} calls do not make {count} parts"))
    starts = sorted({0, *marks}) if len({0, *marks}) >= count else list(range(len(seconds)))
    sums = [sum(seconds[a:b]) for a, b in zip(starts, [*starts[1:], len(seconds)])]

    def begins(limit):
        found, now = [0], 0.0
        for at, one in enumerate(sums):
            left = len(sums) - at  # so many pieces must be enough for the parts that are still to come
            if at and (now + one > limit * (1 + 1e-12) or left <= count - len(found)):
                found.append(at)
                now = 0.0
            now += one
        return found

    low, high = max(sums), sum(sums)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if len(begins(middle)) <= count else (middle, high)
    return [starts[at] for at in begins(high)]


def _pieces(seconds, order, exchanges, ends):
    """Pieces of calls in an order, cut after exchanges and at the positions in `ends`."""
    found, now = [], 0.0
    for position in order:
        now += seconds[position]
        for exchange in exchanges.get(position, ()):
            found.append(Piece(now, exchange, position))
            now = 0.0
        if position in ends:
            found.append(Piece(now, None, position))
            now = 0.0
    if now or not found:
        found.append(Piece(now, None, order[-1] if order else -1))
    return found


def _buckets(parameters, limit):
    """Gradients in the order in which backward gives them, those of about `limit` bytes together."""
    found = []
    size, count, last = 0.0, 0, -1
    for parameter in sorted(parameters, key=lambda p: -p.position):
        if count and size + parameter.bytes > limit:
            found.append(Bucket(last, size, count))
            size, count = 0.0, 0
        size, count, last = size + parameter.bytes, count + 1, parameter.position
    if count:
        found.append(Bucket(last, size, count))
    return found


def parts_of(work, costs, strategy, cuts=None):
    """The parts of all stages, first to last: stage s has the parts s, s + pp, s + 2 pp ...

    Args:
        work (Work): of one rank.
        costs (CostModel): for its seconds.
        strategy (Strategy): how many parts.
        cuts (sequence[int], optional): positions at which parts begin; else they take about the same time.

    Raises:
        ValueError: `cuts` of another number, or not in order.
    """
    forward, backward = work.seconds(costs, "forward"), work.seconds(costs, "backward")
    count = strategy.pp * strategy.chunks
    if cuts is None:
        cuts = cut([f + b for f, b in zip(forward, backward)], count, work.marks)
    cuts = list(cuts)
    if len(cuts) != count or cuts[0] != 0 or sorted(set(cuts)) != cuts or cuts[-1] >= work.positions:
        raise _C.located(
            ValueError(f"simulate: cuts must be {count} rising positions, from 0 to below {work.positions}, not {cuts}")
        )
    adds = list(backward)
    for parameter in work.parameters:
        adds[parameter.position] += costs.seconds("add_", parameter.bytes / 4, 3 * parameter.bytes)
    by = {"forward": {}, "backward": {}}
    for exchange in work.exchanges:
        by[exchange.phase].setdefault(exchange.position, []).append(exchange)
    found = []
    for begin, end in zip(cuts, [*cuts[1:], work.positions]):
        parameters = work.parameters_in(begin, end)
        buckets = _buckets(parameters, strategy.bucket_mib * 2**20)
        order, ends = range(end - 1, begin - 1, -1), {bucket.position for bucket in buckets}
        found.append(
            Part(
                begin,
                end,
                _pieces(forward, range(begin, end), by["forward"], ()),
                _pieces(backward, order, by["backward"], ends),
                _pieces(adds, order, by["backward"], ends),
                (sum(forward[begin:end]), sum(backward[begin:end])),
                work.crossing[begin - 1] if begin else 0.0,
                work.crossing[end - 1],
                sum(p.bytes for p in parameters),
                len(parameters),
                work.kept_in(begin, end),
                buckets,
            )
        )
    return found
