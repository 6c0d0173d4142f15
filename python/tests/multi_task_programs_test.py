"""Programs of several workers that choose their task by control flow: each run trains what the batch asks for."""

import itertools

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import static
from proa.distributed import fleet
from proa.distributed.groups import run_threads

_MARKS = itertools.count()
# The tasks of each run, of equal parts of the batch: all of one, or of two.
_TASKS = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 1), (1, 0)]


def _start(*shape):
    return np.random.RandomState(shape[-1]).randn(*shape) * 0.5


def _train(how):
    """Weights after all runs, of this worker: of one that has the whole batch each row is of its task."""
    proa.enable_static()
    try:
        count, rank, mark = dist.get_world_size(), dist.get_rank(), next(_MARKS)
        strategy = fleet.DistributedStrategy()
        strategy.gradient_merge, strategy.gradient_merge_configs = how == "gradient_merge", {"k_steps": 2}
        strategy.sharding = how == "sharding" and count > 1
        strategy.sharding_configs = {"sharding_degree": count}
        fleet.init(is_collective=True, strategy=strategy)
        main, startup = static.Program(), static.Program()

        def layer(x, name, size):
            start = proa.nn.initializer.Assign(_start(x.shape[1], size))
            return static.nn.fc(x, size, weight_attr=proa.ParamAttr(f"{name}_{mark}", start), bias_attr=False)

        with static.program_guard(main, startup):
            x, task = static.data("x", [None, 4], "float64"), static.data("task", [None], "int64")
            h = proa.tanh(layer(x, "shared", 5))
            squares = {0: lambda: layer(h, "first", 2) ** 2, 1: lambda: layer(h, "second", 3) ** 2 * 2.0}
            if count == 1:
                loss = proa.where(task == 0, squares[0]().mean(1), squares[1]().mean(1)).mean()
            else:
                loss = static.nn.cond(task[0] == 0, lambda: squares[0]().mean(), lambda: squares[1]().mean())
            adam = proa.optimizer.Adam(0.05, grad_clip=proa.nn.ClipGradByGlobalNorm(0.5))
            fleet.distributed_optimizer(adam).minimize(loss)
        executor, random = static.Executor(), np.random.RandomState(0)
        executor.run(startup)
        for tasks in _TASKS:
            xs, mine = random.randn(8, 4), slice(rank * 8 // count, (rank + 1) * 8 // count)
            executor.run(main, {"x": xs[mine], "task": np.repeat(tasks, 4)[mine]}, [loss])
        return {name: main.state_dict()[f"{name}_{mark}"].numpy() for name in ("shared", "first", "second")}
    finally:
        proa.disable_static()


@pytest.mark.parametrize("how", ["", "gradient_merge", "sharding"])
def test_tasks_chosen_by_control_flow(how):
    (wanted,) = run_threads(_train, 1, how)
    for found in run_threads(_train, 2, how):
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-9, err_msg=name)
            assert np.abs(value - _start(*value.shape)).max() > 0.01
