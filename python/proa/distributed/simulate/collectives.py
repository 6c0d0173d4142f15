"""How long a collective takes: rounds of messages, and bytes over the link of the group."""

import math

from proa import _C

__all__ = ["ALGORITHMS", "KINDS", "seconds_of", "spans_of", "traffic"]

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "send")
ALGORITHMS = ("ring", "tree", "direct")


def traffic(kind, ranks, size, algorithm="ring"):
    """Messages one after the other, and bytes that each rank sends.

    "ring": neighbours pass parts on, n - 1 rounds a way. "tree": rounds double what has arrived, log2(n) of them; sums go up
    and down. "direct": each rank sends to each other at once, which is what this package does inside of a machine.

    Args:
        kind (str): one of `KINDS`.
        ranks (int): n.
        size (int): bytes of the whole tensor: before reduce_scatter, after all_gather.
        algorithm (str): one of `ALGORITHMS`.

    Returns:
        (int, float)

    Raises:
        ValueError: another kind or algorithm, or no rank.

    Examples:
        >>> from proa.distributed.simulate.collectives import traffic
        >>> traffic("all_reduce", 4, 1000)
        (6, 1500.0)
        >>> traffic("all_reduce", 4, 1000, "tree")
        (4, 2000.0)
    """
    if kind not in KINDS:
        raise _C.located(ValueError(f"traffic: kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}"))
    if algorithm not in ALGORITHMS:
        raise _C.located(
            ValueError(f"traffic: algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, not {algorithm!r}")
        )
    if ranks < 1 or size < 0:
        raise _C.located(ValueError(f"traffic: {ranks} ranks cannot exchange {size} bytes"))
    if kind == "send":
        return 1, float(size)
    if ranks == 1:
        return 0, 0.0
    there_and_back = 2 if kind == "all_reduce" else 1
    rounds = {"ring": ranks - 1, "tree": math.ceil(math.log2(ranks)), "direct": 1}[algorithm]
    whole = kind == "broadcast" or (kind == "all_reduce" and algorithm == "tree")
    return there_and_back * rounds, there_and_back * size * (1.0 if whole else (ranks - 1) / ranks)


def spans_of(kind, group, size, topology, algorithm="auto", calls=1):
    """Seconds that a collective waits for messages to arrive, and those in which its bytes move; see `seconds_of`.

    Examples:
        >>> from proa.distributed.simulate import Link, Topology
        >>> from proa.distributed.simulate.collectives import spans_of
        >>> spans_of("send", [0, 1], 3_000_000, Topology(2, inside=Link(1e-3, 1e9)))
        (0.001, 0.003)
    """
    if len(group) == 1 and kind != "send":
        return 0.0, 0.0
    link, sharing = topology.link(group)

    def one(way):
        rounds, sent = traffic(kind, len(group), size, way)
        return calls * rounds * link.latency, sent * sharing / link.bandwidth

    return min(one("ring"), one("tree"), key=sum) if algorithm == "auto" else one(algorithm)


def seconds_of(kind, group, size, topology, algorithm="auto", calls=1):
    """Seconds of a collective in a group that does nothing else.

    Args:
        kind (str): one of `KINDS`.
        group (sequence[int]): the ranks.
        size (int): bytes, as in `traffic`; of all calls together.
        topology (Topology): where they are.
        algorithm (str): one of `ALGORITHMS`, or "auto": the faster one of ring and tree.
        calls (int): in how many collectives the bytes go, one after the other.

    Examples:
        >>> from proa.distributed.simulate import Link, Topology
        >>> from proa.distributed.simulate.collectives import seconds_of
        >>> seconds_of("all_reduce", range(4), 2_000_000, Topology(4, inside=Link(0.0, 1e9)), "ring")
        0.003
    """
    return sum(spans_of(kind, group, size, topology, algorithm, calls))
