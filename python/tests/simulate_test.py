"""The simulator of distributed training: closed forms, what a schedule must keep to, and what is refused."""

import json

import pytest

import proa
from proa.distributed import fleet, simulate
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import bubble
from proa.distributed.simulate import Link, Sharing, Strategy, Topology, predict
from proa.distributed.simulate.collectives import seconds_of, traffic
from proa.distributed.simulate.events import Engine
from python.tests.simulated_work import COSTS, even, network, recorded, topology

# Closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["1F1B", "F-then-B"])
@pytest.mark.parametrize("stages, micro, chunks", [(1, 4, 1), (2, 3, 1), (4, 8, 1), (8, 8, 1), (4, 8, 2), (2, 6, 4)])
def test_bubbles(mode, stages, micro, chunks):
    strategy = Strategy(pp=stages, micro_batches=micro, chunks=chunks, schedule=mode)
    result = predict(even(), topology(stages), strategy, COSTS)
    assert result.bubble == pytest.approx((stages - 1) / (chunks * micro + stages - 1), abs=1e-12)
    assert result.bubble == pytest.approx(bubble(stages, micro, chunks), abs=1e-12)
    work = micro * 8 * 3.0 / stages
    assert result.seconds == pytest.approx(work / (1 - result.bubble))
    assert [rank.busy for rank in result.ranks] == pytest.approx([work] * stages)


def test_traffic():
    for n in (2, 3, 8):
        assert traffic("all_reduce", n, 600) == (2 * (n - 1), pytest.approx(2 * (n - 1) / n * 600))
        assert (
            traffic("reduce_scatter", n, 600)
            == traffic("all_gather", n, 600)
            == (n - 1, pytest.approx((n - 1) / n * 600))
        )
        assert traffic("all_reduce", n, 600, "direct")[0] == 2
    assert traffic("all_reduce", 8, 600, "tree") == (6, 1200.0)
    assert traffic("broadcast", 8, 600, "tree") == (3, 600.0)
    assert traffic("all_reduce", 1, 600) == (0, 0.0)
    assert traffic("send", 2, 600) == (1, 600.0)


def test_collectives_choose_the_faster_way_and_share_the_border_of_a_node():
    slow_start, slow_bytes = Link(1.0, 1e12), Link(1e-9, 1.0)
    small, large = Topology(8, inside=slow_start), Topology(8, inside=slow_bytes)
    assert seconds_of("all_reduce", range(8), 8, small) == pytest.approx(6.0)  # a tree
    assert seconds_of("all_reduce", range(8), 8, large) == pytest.approx(14.0)  # a ring
    nodes = Topology(8, ranks_per_node=4, inside=Link(0.0, 1e9), between=Link(0.0, 1.0))
    across = seconds_of("all_reduce", [0, 4], 8, nodes)
    assert across == pytest.approx(4 * 8.0)  # four groups like it go over the same border
    assert seconds_of("all_reduce", range(8), 8, nodes) == pytest.approx(14.0)  # one group alone
    assert seconds_of("all_reduce", range(4), 8, nodes) < 1e-6


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("shards", [2, 4])
def test_memory_of_sharding(stage, shards):
    work = even(parameters=100.0, states=8 * 200.0)
    result = predict(work, topology(shards), Strategy(sharding=shards, stage=stage), COSTS)
    memory, p, states = result.ranks[0].memory, 800.0, 1600.0
    assert memory["parameters"] == (p / shards if stage == 3 else p)
    assert memory["gradients"] == (p / shards if stage > 1 else p)
    assert memory["states"] == states / shards


def test_memory_of_pipelines():
    work = even(parameters=100.0, states=1600.0)
    result = predict(work, topology(4), Strategy(pp=4, micro_batches=16), COSTS)
    # Two calls a stage, whose backward needs what each took; 1F1B keeps as many micro-batches as stages follow.
    assert [rank.memory["activations"] for rank in result.ranks] == [8.0 * kept for kept in (4, 3, 2, 1)]
    assert [rank.memory["states"] for rank in result.ranks] == [400.0] * 4
    late = predict(work, topology(4), Strategy(pp=4, micro_batches=16, schedule="F-then-B"), COSTS)
    assert [rank.memory["activations"] for rank in late.ranks] == [8.0 * 16] * 4
    again = predict(work, topology(4), Strategy(pp=4, micro_batches=16, recompute=True), COSTS)
    assert again.ranks[1].memory["activations"] == 4.0 * 3 + 4.0
    assert again.ranks[1].busy == pytest.approx(16 * 2 * 4.0)  # forward twice


def test_gradients_are_exchanged_beside_backward():
    work = even(calls=4, parameters=2.0**20)
    slow = Topology(2, inside=Link(0.0, 2.0**20))  # an all-reduce of one parameter takes a second
    hidden = predict(work, slow, Strategy(dp=2, bucket_mib=1), COSTS)
    assert hidden.seconds == pytest.approx(4 * 3.0 + 1.0)  # all but the last
    shown = predict(work, slow, Strategy(dp=2, bucket_mib=1, overlap=False), COSTS)
    assert shown.seconds == pytest.approx(4 * 3.0 + 4.0)
    one = predict(work, slow, Strategy(dp=2, bucket_mib=25), COSTS)
    assert one.seconds == pytest.approx(4 * 3.0 + 4.0)  # one bucket, complete at the end
    sums = {s: predict(work, slow, Strategy(sharding=2, stage=s, overlap=False), COSTS).seconds for s in (1, 2, 3)}
    # Half of the bytes to reduce; half to gather, in stage 3 twice.
    assert sums == {1: pytest.approx(12 + 2 + 2), 2: pytest.approx(12 + 2 + 2), 3: pytest.approx(12 + 2 + 2 * 2)}


def test_cores_that_are_shared():
    result = predict(even(), topology(8, cores_per_node=2), Strategy(dp=8), COSTS)
    assert result.seconds == pytest.approx(4 * 24.0)
    # In a pipeline of one micro-batch one stage works at a time: nobody waits for a core.
    result = predict(even(), topology(4, cores_per_node=1), Strategy(pp=4), COSTS)
    assert result.seconds == pytest.approx(24.0)
    # Of several, the cores are the bound: they are busy all the time but for the ends.
    result = predict(even(), topology(4, cores_per_node=1), Strategy(pp=4, micro_batches=8), COSTS)
    assert result.seconds == pytest.approx(8 * 24.0)


def test_waiting_for_a_message_needs_no_core():
    """Eight ranks on one core: their latencies pass side by side, their bytes one after the other."""
    work = even(calls=1, parameters=800.0)
    where = topology(8, cores_per_node=1, inside=Link(0.5, 700.0, 1.0))
    result = predict(work, where, Strategy(dp=8, algorithm="direct"), COSTS)
    assert result.seconds == pytest.approx(8 * 3.0 + 2 * 0.5 + 8 * 2 * 800 * 7 / 8 / 700)


def test_cores_change_hands_when_a_task_ends():
    engine = Engine(Topology(2, cores_per_node=1))
    short, long = (engine.add("t", "compute", rank, "compute", seconds, 1.0) for rank, seconds in ((0, 1.0), (1, 3.0)))
    late = engine.add("t", "compute", 0, "compute", 1.0, 1.0)
    assert engine.run() == pytest.approx(5.0)
    assert (short.end, late.end, long.end) == (pytest.approx(2.0), pytest.approx(4.0), pytest.approx(5.0))


def test_ranks_that_share_a_core_lose_what_caches_had():
    """Of three that want two cores each gets two thirds of one, less what a crowding of 0.2 takes for half a rank too many."""
    where = topology(3, cores_per_node=2, sharing=Sharing(0.2))
    assert predict(even(), where, Strategy(dp=3), COSTS).seconds == pytest.approx(24.0 * 1.5 * (1 + 0.2 * 0.5))
    many = topology(8, cores_per_node=2, sharing=Sharing(0.2))  # what is gone cannot be lost again
    assert predict(even(), many, Strategy(dp=8), COSTS).seconds == pytest.approx(24.0 * 4 * 1.2)
    alone = topology(2, cores_per_node=2, sharing=Sharing(0.2))
    assert predict(even(), alone, Strategy(dp=2), COSTS).seconds == pytest.approx(24.0)


def begun(*seconds, tick, threads=1, cores=2):
    """An engine with a task of so many seconds of each rank, and these tasks."""
    engine = Engine(Topology(len(seconds), threads=threads, cores_per_node=cores, sharing=Sharing(tick=tick)))
    return engine, [engine.add("t", "compute", rank, "compute", s, threads) for rank, s in enumerate(seconds)]


@pytest.mark.parametrize(
    ("tick", "ends"),
    [
        (0.5, (2.75, 1.0, 2.75)),  # at 1.5 a rank with 1.25 seconds left goes over to the core that is idle since 1.0
        (2.5, (3.75, 1.0, 3.75)),  # or at 3.5
        (4.0, (4.0, 1.0, 4.0)),  # or never
        (0.0, (2.5, 1.5, 2.5)),  # all share both
    ],
)
def test_idle_cores_take_ranks_over_by_a_tick(tick, ends):
    engine, tasks = begun(2.0, 1.0, 2.0, tick=tick)
    assert engine.run() == pytest.approx(max(ends))
    assert [task.end for task in tasks] == pytest.approx(ends)


def test_ranks_that_wake_up_go_where_there_is_room():
    """The third rank begins where the first is; its next task begins when the second core has none."""
    engine, tasks = begun(4.0, 1.0, 1.0, tick=100.0)
    late = engine.add("t", "compute", 2, "compute", 1.0, 1)
    again = engine.add("t", "compute", 1, "compute", 1.0, 1, [late])
    assert engine.run() == pytest.approx(5.0)
    assert [task.end for task in (*tasks, late, again)] == pytest.approx((5.0, 1.0, 2.0, 3.0, 4.0))


def test_threads_of_a_rank_are_on_cores_of_their_own():
    engine, tasks = begun(1.0, 1.0, tick=0.5, threads=2)
    assert engine.run() == pytest.approx(2.0)
    engine, tasks = begun(1.0, tick=0.5, threads=2, cores=1)  # as a task ends when all its threads have
    assert engine.run() == pytest.approx(2.0)
    engine, tasks = begun(1.5, 1.0, tick=0.5, threads=2, cores=3)  # the third is all that the second rank finds
    assert engine.run() == pytest.approx(2.0)
    assert [task.end for task in tasks] == pytest.approx((1.5, 2.0))


def test_a_link_beside_computing_is_not_faster_than_alone():
    """Steps that took less than the link explains say nothing about it; ones that took more do."""
    alone = Link(1e-3, 1e9)

    def seconds(link, sharing):
        return 1.0 + 10 * link.latency + 1e8 / link.bandwidth

    assert simulate.fit_to_steps(alone, [(seconds, 1.0)])[0] == alone
    found = simulate.fit_to_steps(alone, [(seconds, 1.5)])[0]
    assert seconds(found, None) == pytest.approx(1.5, rel=0.01) and found.bandwidth <= 1e9 and found.latency >= 1e-3


def test_messages_take_time_of_their_ranks():
    costs = simulate.CostModel(1.0, 4.0, {"": (0.0, 1.0), "add_": (0.0, 0.0), "send": (0.25, 0.0), "recv": (0.0, 0.5)})
    result = predict(even(calls=2, backward=1.0), topology(2), Strategy(pp=2, micro_batches=3), costs)
    assert [rank.busy for rank in result.ranks] == pytest.approx([3 * (2.0 + 0.25 + 0.5)] * 2)  # 4 bytes each way
    free = predict(even(calls=2, backward=1.0), topology(2), Strategy(pp=2, micro_batches=3), COSTS)
    assert [rank.busy for rank in free.ranks] == pytest.approx([6.0] * 2)


def test_micro_batches_add_their_gradients():
    """All but the first; an addition reads two numbers and writes one."""
    costs = simulate.CostModel(1e30, 1.0, {"": (0.0, 0.0), "add_": (0.0, 1.0)})
    work = even(calls=3, parameters=8.0)
    assert predict(work, topology(1), Strategy(micro_batches=4), costs).seconds == pytest.approx(3 * 3 * 3 * 8.0)
    four = even(calls=4, parameters=8.0)
    stages = predict(four, topology(2), Strategy(pp=2, micro_batches=2), costs, cuts=[0, 2])
    assert [rank.busy for rank in stages.ranks] == pytest.approx([2 * 3 * 8.0] * 2)


def test_a_slow_rank_holds_all_up():
    result = predict(even(), topology(4, slow={2: 3.0}), Strategy(dp=4), COSTS)
    assert len(result.ranks) == 4
    assert result.ranks[2].busy == pytest.approx(72.0) and result.ranks[0].busy == pytest.approx(24.0)
    work = even(parameters=1.0)
    assert predict(work, topology(4, slow={2: 3.0}), Strategy(dp=4), COSTS).seconds == pytest.approx(72.0)


# What all schedules keep to ----------------------------------------------------------

WAYS = [
    {"dp": 4}, {"pp": 4, "micro_batches": 8}, {"pp": 2, "chunks": 2, "micro_batches": 4, "dp": 2}, {"mp": 4},
    {"mp": 2, "sequence": True, "sharding": 2, "stage": 2}, {"sharding": 4, "stage": 3, "micro_batches": 2},
    {"dp": 2, "mp": 2, "pp": 2, "sharding": 2, "micro_batches": 4, "recompute": True}, {"dp": 4, "overlap": False},
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("cores", "tick"), [(None, 0.0), (2, 0.0), (2, 1e-4)])
def test_tasks(way, cores, tick):
    """No rank computes two things at once, nothing begins before what it waits for, and all runs give the same."""
    strategy = Strategy(**way)
    inside, between = Link(1e-6, 1e9, 1.0), Link(1e-5, 1e8)
    where = Topology(strategy.ranks, 4, 1, cores, inside, between, sharing=Sharing(tick=tick))
    work, costs = (
        recorded(network(layers=8), optimizer=True),
        simulate.CostModel(1e9, 1e9, {"": (1e-6, 1.0), "add_": (0.0, 0.0)}),
    )
    result = predict(work, where, strategy, costs, every_rank=True)
    streams = {}
    for task in result.tasks:
        assert task.start is not None and task.end >= task.start
        assert all(need.end <= task.start for need in task.needs)
        if task.rank is not None:
            streams.setdefault((task.rank, task.stream), []).append((task.start, task.end))
    for spans in streams.values():
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
    assert {rank for rank, _ in streams} == set(range(strategy.ranks))
    again = predict(work, where, strategy, costs, every_rank=True)
    assert [(t.name, t.start, t.end) for t in again.tasks] == [(t.name, t.start, t.end) for t in result.tasks]
    assert result.events == len(result.tasks)
    # What was asked for is done, whoever shares the cores.
    alone = [Topology(1), Strategy(micro_batches=strategy.micro_batches * strategy.dp * strategy.sharding)]
    if strategy.mp == 1 and not strategy.recompute:
        compute = sum(
            t.seconds for t in result.tasks if t.kind == "compute" and t.name.startswith(("forward", "backward"))
        )
        one = predict(work, *alone, costs)
        want = sum(t.seconds for t in one.tasks if t.kind == "compute" and t.name.startswith(("forward", "backward")))
        assert compute == pytest.approx(want)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_one_rank_stands_for_its_stage(way):
    strategy = Strategy(**way)
    where = Topology(strategy.ranks, ranks_per_node=2, inside=Link(1e-6, 1e9), between=Link(1e-5, 1e8))
    work, costs = recorded(network(layers=8), optimizer=True), simulate.CostModel(1e9, 1e9)
    few, all = (predict(work, where, strategy, costs, every_rank=every) for every in (False, True))
    assert few.seconds == pytest.approx(all.seconds, rel=1e-9) and few.bubble == pytest.approx(all.bubble)
    assert len(few.ranks) == strategy.pp and len(all.ranks) == strategy.ranks
    assert few.events * strategy.ranks / strategy.pp <= all.events


def test_thousands_of_ranks():
    """By the number of events: a stage of 4,096 ranks costs as many as one of 8."""
    work, costs = recorded(network(layers=16)), simulate.CostModel(1e12, 1e11)
    events = {}
    for dp in (1, 512):
        result = predict(work, Topology(8 * dp, ranks_per_node=8), Strategy(dp=dp, pp=8, micro_batches=32), costs)
        events[dp] = result.events
        assert result.represented == 8 * dp and len(result.ranks) == 8
    assert events[512] <= events[1] + 8 * 20  # the exchanges of gradients
    # Each by itself: in proportion.
    every = predict(work, Topology(4096, slow={7: 1.5}), Strategy(dp=2048, pp=2), costs)
    assert len(every.ranks) == 4096 and every.events < 4096 * 40


# What comes out, and what is refused -------------------------------------------------------


def test_result_and_trace(tmp_path):
    result = predict(even(parameters=2.0**20), topology(4), Strategy(pp=2, dp=2, micro_batches=2), COSTS)
    text = repr(result)
    assert text.startswith("4 ranks, Strategy(dp=2, pp=2, micro_batches=2): ") and "bubble 33.3 %" in text
    assert len(text.splitlines()) == 4
    result.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in spans} == {"compute", "exchange", "send"}
    assert max(event["ts"] + event["dur"] for event in spans) == pytest.approx(result.seconds * 1e6)
    assert {event["pid"] for event in events} == {0, 1}


def test_strategy_of_fleet():
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": -1, "mp_degree": 2, "pp_degree": 2, "sharding_degree": 2}
    strategy.pipeline_configs = {"accumulate_steps": 4, "micro_batch_size": 1}
    strategy.sharding_configs = {"stage": 2}
    made = Strategy.of_fleet(strategy, 16)
    assert (made.dp, made.mp, made.pp, made.sharding, made.stage, made.micro_batches) == (2, 2, 2, 2, 2, 4)
    # Neighbours are where fleet puts them.
    from proa.distributed.fleet.base.topology import CommunicateTopology

    places = CommunicateTopology(["data", "pipe", "sharding", "model"], [2, 2, 2, 2])
    for axis, name in (("dp", "data"), ("pp", "pipe"), ("sharding", "sharding"), ("mp", "model")):
        assert sorted({tuple(made.group(r, axis)) for r in range(16)}) == sorted(map(tuple, places.get_comm_list(name)))
    assert [made.rank(made.place(r)) for r in range(16)] == list(range(16))
    with pytest.raises(ValueError, match=r"dp 1 x mp 2 x pp 2 x sharding 2 = 8 ranks, and the topology has 4"):
        Strategy.of_fleet(strategy, 4)


@pytest.mark.parametrize(
    "make, error, says",
    [
        (lambda: Topology(-4), ValueError, "ranks must be above 0, not -4"),
        (lambda: Topology(2.5), TypeError, "ranks must be a number, not float"),
        (lambda: Topology(4, inside=(1, 2)), TypeError, "inside must be a Link, not tuple"),
        (lambda: Topology(4, inside=Link(1.0, 0.0)), ValueError, "inside.bandwidth must be above 0"),
        (lambda: Topology(4, between=Link(-1.0, 1.0)), ValueError, "latency and cores of between cannot be negative"),
        (lambda: Topology(4, slow={4: 2.0}), ValueError, "slow names rank 4, and there are 4"),
        (lambda: Strategy(dp=0), ValueError, "dp must be at least 1, not 0"),
        (lambda: Strategy(mp=2.0), TypeError, "mp must be an int, not float"),
        (lambda: Strategy(schedule="zigzag"), ValueError, "schedule must be one of '1F1B', 'F-then-B', not 'zigzag'"),
        (lambda: Strategy(stage=4), ValueError, "stage must be 1, 2 or 3, not 4"),
        (lambda: Strategy(algorithm="star"), ValueError, "algorithm must be one of"),
        (lambda: Strategy(chunks=2), ValueError, "2 chunks a stage need several stages"),
        (lambda: Strategy(pp=4, chunks=2, micro_batches=6), ValueError, "the 4 stages divide evenly, not 6"),
        (lambda: Strategy(sequence=True), ValueError, "sequence parallel needs mp above 1"),
        (lambda: Strategy(bucket_mib=0), ValueError, "bucket_mib must be above 0"),
        (lambda: predict(even(), topology(8), Strategy(dp=2, pp=2), COSTS), ValueError, "= 4 ranks, and the topology has 8"),
        (lambda: predict(even(2), topology(4), Strategy(pp=4), COSTS), ValueError, "2 calls do not make 4 parts"),
        (lambda: predict(even(), topology(2), Strategy(pp=2), COSTS, cuts=[0]), ValueError, "cuts must be 2 rising positions"),
        (lambda: predict(even(), topology(2), Strategy(pp=2), COSTS, cuts=[0, 8]), ValueError, "from 0 to below 8"),
        (lambda: predict(None, topology(1), Strategy(), COSTS), TypeError, "work must be a Work, not NoneType"),
        (
            lambda: predict(even(), topology(2, cores_per_node=1), Strategy(dp=2), COSTS, every_rank=False),
            ValueError,
            "simulated each by itself",
        ),
        (lambda: simulate.divide(recorded(width=4), 8), ValueError, "8 ranks cannot divide a parameter of sizes"),
        (lambda: simulate.CostModel(0.0, 1.0), ValueError, "rates must be above 0"),
        (lambda: simulate.CostModel(1.0, 1.0, {"a": (0, 1)}), ValueError, "laws must have one of ''"),
        (lambda: simulate.fit([], (1.0, 1.0)), ValueError, "there are no samples"),
        (lambda: simulate.fit([simulate.OpSample("a", 1, 1, 0.0)], (1.0, 1.0)), ValueError, "this one took 0.0 s"),
        (lambda: simulate.fit_link([simulate.LinkSample("send", 2, 8, 1.0)]), ValueError, "at least two sizes are needed"),
        (lambda: simulate.fit_to_steps(Link(0.0, 1.0), []), ValueError, "there are no cases"),
        (lambda: simulate.fit_to_steps(Link(0.0, 1.0), [(lambda link, crowding: 1.0, 0.0)]), ValueError, "takes time"),
        (lambda: topology(2, sharing=Sharing(-1.0)), ValueError, "crowding cannot be negative"),
        (lambda: topology(2, sharing=Sharing(float("nan"))), ValueError, "crowding cannot be negative"),
        (lambda: topology(2, sharing=Sharing(0.0, float("inf"))), ValueError, "tick cannot be negative or infinite"),
        (lambda: topology(2, sharing=0.1), TypeError, "sharing must be a Sharing, not float"),
        (lambda: topology(2, sharing=Sharing("a")), TypeError, "crowding must be a number, not str"),
        (lambda: simulate.read(None, None), TypeError, "program must be a static.Program, not NoneType"),
        (lambda: simulate.read(proa.static.Program(), proa.ones([])), TypeError, "loss must be a value of the program"),
        (lambda: simulate.measure_step(lambda: None, rounds=0), ValueError, "rounds must be at least 1"),
        (lambda: traffic("shout", 2, 8), ValueError, "kind must be one of 'all_reduce'"),
        (lambda: traffic("send", 0, 8), ValueError, "0 ranks cannot exchange 8 bytes"),
    ],
)  # fmt: skip
def test_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_unknown_inputs():
    main = proa.static.Program()
    with proa.static.program_guard(main):
        loss = proa.static.data("x", [None, 4]).mean()
    with pytest.raises(ValueError, match="the program has no input 'y'"):
        simulate.read(main, loss, sizes={"y": [2, 4]})
