"""Row-sparse gradients and small exchanges of workers, where other things go on beside them."""

import json

import numpy as np
import pytest

from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
strategy = fleet.DistributedStrategy()
strategy.fp16_allreduce = True  # the optimizer exchanges
fleet.init(is_collective=True, strategy=strategy)
proa.seed(1)
table = proa.nn.Embedding(50, 4, sparse=True, weight_attr=proa.nn.initializer.Constant(1.0))
head = proa.nn.Linear(4, 1, weight_attr=proa.nn.initializer.Constant(0.5))
net = fleet.distributed_model(proa.nn.LayerList([table, head]))
sgd = fleet.distributed_optimizer(proa.optimizer.SGD(0.1, parameters=net.parameters()))
rank = dist.get_rank()
kinds = []
for used in ([rank, 2 + rank, 5], [7] if rank == 0 else []):
    if used:
        loss = head(table(proa.to_tensor(used))).sum()
        if {dense} and rank == 1:
            loss = loss + table.weight.sum()
    else:
        loss = head.weight.sum()
    loss.backward()
    sgd.step()
    kinds.append(table.weight.grad.is_selected_rows())
    sgd.clear_grad()
print(json.dumps([kinds, table.weight.tolist()]))
"""


@pytest.mark.parametrize("dense", [False, True])
def test_optimizers_of_fleet_gather_rows(dense):
    # A rank whose gradient is dense makes those of the others dense, too.
    found = [json.loads(out) for out in ranks.run(_TRAIN.format(dense=dense), 2)]
    wanted = np.ones((50, 4))
    step = lambda rows, by: np.add.at(wanted, rows, -0.1 * by / 2)
    step([0, 2, 5, 1, 3, 5], 0.5)
    if dense:
        wanted -= 0.1 / 2
    head = 0.5 - 0.1 * np.array([3.0, 3.0]).mean()  # its gradient is the sum of three rows of ones
    step([7], head)
    for kinds, table in found:
        assert kinds == [not dense, not dense]  # cleared gradients stay what they were
        np.testing.assert_allclose(table, wanted, atol=1e-3, rtol=0)
        assert table == found[0][1]


_BESIDE = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
fleet.init(is_collective=True)
rank = dist.get_rank()
main = proa.static.Program()
with proa.static.program_guard(main):
    x = proa.static.data("x", [2])
    y = x + 1.0
    before = str(main)
    pos, neg = np.zeros([1, 4]), np.zeros([1, 4])
    pos[0, 2 + rank], neg[0, rank] = 3, 2
    objects = ["of rank 0"] if rank == 0 else [None]
    dist.broadcast_object_list(objects, 0)
    found = [fleet.metrics.auc(pos, neg), fleet.util.all_gather([rank, "a"]), fleet.util.all_reduce(2.5), objects]
    fleet.util.barrier()
    assert str(main) == before
print(json.dumps(found))
"""


def test_exchanges_leave_no_trace_in_programs():
    for out in ranks.run(_BESIDE, 2):
        assert json.loads(out) == [1.0, [[0, "a"], [1, "a"]], 5.0, ["of rank 0"]]
