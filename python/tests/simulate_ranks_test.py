"""What the simulator says of pipelines beside pipelines of as many ranks, whose layers wait in place of computing.

So they need no core each, and what is measured is what schedules and messages take: of 4 and 8 ranks on any machine.
"""

import time

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.autograd import PyLayer
from proa.distributed import fleet
from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
from proa.distributed.groups import run_threads
from proa.distributed.simulate import Strategy, predict
from proa.distributed.simulate.work import Operation, Parameter, Work
from python.tests.simulated_work import COSTS, topology

STEPS = 2


class _Waiting(PyLayer):
    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.seconds = backward
        time.sleep(forward)
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        time.sleep(ctx.seconds)
        return grad


class _Layer(nn.Layer):
    """x * w, in so many seconds."""

    def __init__(self, forward, backward):
        super().__init__()
        self.seconds = forward, backward
        self.weight = self.create_parameter([4])

    def forward(self, x):
        return _Waiting.apply(x * self.weight, *self.seconds)


def _measured(seconds, stages, micro, chunks):
    """Seconds of the fastest of some steps."""

    def body():
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": stages}
        strategy.pipeline_configs = {"accumulate_steps": micro, "micro_batch_size": 2}
        fleet.init(is_collective=True, strategy=strategy)
        net = PipelineLayer(
            [LayerDesc(_Layer, *pair) for pair in seconds],
            loss_fn=lambda y, t: ((y - t) ** 2).mean(),
            topology=fleet.get_hybrid_communicate_group().topology(),
            num_virtual_pipeline_stages=chunks,
        )
        sgd = fleet.distributed_optimizer(proa.optimizer.SGD(0.1, parameters=net.parameters()))
        model, found = fleet.distributed_model(net), []
        batch = [proa.ones([2 * micro, 4]), proa.zeros([2 * micro, 4])]
        for _ in range(STEPS):
            dist.barrier()
            began = time.perf_counter()
            model.train_batch(batch, sgd)
            dist.barrier()
            found.append(time.perf_counter() - began)
        return min(found)

    return max(run_threads(body, stages))


def _predicted(seconds, stages, micro, chunks):
    calls = list(enumerate(seconds))
    operations = [Operation("f", "forward", i, pair[0], 0.0, (i,), (i + 1,)) for i, pair in calls]
    operations += [Operation("b", "backward", i, pair[1], 0.0, (i,)) for i, pair in reversed(calls)]
    held = [Parameter(1000 + i, (4,), 16.0, i) for i, _ in calls]
    work = Work(operations, held, dict.fromkeys(range(len(calls) + 1), 32.0), 0.0)
    strategy = Strategy(pp=stages, micro_batches=micro, chunks=chunks)
    return predict(work, topology(stages), strategy, COSTS)


@pytest.mark.parametrize(
    "stages, micro, chunks, even",
    [(2, 4, 1, False), (4, 8, 1, True), (4, 4, 2, False), (8, 8, 1, True), (8, 8, 1, False)],
)
def test_pipelines(stages, micro, chunks, even):
    parts, random = stages * chunks, np.random.RandomState(stages + chunks)
    seconds = [(0.03, 0.06)] * parts if even else list(zip(*random.uniform(0.02, 0.07, [2, parts]).tolist()))
    found, said = _measured(seconds, stages, micro, chunks), _predicted(seconds, stages, micro, chunks)
    assert 0.98 < found / said.seconds < 1.1, (found, said.seconds)
    if even:
        work = micro * sum(map(sum, seconds)) / stages
        np.testing.assert_allclose(1 - work / found, said.bubble, atol=0.05)
