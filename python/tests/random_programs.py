"""Static programs drawn at random, trained by several workers under strategies of fleet, beside the same program of one worker.

`python -m python.tests.random_programs 200 --first 0` runs as many of them, and says which differ.
"""

import itertools
from typing import NamedTuple

import numpy as np

import proa
from proa.distributed import fleet
from proa.distributed.groups import run_threads
from python.tests import random_plans

STEPS, BATCH = 6, 24
_MARKS = itertools.count()
_WAYS = ("data", "merge", "sharding", "hybrid", "pipeline", "localsgd", "lamb", "lars")


class Plan(NamedTuple):
    """What a job does: `way` is what its strategy switches on, beside `more` settings of it."""

    way: str
    ranks: int
    optimizer: str
    clip: str
    decay: str
    schedule: bool
    merged: int
    average: bool
    fuse: float
    norm: bool
    frozen: bool
    micro: int
    again: bool


def draw(seed):
    """The plan of this number."""
    random = np.random.RandomState(seed)
    way = str(random.choice(_WAYS))
    ranks = 4 if way == "hybrid" else int(random.choice([2, 2, 3, 4]))
    optimizer = str(random.choice(random_plans._OPTIMIZERS[:8]))
    optimizer = {"localsgd": "SGD", "lamb": "Adam", "lars": "Momentum"}.get(way, optimizer)
    merges = way not in ("pipeline", "localsgd")
    return Plan(
        way=way,
        ranks=ranks,
        optimizer=optimizer,
        clip=""
        if way == "localsgd"
        else str(random.choice(["", "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"])),
        decay="none" if way in ("lamb", "lars") else str(random.choice(["none", "number", "L1", "L2"])),
        schedule=bool(random.rand() < 0.5),
        merged=int(random.choice([1, 1, 2, 3])) if merges else 1,
        average=bool(random.rand() < 0.7),
        fuse=float(random.choice([0, 32])),
        norm=way not in ("pipeline", "localsgd") and bool(random.rand() < 0.3),
        frozen=bool(random.rand() < 0.3),
        micro=int(random.choice([2, 4])) if way == "pipeline" else 1,
        again=way != "pipeline" and bool(random.rand() < 0.4),
    )


def _strategy(plan, count):
    strategy = fleet.DistributedStrategy()
    if plan.merged > 1:
        strategy.gradient_merge = True
        strategy.gradient_merge_configs = {"k_steps": plan.merged, "avg": plan.average}
    if plan.way in ("lamb", "lars"):
        setattr(strategy, plan.way, True)
    strategy.sync_batch_norm = plan.norm
    strategy.fuse_grad_size_in_MB = int(plan.fuse)
    strategy.fuse_all_reduce_ops = plan.fuse > 0
    if count > 1:
        strategy.sharding = plan.way in ("sharding", "hybrid")
        strategy.sharding_configs = {"sharding_degree": 2 if plan.way == "hybrid" else count}
        if plan.way == "hybrid":
            strategy.sharding_configs = {"hybrid_dp": True, "dp_degree": 2}
        strategy.pipeline = plan.way == "pipeline"
        strategy.pipeline_configs = {"accumulate_steps": plan.micro, "micro_batch_size": BATCH // plan.micro}
        strategy.localsgd = plan.way == "localsgd"
        strategy.localsgd_configs = {"k_steps": 1, "begin_step": 1}
    return strategy


def _train(plan, start):
    """(weights, losses, pushed rows) of this worker."""
    proa.enable_static()
    try:
        strategy = _strategy(plan, proa.distributed.get_world_size())
        fleet.init(is_collective=True, strategy=strategy)
        rank, count = fleet.worker_index(), fleet.worker_num()
        main, startup = proa.static.Program(), proa.static.Program()
        stages = count if strategy.pipeline else 1
        mark = next(_MARKS)  # threads of one process share names

        def attr(name):
            value = start[name] if rank == 0 else start[name] * 2
            fixed = plan.frozen and name == "w1"
            return proa.ParamAttr(f"{name}_{mark}", proa.nn.initializer.Assign(value), trainable=not fixed)

        with proa.static.program_guard(main, startup):
            h = proa.static.data("x", [None, 6], "float64")
            y = proa.static.data("y", [None, 1], "float64")
            kept = []
            for at in range(4):
                with proa.static.device_guard(f"cpu:{at * stages // 4}"):
                    normed = plan.norm and at == 1  # a bias before a norm has no gradient but rounding
                    h = proa.static.nn.fc(
                        h, 8, weight_attr=attr(f"w{at}"), bias_attr=False if normed else attr(f"b{at}")
                    )
                    if normed:
                        h = proa.static.nn.batch_norm(
                            h, param_attr=attr("scale"), bias_attr=attr("shift"), moving_mean_name=f"mean_{mark}",
                            moving_variance_name=f"variance_{mark}",
                        )  # fmt: skip
                    h = proa.tanh(h)
                    kept += [h] if at % 2 else []
            with proa.static.device_guard(f"cpu:{stages - 1}"):
                loss = ((h.mean(1, keepdim=True) - y) ** 2).mean()
            optimizer, schedule = random_plans._optimizer(plan, None)
            if plan.again and count > 1:
                strategy.recompute = True
                strategy.recompute_configs = {"checkpoints": [kept[0], kept[1].name]}
            optimizer = fleet.distributed_optimizer(optimizer)
            optimizer.minimize(loss)
            assert str(main).count(" tanh(") == 4 + 2 * strategy.recompute
            executor = proa.static.Executor()
            executor.run(startup)
            random, losses = np.random.default_rng(3), []
            for _ in range(STEPS):
                xs, ys = random.normal(size=(BATCH, 6)), random.normal(size=(BATCH, 1))
                mine = slice(None) if stages > 1 else slice(rank * BATCH // count, (rank + 1) * BATCH // count)
                losses.append(float(executor.run(main, {"x": xs[mine], "y": ys[mine]}, [loss])[0]))
                if schedule is not None:
                    schedule.step()
        if stages > 1:
            main._pipeline.gather(proa.static.global_scope())
        state = main.state_dict()
        return {name: state[f"{name}_{mark}"].numpy() for name in start if f"{name}_{mark}" in state}, losses
    finally:
        proa.disable_static()


def _start():
    random = np.random.RandomState(5)
    start = {f"w{at}": random.randn(6 if at == 0 else 8, 8) * 0.3 for at in range(4)}
    return start | {
        name: random.randn(8) * 0.3 + (name == "scale") for name in ("b0", "b1", "b2", "b3", "scale", "shift")
    }


def check(plan):
    """AssertionError if the workers of a plan learn something else than one does."""
    start = _start()
    wanted, losses = run_threads(lambda: _train(plan, start), 1)[0]
    results = run_threads(lambda: _train(plan, start), plan.ranks)
    seen = set()
    for weights, _ in results:
        for name, value in weights.items():
            np.testing.assert_allclose(value, wanted[name], rtol=0, atol=1e-8, err_msg=name)
            seen.add(name)
    assert seen == set(wanted)
    found = np.mean([losses for _, losses in results], 0)
    np.testing.assert_allclose(found, losses, rtol=1e-6)
    assert losses[0] != losses[-1]


if __name__ == "__main__":
    random_plans.main(draw, check, __doc__)
