"""DataParallel of networks and loops drawn at random, beside one process that has the batches of all ranks.

`python -m python.tests.random_replicas 200 --first 0` runs as many of them, and says which differ.
"""

from typing import NamedTuple

import numpy as np

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed.groups import run_threads
from python.tests import random_plans


class Plan(NamedTuple):
    """What a job does.

    Attributes:
        unused (bool): some layers are left out of some backward passes; on other ranks others, if they `differ`.
        passes (int): of backward between two steps, of which only the last is exchanged if it is `quiet` before.
    """

    seed: int
    ranks: int
    sparse: bool
    shared: bool
    frozen: bool
    recompute: bool
    unused: bool
    differ: bool
    nested: bool
    both: bool
    passes: int
    quiet: bool
    optimizer: str
    clip: bool
    mib: float
    zeros: bool


def draw(seed):
    """The plan of this number."""
    random = np.random.RandomState(seed)

    def coin():
        return bool(random.rand() < 0.5)

    return Plan(
        seed=seed, ranks=int(random.choice([2, 3, 4])), sparse=coin(), shared=coin(), frozen=coin(), recompute=coin(), unused=coin(),
        differ=coin(), nested=coin(), both=coin(), passes=int(random.choice([1, 2, 3])), quiet=coin(),
        optimizer=str(random.choice(["SGD", "Momentum", "Adam", "AdamW"])), clip=coin(), mib=float(random.choice([25, 1e-4, 1e-3])),
        zeros=coin(),
    )  # fmt: skip


class Net(nn.Layer):
    """Layers of which a call takes part; two outputs, in a tuple or deeper."""

    def __init__(self, plan):
        super().__init__()
        self.plan = plan
        self.words = nn.Embedding(7, 6, sparse=plan.sparse)
        self.a, self.b, self.c, self.out = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.again = self.b if plan.shared else nn.Linear(6, 6)
        self.a.weight.stop_gradient = plan.frozen

    def _begin(self, h):
        return proa.tanh(self.a(h))

    def forward(self, x, number):
        h = self.words(x)
        h = dist.fleet.utils.recompute(self._begin, h) if self.plan.recompute else self._begin(h)
        if not self.plan.unused or number % 2 == 0:
            h = h + self.b(h)
        if not self.plan.unused or number % 3 == 0:
            h = h + self.c(h)
        y = self.out(self.again(h))
        return {"y": [y, h.mean()]} if self.plan.nested else (y, h.mean())


def _train(plan, rank=None):
    """Weights after some steps, of a rank or of one process."""
    net, random = Net(plan), np.random.RandomState(plan.seed)
    for at, p in enumerate(net.parameters()):
        p.set_value(np.random.RandomState(at + 50 * (rank or 0)).randn(*p.shape) * 0.4)  # of the first rank on all
    model = net
    if rank is not None:
        some = plan.unused or plan.recompute
        model = proa.DataParallel(
            net, comm_buffer_size=plan.mib, last_comm_buffer_size=plan.mib, find_unused_parameters=some
        )
    clip = nn.ClipGradByGlobalNorm(0.3) if plan.clip else None
    optimizer = getattr(proa.optimizer, plan.optimizer)(0.05, parameters=net.parameters(), grad_clip=clip)

    def loss(batch, number):
        found = model(proa.to_tensor(batch[0]), number)
        y, mean = found["y"] if plan.nested else found
        return ((y - proa.to_tensor(batch[1])) ** 2).mean() + (mean if plan.both else 0.0)

    for step in range(4):
        for at in range(plan.passes):
            batches = list(zip(random.randint(0, 7, (plan.ranks, 4, 2)), random.randn(plan.ranks, 4, 2, 3)))
            numbers = [step + at + (place if plan.differ else 0) for place in range(plan.ranks)]
            if rank is None:
                (sum(map(loss, batches, numbers)) / plan.ranks).backward()
            elif plan.quiet and at + 1 < plan.passes:
                with model.no_sync():
                    loss(batches[rank], numbers[rank]).backward()
            else:
                loss(batches[rank], numbers[rank]).backward()
        optimizer.step()
        optimizer.clear_grad(plan.zeros)
    return {name: p.numpy() for name, p in net.named_parameters()}


def check(plan):
    """AssertionError if a rank of a plan learns something else than one process does."""
    wanted = _train(plan)
    for found in run_threads(lambda: _train(plan, dist.get_rank()), plan.ranks):
        for name, value in found.items():
            np.testing.assert_allclose(value, wanted[name], rtol=0, atol=1e-9, err_msg=name)


if __name__ == "__main__":
    random_plans.main(draw, check, __doc__)
