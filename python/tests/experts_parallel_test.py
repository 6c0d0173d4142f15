"""Experts beside processes that divide layers: these hold copies, which begin alike, learn alike, and are clipped as one model."""

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed import fleet
from proa.distributed.groups import run_threads
from proa.distributed.sharding import group_sharded_parallel, save_group_sharded_model
from proa.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm, GShardGate, MoELayer

TOKENS, SIZE, EXPERTS, STEPS = 8, 4, 4, 4
CLIPS = {"all": nn.ClipGradByGlobalNorm, "experts": ClipGradForMOEByGlobalNorm}


def _layer(count, moe=None, mp=None):
    return MoELayer(
        SIZE, nn.LayerList([nn.Linear(SIZE, SIZE) for _ in range(count)]), {"type": "naive"}, moe_group=moe, mp_group=mp
    )


def _batch(step):
    return np.random.default_rng(step).standard_normal([TOKENS, SIZE]).astype("float32")


@pytest.fixture(scope="module")
def one_process():
    """(weights before, losses, weights after) of one process, whose clip changes every step."""
    proa.seed(2)
    net = _layer(EXPERTS)
    before = {name: value.numpy() for name, value in net.state_dict().items()}
    adam = proa.optimizer.AdamW(0.05, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.02))
    losses = []
    for step in range(STEPS):
        loss = (net(proa.to_tensor(_batch(step))) ** 2).mean()
        loss.backward()
        adam.step(), adam.clear_grad()
        losses.append(loss.item())
    return before, losses, {name: value.numpy() for name, value in net.state_dict().items()}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("dp, mp", [(2, 1), (1, 2), (2, 2), (4, 2)])
def test_experts_beside_tensor_parallel(dp, mp, clip, one_process):
    before, losses, after = one_process

    def body():
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"dp_degree": dp, "mp_degree": mp, "pp_degree": 1}
        fleet.init(is_collective=True, strategy=strategy)
        hcg = fleet.get_hybrid_communicate_group()
        data, model = hcg.get_data_parallel_group(), hcg.get_model_parallel_group()
        proa.seed(50 + dist.get_rank())
        net = _layer(EXPERTS // dp, data, model)
        own = {name: name for name in net.state_dict()} | {
            f"experts.{i}.{part}": f"experts.{data.rank * (EXPERTS // dp) + i}.{part}"
            for i in range(EXPERTS // dp)
            for part in ("weight", "bias")
        }
        if model.rank == 0:
            net.set_state_dict({name: proa.to_tensor(before[whole]) for name, whole in own.items()})
        # Only the first of those that divide layers has them yet.
        wrapped = fleet.distributed_model(net)
        for name, value in net.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), before[own[name]], err_msg=name)
        limit = CLIPS[clip](0.02, **({"moe_group": data} if clip == "experts" else {}))
        adam = fleet.distributed_optimizer(proa.optimizer.AdamW(0.05, parameters=net.parameters(), grad_clip=limit))
        found = []
        for step in range(STEPS):
            loss = (wrapped(proa.to_tensor(np.split(_batch(step), dp)[data.rank])) ** 2).mean()
            loss.backward()
            adam.step(), adam.clear_grad()
            shown = loss.detach()
            dist.all_reduce(shown, dist.ReduceOp.AVG)
            found.append(shown.item())
        for name, value in net.state_dict().items():
            np.testing.assert_allclose(value.numpy(), after[own[name]], atol=2e-5, err_msg=name)
        return found

    for found in run_threads(body, dp * mp):
        np.testing.assert_allclose(found, losses, rtol=1e-5)


def test_the_loss_of_a_gate_has_its_gradient_where_layers_are_recomputed():
    """At once and from within, of a function inside of another; backward leaves nothing behind."""
    x = proa.to_tensor(_batch(0), stop_gradient=False)
    gate = GShardGate(SIZE, EXPERTS, 1, random_routing=False)
    layer = MoELayer(SIZE, nn.LayerList([nn.Linear(SIZE, SIZE) for _ in range(EXPERTS)]), gate)

    def twice(h):
        return proa.autograd.recompute(layer, proa.autograd.recompute(proa.tanh, h))

    def within(h):
        y = layer(h)
        return y.sum() + gate.get_loss()

    def found(run, takes):
        layer.clear_gradients()
        loss = run(x)
        (loss.sum() + (gate.get_loss() if takes else 0.0)).backward()
        assert not gate.has_loss
        return {name: p.grad.numpy() for name, p in layer.named_parameters()}

    plain = lambda h: layer(proa.tanh(h))
    for run in (lambda h: proa.autograd.recompute(plain, h), lambda h: proa.autograd.recompute(twice, h)):
        wanted, same = found(plain, True), found(run, True)
        assert (
            np.abs(
                wanted["gate.gate.weight"] - found(lambda h: plain(h) + 0 * gate.get_loss(), False)["gate.gate.weight"]
            ).max()
            > 1e-4
        )
        for name, value in wanted.items():
            np.testing.assert_allclose(same[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    wanted, same = found(within, False), found(lambda h: proa.autograd.recompute(within, h), False)
    for name, value in wanted.items():
        np.testing.assert_allclose(same[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_program_has_no_experts():
    layer = MoELayer(4, [nn.Linear(4, 4)], {"type": "naive", "top_k": 1})
    with pytest.raises(NotImplementedError, match="MoELayer: .* cannot be part of a program .* call it eagerly"):
        proa.jit.to_static(layer.forward)(proa.ones([3, 4]))


def test_data_parallel_leaves_what_processes_have_of_their_own():
    """`no_sync`: neither begins equal nor is averaged; of experts, copies are refused."""

    def body():
        rank = dist.get_rank()
        net = nn.Linear(2, 1)
        net.bias.no_sync = True
        net.weight.set_value(np.full([2, 1], rank + 1.0))
        net.bias.set_value(np.full([1], rank + 1.0))
        model = proa.DataParallel(net)
        model(proa.full([1, 2], rank + 1.0)).sum().backward()
        assert net.weight.tolist() == [[1.0], [1.0]] and net.weight.grad.tolist() == [[2.5], [2.5]]
        assert net.bias.tolist() == [rank + 1.0] and net.bias.grad.tolist() == [1.0]
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        layer = _layer(2, groups[rank // 2])
        with pytest.raises(NotImplementedError, match="others in .* copies of them; use fleet.distributed_model"):
            proa.DataParallel(layer)
        return True

    assert run_threads(body, 4) == [True] * 4


def test_one_file_has_not_the_experts_of_all(tmp_path):
    def body():
        net = _layer(2, dist.get_group())
        net, adam, _ = group_sharded_parallel(net, proa.optimizer.Adam(parameters=net.parameters()), "os")
        with pytest.raises(NotImplementedError, match="experts.0.weight is another one on each process"):
            save_group_sharded_model(net, str(tmp_path), adam)
        return True

    assert run_threads(body, 2) == [True] * 2
