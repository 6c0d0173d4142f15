"""Measuring this machine: calls of a training step, and collectives of a group."""

import math
import statistics
import time
from typing import NamedTuple

from proa import _C
from proa.distributed.simulate.collectives import traffic
from proa.distributed.simulate.costs import OpSample
from proa.distributed.simulate.topology import Link, Sharing

__all__ = ["LinkSample", "fit_link", "fit_to_steps", "measure_links", "measure_step"]


class LinkSample(NamedTuple):
    """A measured collective: its kind, how many ranks, bytes of the whole tensor, seconds."""

    kind: str
    ranks: int
    bytes: int
    seconds: float


def _outermost(events):
    """Calls of ops that are not part of another call, of one thread each."""
    end = {}
    for event in events:
        if event["category"] == "op" and event["start_ns"] >= end.get(event["thread"], 0):
            end[event["thread"]] = event["end_ns"]
            yield event


def measure_step(step, rounds=5):
    """Measures the calls of a training step on this process.

    Some steps are timed, others are profiled; what a step takes beside its calls (Python, the engine of gradients) is dealt out
    to the calls by their time, so that the samples of a step add up to it.

    Args:
        step (Callable): one step of training, without arguments.
        rounds (int): how many are timed.

    Returns:
        list[OpSample]: of one step.

    Raises:
        ValueError: rounds below 1, or a step without calls.

    Examples:
        >>> net = proa.nn.Linear(256, 256)
        >>> def step():
        ...     net(proa.ones([64, 256])).mean().backward()
        ...     net.clear_gradients()
        >>> samples = proa.distributed.simulate.measure_step(step, rounds=1)
        >>> "linear" in {sample.name for sample in samples}
        True
    """
    from proa import profiler

    if rounds < 1:
        raise _C.located(ValueError(f"measure_step: rounds must be at least 1, not {rounds}"))
    times = []
    for number in range(rounds + 2):
        began = time.perf_counter()
        step()
        if number >= 2:
            times.append(time.perf_counter() - began)
    with profiler.Profiler(with_flops=True, record_shapes=True, on_trace_ready=lambda _: None) as recorded:
        for _ in range(3):
            step()
    found = {}
    for event in _outermost(recorded.profiler_result.events()):
        key = (event["name"], event["flops"], event["bytes"], event["shapes"])
        found.setdefault(key, []).append((event["end_ns"] - event["start_ns"]) * 1e-9)
    if not found:
        raise _C.located(ValueError("measure_step: the step calls no ops"))
    scale = statistics.median(times) * 3 / sum(sum(seconds) for seconds in found.values())
    return [
        OpSample(name, flops, bytes, statistics.median(seconds) * scale)
        for (name, flops, bytes, _), seconds in found.items()
        for _ in range(max(len(seconds) // 3, 1))
    ]


def measure_links(
    group=None, sizes=(4, 1 << 16, 1 << 20, 1 << 23), kinds=("all_reduce", "all_gather", "send"), rounds=7
):
    """Measures collectives of a group; all of its ranks call it.

    Args:
        group (Group, optional): all ranks of the job unless given.
        sizes (sequence[int]): bytes of the whole tensors, multiples of 4 times the number of ranks, or of 4.
        kinds (sequence[str]): of "all_reduce", "all_gather", "reduce_scatter" and "send" (from the first to the second rank).
        rounds (int): of which the median counts.

    Returns:
        list[LinkSample]: on each rank its own; none in a job of one rank.

    Raises:
        ValueError: another kind.
    """
    import proa
    from proa import distributed as dist
    from proa.distributed import collective

    group = collective.get_group(0) if group is None else group
    if group.nranks == 1:
        return []
    first, second = group.ranks[:2]

    def call(kind, size):
        whole = proa.zeros([max(size // 4, 1)])
        part = proa.zeros([max(size // 4 // group.nranks, 1)])
        me = dist.get_rank()
        if kind == "all_reduce":
            return lambda: dist.all_reduce(whole, group=group)
        if kind == "all_gather":
            return lambda: dist.all_gather([], part, group=group)
        if kind == "reduce_scatter":
            parts = [part.clone() for _ in range(group.nranks)]
            return lambda: dist.reduce_scatter(part, parts, group=group)
        if kind == "send":
            return {
                first: lambda: (dist.send(whole, second, group=group), dist.recv(whole, second, group=group)),
                second: lambda: (dist.recv(whole, first, group=group), dist.send(whole, first, group=group)),
            }.get(me, lambda: None)
        raise _C.located(
            ValueError(f"measure_links: kind must be all_reduce, all_gather, reduce_scatter or send, not {kind!r}")
        )

    found = []
    for kind in kinds:
        for size in sizes:
            work, times = call(kind, size), []
            calls = 1 if size > 1 << 20 else 10
            for _ in range(rounds + 1):
                dist.barrier(group)
                began = time.perf_counter()
                for _ in range(calls):
                    work()
                times.append((time.perf_counter() - began) / calls)
            seconds = statistics.median(times[1:]) / (2 if kind == "send" else 1)
            found.append(LinkSample(kind, group.nranks, size, seconds))
    return found


def fit_link(samples, algorithm="direct", cores=0.0):
    """The link whose latency and bandwidth fit measured collectives, by relative errors.

    Args:
        samples (sequence[LinkSample]): of two sizes at least.
        algorithm (str): by which the bytes went; "direct" is what this package does inside of a machine.
        cores (float): `Link.cores` of what is returned. Where ranks had to share cores, give seconds as if they had not.

    Returns:
        Link

    Raises:
        ValueError: samples of one size, or that get faster with more bytes.

    Examples:
        >>> from proa.distributed.simulate import LinkSample, fit_link
        >>> link = fit_link([LinkSample("all_reduce", 2, size, 1e-5 + size * 1e-9) for size in (1000, 100000)])
        >>> round(link.latency, 9), round(link.bandwidth)
        (5e-06, 1000000000)
    """
    rows = []
    for sample in samples:
        rounds, sent = traffic(sample.kind, sample.ranks, sample.bytes, algorithm)
        rows.append((rounds / sample.seconds, sent / sample.seconds))
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(row[i] for row in rows) for i in (0, 1))
    det = aa * bb - ab * ab
    if len(rows) < 2 or det <= 1e-12 * aa * bb:
        raise _C.located(ValueError("fit_link: samples of at least two sizes are needed"))
    latency, per_byte = (a * bb - b * ab) / det, (b * aa - a * ab) / det
    if per_byte <= 0:
        raise _C.located(ValueError("fit_link: by these samples more bytes take less time"))
    return Link(max(latency, 0.0), 1.0 / per_byte, cores)


def fit_to_steps(link, cases, sharing=None):
    """The link and the sharing of cores by which predicted steps come closest to measured ones.

    A collective by itself is faster than one beside computing, where its threads wait for cores and its bytes are in no cache,
    and ranks that share cores take what others had in caches; what that costs is in steps alone.

    Args:
        link (Link): of collectives by themselves (`fit_link`): what is found is not faster.
        cases (sequence): pairs of a function that gives the predicted seconds of a step for a Link and a Sharing, and the
            measured seconds. Of ranks that share cores and of such that do not, with much and with little to exchange, and of
            pipelines, since each number is known by where it matters.
        sharing (Sharing, optional): to begin with; its tick stays as it is.

    Returns:
        (Link, Sharing): latency, bandwidth and crowding have the least sum of squared logarithms of predicted / measured.

    Raises:
        ValueError: no cases, or one that took no time.

    Examples:
        >>> from proa.distributed.simulate import Link, fit_to_steps
        >>> cases = [(lambda link, sharing: 1.0 + 1000 * link.latency + 1e6 / link.bandwidth, 1.0 + 0.01 + 0.1),
        ...          (lambda link, sharing: 1.0 + 1e6 / link.bandwidth, 1.1),
        ...          (lambda link, sharing: 2.0 * (1.0 + sharing.crowding), 2.3)]
        >>> found, sharing = fit_to_steps(Link(1e-6, 1e9), cases)
        >>> abs(found.latency / 1e-5 - 1) < 0.1, abs(found.bandwidth / 1e7 - 1) < 0.1, abs(sharing.crowding - 0.15) < 0.01
        (True, True, True)
    """
    if not cases:
        raise _C.located(ValueError("fit_to_steps: there are no cases"))
    if any(not seconds > 0 for _, seconds in cases):
        raise _C.located(ValueError("fit_to_steps: a step takes time"))

    begin = sharing or Sharing()

    def made(one):
        latency, bandwidth, crowding = one
        return link._replace(latency=latency, bandwidth=bandwidth), begin._replace(crowding=crowding)

    def error(one):
        return sum(math.log(predicted(*made(one)) / seconds) ** 2 for predicted, seconds in cases)

    best = (max(link.latency, 1e-9), link.bandwidth, begin.crowding)
    alone = best[:2]
    least, factor = error(best), 4.0
    while factor > 1.01:
        latency, bandwidth, crowding = best
        step = math.log(factor) / 4
        near = [
            (max(latency * a, alone[0]), min(bandwidth * b, alone[1]), c)
            for a in (1 / factor, 1.0, factor)
            for b in (1 / factor, 1.0, factor)
            for c in sorted({max(crowding - step, 0.0), crowding, crowding + step})
        ]
        now, one = min((error(one), one) for one in set(near) - {best})
        if now < least * (1 - 1e-9):
            least, best = now, one
        else:
            factor = math.sqrt(factor)
    return made(best)
