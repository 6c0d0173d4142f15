"""Ranks that are actors of a local Ray cluster (skipped where Ray is not installed), and who gets which variables."""

import os

import pytest

import proa
from proa.distributed import ray as ranks_of_ray


def test_neighbours_are_on_one_machine():
    places = [("10.0.0.1", 500), ("10.0.0.2", 501), ("10.0.0.1", 502)]
    order, found = ranks_of_ray._environments(places, {"MORE": "1"})
    assert order == [0, 2, 1]
    assert [e["PADDLE_TRAINER_ID"] for e in found] == ["0", "1", "2"]
    assert [(e["PADDLE_NODE_RANK"], e["PADDLE_RANK_IN_NODE"], e["PADDLE_LOCAL_SIZE"]) for e in found] == [
        ("0", "0", "2"), ("0", "1", "2"), ("1", "0", "1"),
    ]  # fmt: skip
    for e in found:
        assert e["PADDLE_MASTER"] == "10.0.0.1:500" and e["PADDLE_TRAINERS_NUM"] == "3" and e["MORE"] == "1"
        assert e["PADDLE_NNODES"] == "2" and len(e["PROA_JOB_SECRET"]) == 32
    assert len({e["PROA_JOB_SECRET"] for e in found}) == 1


def test_without_ray(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="pip install ray"):
        ranks_of_ray.run(print)


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    yield ray
    ray.shutdown()


def _train(scale, fail=""):
    import os

    import proa
    import proa.distributed as dist

    dist.init_parallel_env()
    rank = dist.get_rank()
    if fail == "raises" and rank == 1:
        raise KeyError("the data of rank 1")
    if fail == "dies" and rank == 1:
        os._exit(3)
    proa.seed(rank)
    net = proa.DataParallel(proa.nn.Linear(3, 1))
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    (net(proa.ones([2, 3]) * scale * (rank + 1)) ** 2).mean().backward()
    sgd.step()
    return rank, dist.get_world_size(), net.state_dict()["weight"].tolist(), os.environ["MORE"]


def test_a_function_on_actors(cluster):
    for ranks in (2, 3):  # a cluster is used again
        found = ranks_of_ray.run(_train, (0.5,), ranks=ranks, environment={"MORE": 7}, timeout=60)
        assert [f[0] for f in found] == list(range(ranks))
        assert all(f[1:] == (ranks, found[0][2], "7") for f in found)


@pytest.mark.parametrize("fail, says", [("raises", "rank 1 failed:.*the data of rank 1"), ("dies", "rank 1 failed")])
def test_the_rank_that_failed_is_named(cluster, fail, says):
    with pytest.raises(RuntimeError, match=r"(?s)" + says):
        ranks_of_ray.run(_train, (1.0,), {"fail": fail}, environment={"MORE": 1}, timeout=60)


def test_no_room(cluster):
    with pytest.raises(TimeoutError, match="no room for 4 ranks"):
        ranks_of_ray.run(os.getpid, ranks=4, timeout=1)
    assert ranks_of_ray.run(os.getpid, ranks=1, cpus_per_rank=3, timeout=60) != [os.getpid()]  # all is free again
    assert proa.distributed.get_world_size() == 1
