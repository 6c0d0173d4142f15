"""Costs that the simulator fits to what was measured here."""

import functools
import math

import pytest

import proa
from proa.distributed import simulate
from proa.distributed.simulate import Link, Sharing, Strategy, Topology, predict
from proa.distributed.simulate.collectives import traffic
from python.tests.simulated_work import COSTS, even


def test_fit():
    roof = (1e9, 1e10)
    samples = [simulate.OpSample("a", n, 0.0, 2e-6 + 3 * n / 1e9) for n in (1e3, 1e4, 1e5)]
    samples += [simulate.OpSample("b", 0.0, 1e6, 5e-4)] * 2
    samples += [simulate.OpSample("c", n, 0.0, 1e-3 / n) for n in (1e3, 1e4)]  # no line with a slope above 0
    costs = simulate.fit(samples, roof)
    assert costs.laws["a"] == pytest.approx((2e-6, 3.0))
    assert costs.seconds("b", 0.0, 2e6) == pytest.approx(1e-3)  # of one size: in proportion
    assert min(costs.laws["c"]) >= 0
    assert costs.seconds("nobody measured it", 1e6, 1e6) > 0
    link = simulate.fit_link([
        simulate.LinkSample(kind, n, size, r * 1e-5 + b / 1e9)
        for kind in ("all_reduce", "all_gather", "send") for n in (2, 4) for size in (1000, 10**6)
        for r, b in [traffic(kind, n, size, "direct")]
    ])  # fmt: skip
    assert link == pytest.approx((1e-5, 1e9, 0.0))


def test_a_link_and_sharing_by_steps():
    """Those of steps that hide some of their exchange, and share cores, are found again."""
    work, want = even(calls=4, parameters=2.0**20), Link(1e-2, 3e5, 1.0)

    def seconds(link, sharing, way):
        where = Topology(math.prod(way.get(d, 1) for d in ("dp", "pp")), inside=link, cores_per_node=2, sharing=sharing)
        return predict(work, where, Strategy(**way, bucket_mib=1, algorithm="direct"), COSTS).seconds

    ways = (
        {"dp": 2},
        {"dp": 2, "overlap": False},
        {"pp": 2, "micro_batches": 8},
        {"dp": 4},
        {"pp": 4, "micro_batches": 4},
    )
    cases = [(functools.partial(seconds, way=way), seconds(want, Sharing(0.2), way)) for way in ways]
    found, sharing = simulate.fit_to_steps(Link(1e-6, 1e9, 1.0), cases)
    for predicted, measured in cases:
        assert predicted(found, sharing) == pytest.approx(measured, rel=0.01)
    assert found.bandwidth == pytest.approx(want.bandwidth, rel=0.05) and found.cores == 1.0
    assert sharing.crowding == pytest.approx(0.2, abs=0.02)


def test_costs_are_kept_in_a_file(tmp_path):
    costs = simulate.CostModel(1e9, 2e9, {"": (1e-6, 1.0), "matmul": (0.0, 1.5)})
    costs.save(tmp_path / "costs.json")
    again = simulate.CostModel.load(tmp_path / "costs.json")
    assert (again.laws, again.arithmetic, again.traffic) == (costs.laws, costs.arithmetic, costs.traffic)


def test_measured_steps_add_up():
    import time

    net = proa.nn.Linear(512, 512)

    def step():
        net(proa.ones([256, 512])).mean().backward()
        net.clear_gradients()

    samples = simulate.measure_step(step, rounds=3)
    assert {"linear", "matmul", "mean"} <= {sample.name for sample in samples}
    linear = next(sample for sample in samples if sample.name == "linear")
    assert linear.flops == 2 * 256 * 512 * 512 + 256 * 512
    began = time.perf_counter()
    step()
    assert sum(sample.seconds for sample in samples) < 100 * (time.perf_counter() - began)
    with pytest.raises(ValueError, match="the step calls no ops"):
        simulate.measure_step(lambda: None)


def test_links_of_ranks_that_are_threads():
    from proa.distributed.groups import run_threads

    for samples in run_threads(lambda: simulate.measure_links(sizes=(64, 1 << 20), rounds=2), 2):
        assert [(s.kind, s.ranks, s.bytes) for s in samples] == [
            (kind, 2, size) for kind in ("all_reduce", "all_gather", "send") for size in (64, 1 << 20)
        ]
        assert all(s.seconds > 0 for s in samples)
    assert simulate.measure_links() == []
