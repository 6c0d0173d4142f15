"""Zeros of pruned weights under sharding: kept in every stage, in every order of calls, with the weights of stage 1."""

import json

import pytest

from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
from proa.incubate import asp
strategy = fleet.DistributedStrategy()
strategy.hybrid_configs = {{"sharding_degree": 2, "dp_degree": 1}}
strategy.sharding_configs = {{"stage": {stage}}}
strategy.asp = {switch}
fleet.init(is_collective=True, strategy=strategy)
proa.seed(3)
net = proa.nn.Sequential(proa.nn.Linear(8, 16), proa.nn.Linear(16, 3))
opt = proa.optimizer.Adam(0.1, parameters=net.parameters())
{order}
for step in range(3):
    x = np.random.RandomState(step + dist.get_rank()).rand(4, 8).astype("float32")
    trained(proa.to_tensor(x)).square().mean().backward()
    opt.step()
    opt.clear_grad()
state = trained.state_dict()
weights = [state[name] for name in ("0.weight", "1.weight")]
assert all(asp.check_sparsity(w.numpy().T) for w in weights)
assert [asp.calculate_density(w) for w in weights] == [0.5, 0.5]
print(json.dumps([w.tolist() for w in state.values()]))
"""

_ORDERS = {
    "decorated first": "asp.prune_model(net); opt = asp.decorate(opt)\n"
    "trained = fleet.distributed_model(net); opt = fleet.distributed_optimizer(opt)",
    "decorated last": "asp.prune_model(net); trained = fleet.distributed_model(net)\n"
    "opt = asp.decorate(fleet.distributed_optimizer(opt))",
    "pruned last": "trained = fleet.distributed_model(net); opt = fleet.distributed_optimizer(opt); asp.prune_model(net)",
}


def _weights(stage, order):
    switch = order == "pruned last"
    return [json.loads(out) for out in ranks.run(_TRAIN.format(stage=stage, order=_ORDERS[order], switch=switch), 2)]


def test_every_stage_and_order():
    wanted = _weights(1, "decorated first")
    assert wanted[0] == wanted[1]
    for stage, order in (
        (1, "pruned last"),
        (2, "decorated last"),
        (2, "pruned last"),
        (3, "decorated first"),
        (3, "pruned last"),
    ):
        assert _weights(stage, order) == wanted, (stage, order)


_PROGRAM = """
import json
import proa.distributed.fleet as fleet
from proa.incubate import asp as sparsity
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.asp, strategy.sharding = {switch}, {sharding}
fleet.init(is_collective=True, strategy=strategy)
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x = proa.static.data("x", [None, 8])
    hidden = proa.static.nn.fc(x, 16, weight_attr=proa.ParamAttr(name="fc_w"), bias_attr=False)
    loss = ((hidden - 1.0) ** 2).mean()
    sgd = proa.optimizer.SGD(0.1)
    fleet.distributed_optimizer(sgd if {switch} else sparsity.decorate(sgd)).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
sparsity.add_supported_layer("fc_w")
sparsity.prune_model(main)
before = np.array(main.state_dict()["fc_w"])
for step in range(3):
    x = np.random.RandomState(step + dist.get_rank()).rand(4, 8).astype("float32")
    executor.run(main, feed={{"x": x}}, fetch_list=[loss])
after = np.array(main.state_dict()["fc_w"])
print(json.dumps([sparsity.calculate_density(after), sparsity.check_sparsity(after.T), float(abs(after - before).max())]))
"""


@pytest.mark.parametrize("switch, sharding", [(True, False), (True, True), (False, True)])
def test_programs(switch, sharding):
    for out in ranks.run(_PROGRAM.format(switch=switch, sharding=sharding), 2):
        density, sparse, moved = json.loads(out)
        assert (density, sparse) == (0.5, True) and moved > 1e-3
