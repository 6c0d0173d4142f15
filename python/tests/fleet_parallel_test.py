"""Every way of being parallel gives the losses and weights of one process: ranks are processes that compute both."""

import os

import numpy as np
import pytest

import proa
import proa.distributed as dist
import proa.nn.functional as F
from proa import nn
from proa.distributed import fleet
from python.tests import ranks

VOCABULARY, HIDDEN, HEADS, BATCH, LENGTH, STEPS = 8, 8, 4, 8, 5, 5


def _run(count, function, *arguments):
    """Calls a function of this file on `count` ranks."""
    source = f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
    source += f"import fleet_parallel_test as here\nhere.{function}(*{arguments!r})\nprint('good')\n"
    assert all(out.endswith("good\n") for out in ranks.run(source, count))


def _begin(**degrees):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = degrees
    share = BATCH // degrees.get("dp_degree", 1) // degrees.get("sharding_degree", 1)
    strategy.pipeline_configs = {"accumulate_steps": 2, "micro_batch_size": share // 2}
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group()


# A small GPT, whole or in parts ------------------------------------------------------------------------------------------


class Block(nn.Layer):
    def __init__(self, parts):
        super().__init__()
        from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear

        self.heads = HEADS // parts
        self.before, self.between = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        if parts > 1:
            self.qkv = ColumnParallelLinear(HIDDEN, 3 * HIDDEN, has_bias=False, gather_output=False)
            self.out = RowParallelLinear(HIDDEN, HIDDEN, input_is_parallel=True)
            self.up = ColumnParallelLinear(HIDDEN, 4 * HIDDEN, has_bias=True, gather_output=False)
            self.down = RowParallelLinear(4 * HIDDEN, HIDDEN, input_is_parallel=True)
        else:
            self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN, bias_attr=False), nn.Linear(HIDDEN, HIDDEN)
            self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        batch, length, _ = x.shape
        # No bias: that of the keys has no gradient but rounding, which Adam would make steps of.
        # Columns are [head, q|k|v, size], so that a part of them is whole heads.
        qkv = (
            self.qkv(self.before(x)).reshape([batch, length, self.heads, 3, HIDDEN // HEADS]).transpose([3, 0, 2, 1, 4])
        )
        scores = F.softmax(
            qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) + proa.triu(proa.full([length, length], -1e4), 1), -1
        )
        x = x + self.out((scores @ qkv[2]).transpose([0, 2, 1, 3]).reshape([batch, length, -1]))
        return x + self.down(F.gelu(self.up(self.between(x))))


def _embed(parts):
    from proa.distributed.fleet.meta_parallel import VocabParallelEmbedding

    return VocabParallelEmbedding if parts > 1 else nn.Embedding


def _head(layer, x):
    """Logits by the weight of the embedding; of this rank's words if it is divided."""
    from proa.distributed.fleet.layers.mpu import mp_ops

    return mp_ops.copy_in(x) @ layer.weight.t() if hasattr(layer, "vocab_start_index") else x @ layer.weight.t()


def _loss(parts):
    from proa.distributed.fleet.meta_parallel import ParallelCrossEntropy

    if parts > 1:
        entropy = ParallelCrossEntropy()
        return lambda x, y: entropy(x, y).mean()
    return lambda x, y: F.cross_entropy(x, y).mean()


def _descs(parts):
    from proa.distributed.fleet.meta_parallel import LayerDesc, SharedLayerDesc

    tied = (_embed(parts), _head, "weight", VOCABULARY, HIDDEN)
    return [
        SharedLayerDesc("words", tied[0], None, *tied[2:]),
        *[LayerDesc(Block, parts) for _ in range(3)],
        LayerDesc(nn.LayerNorm, HIDDEN),
        SharedLayerDesc("words", *tied),
    ]


class GPT(nn.Layer):
    """The same layers under the same names, in one process."""

    def __init__(self, parts=1):
        super().__init__()
        for i, desc in enumerate(_descs(parts)[:-1]):
            self.add_sublayer(str(i), desc.build_layer())

    def forward(self, x):
        for i in range(5):
            x = self._sub_layers[str(i)](x)
        return _head(self._sub_layers["0"], x)


def _part(value, parameter, group):
    axis = getattr(parameter, "split_axis", None)
    return value if axis is None or group.nranks == 1 else np.split(value, group.nranks, axis)[group.rank]


def _whole(model):
    values = {name: p.numpy() for name, p in model.named_parameters()}
    return {**values, "5.weight": values.get("0.weight")}


def _optimizer(model, kind="AdamW"):
    clip = nn.ClipGradByGlobalNorm(0.3)
    return getattr(proa.optimizer, kind)(0.01, parameters=model.parameters(), grad_clip=clip)


def gpt(degrees, segments="uniform", recompute=0, kind="AdamW", half=False):
    """Trains both, and compares losses and then weights."""
    from proa.distributed.fleet.meta_parallel import PipelineLayer

    hcg = _begin(**degrees)
    fleet.fleet._user_defined_strategy.fp16_allreduce = half
    model_group = hcg.get_model_parallel_group()
    parts = model_group.nranks
    proa.seed(11)
    one = GPT()
    stages = degrees.get("pp_degree", 1)
    if stages > 1:
        net = PipelineLayer(
            _descs(parts),
            loss_fn=_loss(parts),
            seg_method=segments,
            topology=hcg.topology(),
            recompute_interval=recompute,
        )
    else:
        net = GPT(parts)
    start = _whole(one)
    # The first data-parallel rank's weights are everybody's.
    factor = 1.0 if hcg.get_data_parallel_rank() == 0 else 2.0
    for name, p in net.named_parameters():
        p.set_value(_part(start[name], p, model_group) * factor)
    model = fleet.distributed_model(net)
    mine, theirs = _optimizer(one, kind), fleet.distributed_optimizer(_optimizer(net, kind))
    random = np.random.RandomState(5)
    ways = hcg.get_data_parallel_world_size() * hcg.get_sharding_parallel_world_size()
    way = hcg.get_data_parallel_rank() * hcg.get_sharding_parallel_world_size() + hcg.get_sharding_parallel_rank()
    for _ in range(STEPS):
        x, y = random.randint(0, VOCABULARY, [BATCH, LENGTH]), random.randint(0, VOCABULARY, [BATCH, LENGTH, 1])
        want = _loss(1)(one(proa.to_tensor(x)), proa.to_tensor(y))
        want.backward()
        mine.step(), mine.clear_grad()
        batch = [proa.to_tensor(np.split(part, ways)[way]) for part in (x, y)]
        if stages > 1:
            loss = model.train_batch(batch, theirs)
        else:
            loss = _loss(parts)(model(batch[0]), batch[1])
            loss.backward()
            theirs.step(), theirs.clear_grad()
        found = []
        dist.all_gather(found, loss.detach().reshape([1]))
        np.testing.assert_allclose(np.mean([float(f) for f in found]), float(want), rtol=2e-3 if half else 2e-6)
    if half:
        return
    final = _whole(one)
    for name, p in net.named_parameters():
        # Adam makes much of the rounding of a gradient that is nearly 0; parallel_pairs_test compares in float64.
        np.testing.assert_allclose(p.numpy(), _part(final[name], p, model_group), atol=4e-5, err_msg=name)
    if stages > 1:
        shown = float(model.eval_batch(batch, compute_loss=True))
        one.eval()
        with proa.no_grad():
            np.testing.assert_allclose(shown, float(_loss(1)(one(batch[0]), batch[1])), rtol=1e-5)


@pytest.mark.parametrize(
    "count, degrees, more",
    [
        (2, {"dp_degree": 2}, ()),
        (2, {"dp_degree": 2}, ("uniform", 0, "Momentum", True)),
        (2, {"mp_degree": 2}, ()),
        (2, {"pp_degree": 2}, ()),
        (2, {"pp_degree": 2}, ([0, 1], 1)),  # uneven stages, with recompute
        (2, {"sharding_degree": 2}, ()),
        (3, {"pp_degree": 3}, ("layer:Block",)),
        (4, {"mp_degree": 4}, ("uniform", 0, "Momentum")),
        (4, {"dp_degree": 2, "mp_degree": 2}, ()),
        (4, {"dp_degree": 2, "pp_degree": 2}, ("parameters",)),
        (4, {"pp_degree": 2, "mp_degree": 2}, ()),
        (4, {"sharding_degree": 2, "pp_degree": 2}, ()),
        (4, {"sharding_degree": 2, "mp_degree": 2}, ()),
    ],
)
def test_gpt_as_in_one_process(count, degrees, more):
    _run(count, "gpt", degrees, *more)


# States, gradients and parameters divided ---------------------------------------------------------------------------------


def sharded(level, folder):
    from proa.distributed.sharding import group_sharded_parallel, save_group_sharded_model

    dist.init_parallel_env()
    rank, count = dist.get_rank(), dist.get_world_size()

    def make():
        return nn.Sequential(nn.Linear(40, 60), nn.GELU(), nn.LayerNorm(60), nn.Linear(60, 20))

    proa.seed(rank)
    one, net = make(), make()
    one.set_state_dict({n: dist_first(v) for n, v in net.state_dict().items()})
    mine, theirs = _optimizer(one), _optimizer(net)
    scaler = proa.amp.GradScaler(init_loss_scaling=8.0, decr_every_n_nan_or_inf=1)
    net, theirs, scaler = group_sharded_parallel(net, theirs, level, scaler)
    random = np.random.RandomState(0)
    for step in range(STEPS):
        x = random.randn(8, 40).astype("float32")
        (one(proa.to_tensor(x)) ** 2).mean().backward()
        bad = step == 2
        if not bad:
            mine.step()
        mine.clear_grad()
        loss = (net(proa.to_tensor(np.split(x, count)[rank])) ** 2).mean()
        # One rank's gradients are infinite: all leave the step out.
        scaler.scale(loss * float("inf") if bad and rank == 1 else loss).backward()
        scaler.step(theirs), scaler.update(), theirs.clear_grad()
    state, states = net.state_dict(), theirs.state_dict()
    for name, value in one.state_dict().items():
        np.testing.assert_allclose(value.numpy(), state[name].numpy(), atol=3e-6)
    for (_, value), (_, found) in zip(sorted(mine.state_dict().items()), sorted(states.items())):
        np.testing.assert_allclose(value.numpy(), found.numpy(), atol=3e-6)
    # What this rank holds, by the formula: AdamW has two states of each element.
    whole = sum(p.size for p in one.parameters())
    own = sum(p.size for p in net.parameters())
    held = [t.size for name, by in theirs._accumulators.items() if not name.endswith("pow_acc") for t in by.values()]
    assert abs(own - (whole / count if level == "p_g_os" else whole)) <= 0.03 * whole / count
    assert abs(sum(held) - 2 * whole / count) <= 0.03 * 2 * whole / count
    # Gradients after backward.
    (net(proa.to_tensor(np.split(x, count)[rank])) ** 2).mean().backward()
    grads = [
        p.grad.size
        for p in {id(p): p for p in [*net.parameters(), *theirs._parameter_list]}.values()
        if p.grad is not None
    ]
    assert abs(sum(grads) - (whole if level == "os" else whole / count)) <= 0.03 * whole
    save_group_sharded_model(net, folder, theirs)
    saved = proa.load(os.path.join(folder, "model.pdmodel"))
    np.testing.assert_array_equal(saved["0.weight"].numpy(), state["0.weight"].numpy())
    theirs.set_state_dict(proa.load(os.path.join(folder, "model.pdopt")))
    net.set_state_dict(saved)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), state[name].numpy())


def dist_first(value):
    """Rank 0's value, on all ranks."""
    value = value.detach().clone()
    dist.broadcast(value, 0)
    return value


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("level", ["os", "os_g", "p_g_os"])
def test_divided_training(level, count, tmp_path):
    _run(count, "sharded", level, str(tmp_path))


# Experts ------------------------------------------------------------------------------------------------------------------


def experts(kind):
    from proa.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm, MoELayer

    fleet.init(is_collective=True)
    rank, count, group = dist.get_rank(), dist.get_world_size(), dist.get_group()

    def expert():
        return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))

    proa.seed(1)
    one = MoELayer(4, nn.LayerList([expert() for _ in range(2 * count)]), {"type": kind})
    net = MoELayer(4, nn.LayerList([expert() for _ in range(2)]), {"type": kind}, moe_group=group)
    net.gate.set_state_dict(one.gate.state_dict())
    for theirs, mine in zip(net.experts, one.experts[2 * rank : 2 * rank + 2]):
        theirs.set_state_dict(mine.state_dict())
    for layer in (one, net):
        # Without chance, and with room for all: what differs between one process and several.
        layer.gate.random_routing, layer.gate.switch_eps, layer.gate.capacity = False, 0.0, (100.0, 100.0)
    clip = ClipGradForMOEByGlobalNorm
    mine = proa.optimizer.AdamW(0.01, parameters=one.parameters(), grad_clip=clip(0.05))
    model = fleet.distributed_model(net)
    theirs = proa.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=clip(0.05, moe_group=group))
    theirs = fleet.distributed_optimizer(theirs)
    random = np.random.RandomState(0)
    for _ in range(STEPS):
        x = random.randn(8, 4).astype("float32")
        want = (one(proa.to_tensor(x)) ** 2).mean()
        want.backward()
        mine.step(), mine.clear_grad()
        loss = (model(proa.to_tensor(np.split(x, count)[rank])) ** 2).mean()
        loss.backward()
        theirs.step(), theirs.clear_grad()
        np.testing.assert_allclose(fleet.util.all_reduce(float(loss)) / count, float(want), rtol=2e-6)
    for own, whole in zip(net.experts, one.experts[2 * rank : 2 * rank + 2]):
        for p, q in zip(own.parameters(), whole.parameters()):
            np.testing.assert_allclose(p.numpy(), q.numpy(), atol=3e-6)
    assert (model._layers.gate.get_loss() is not None) == (kind != "naive")


@pytest.mark.parametrize("kind", ["naive", "gshard", "switch"])
def test_experts_on_two_ranks(kind):
    _run(2, "experts", kind)


def copies_of_experts():
    """Two groups of two ranks, each with all experts: copies learn from the tokens of both."""
    from proa.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm, MoELayer

    fleet.init(is_collective=True)
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    group, place = groups[rank // 2], rank % 2
    proa.seed(1)
    expert = lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    one = MoELayer(4, nn.LayerList([expert() for _ in range(4)]), {"type": "naive"})
    net = MoELayer(4, nn.LayerList([expert() for _ in range(2)]), {"type": "naive"}, moe_group=group)
    net.gate.set_state_dict(one.gate.state_dict())
    for theirs, mine in zip(net.experts, one.experts[2 * place : 2 * place + 2]):
        theirs.set_state_dict(mine.state_dict())
    clip = ClipGradForMOEByGlobalNorm
    mine = proa.optimizer.AdamW(0.01, parameters=one.parameters(), grad_clip=clip(0.05))
    model = fleet.distributed_model(net)
    theirs = proa.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=clip(0.05, moe_group=group))
    theirs = fleet.distributed_optimizer(theirs)
    random = np.random.RandomState(0)
    for _ in range(STEPS):
        x = random.randn(16, 4).astype("float32")
        want = (one(proa.to_tensor(x)) ** 2).mean()
        want.backward()
        mine.step(), mine.clear_grad()
        loss = (model(proa.to_tensor(np.split(x, 4)[rank])) ** 2).mean()
        loss.backward()
        theirs.step(), theirs.clear_grad()
        np.testing.assert_allclose(fleet.util.all_reduce(float(loss)) / 4, float(want), rtol=1e-5)
    for own, whole in zip(net.experts, one.experts[2 * place : 2 * place + 2]):
        for p, q in zip(own.parameters(), whole.parameters()):
            np.testing.assert_allclose(p.numpy(), q.numpy(), atol=4e-5)


def test_copies_of_experts():
    _run(4, "copies_of_experts")


def test_capacity_leaves_tokens_out():
    from proa.incubate.distributed.models.moe.routing import counts_of, limit_by_capacity

    chosen = proa.to_tensor([[0, 1], [0, 2], [0, 1], [0, -1]])
    assert counts_of(chosen, 3).tolist() == [4, 2, 1]
    assert limit_by_capacity(chosen, 3, 2).tolist() == [[0, 1], [0, 2], [-1, 1], [-1, -1]]


# Groups, exchanges of small things ----------------------------------------------------------------------------------------


def small_things():
    from proa.distributed.fleet import metrics

    hcg = _begin(dp_degree=2, mp_degree=2)
    rank = dist.get_rank()
    assert (fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()) == (rank, 4, rank == 0)
    assert hcg.get_model_parallel_group().ranks == [rank // 2 * 2, rank // 2 * 2 + 1]
    assert hcg.get_data_parallel_group().ranks == [rank % 2, rank % 2 + 2]
    assert hcg.get_pipe_parallel_group().nranks == hcg.get_sharding_parallel_world_size() == 1
    util = fleet.util
    assert util.all_reduce(float(rank)) == 6.0 and util.all_reduce(rank, "max") == 3
    assert util.all_reduce(np.array([rank, 1]), "min").tolist() == [0, 1]
    assert util.all_gather({"rank": rank}) == [{"rank": i} for i in range(4)]
    assert util.get_file_shard(list("abcdef")) == [["a", "b"], ["c", "d"], ["e"], ["f"]][rank]
    assert metrics.acc(np.array([rank]), np.array([2.0])) == 6 / 8
    fleet.barrier_worker()
    from proa.distributed.fleet.layers.mpu import get_rng_state_tracker, model_parallel_random_seed

    model_parallel_random_seed(7)
    same = proa.rand([4]).numpy().tolist()
    with get_rng_state_tracker().rng_state("model_parallel_rng"):
        own = proa.rand([4]).numpy().tolist()
    assert all(other == same for other in util.all_gather(same))
    owned = util.all_gather(own)
    assert owned[0] != owned[1] and owned[0] == owned[2] and owned[1] == owned[3]
    with pytest.raises(ValueError, match="must be that number"):
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"mp_degree": 3}
        fleet.init(is_collective=True, strategy=strategy)


def named_random_numbers_are_recomputed():
    """Dropout of a named state, in a recomputed part: backward drops the same."""
    from proa.distributed.fleet.layers.mpu import RNGStatesTracker, get_rng_state_tracker

    tracker = get_rng_state_tracker()
    assert isinstance(tracker, RNGStatesTracker)
    tracker.reset()
    tracker.add("parts", 3)

    def dropped(x):
        with tracker.rng_state("parts"):
            return F.dropout(x * x, 0.5)

    x = proa.ones([64])
    x.stop_gradient = False
    y = fleet.utils.recompute(dropped, x)
    with tracker.rng_state("parts"):
        later = proa.rand([4]).tolist()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * y.numpy())
    with tracker.rng_state("parts"):
        assert proa.rand([4]).tolist() != later


def test_named_random_numbers():
    named_random_numbers_are_recomputed()


def splits():
    """`split` over ranks: of one process the same with the parts put together."""
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"mp_degree": 2}
    fleet.init(is_collective=True, strategy=strategy)
    rank = dist.get_rank()
    constant = nn.initializer.Constant
    x = proa.to_tensor(np.arange(8, dtype="float32").reshape(2, 4))
    attr = proa.ParamAttr(initializer=constant(1.0 + rank))
    columns = dist.split(x, [4, 6], "linear", axis=1, num_partitions=2, weight_attr=attr, bias_attr=False)
    want = x.numpy().sum(1, keepdims=True) * [1, 1, 1, 2, 2, 2]
    np.testing.assert_allclose(columns.numpy(), want)
    rows = dist.split(x, [4, 6], "linear", axis=0, num_partitions=2, weight_attr=attr, bias_attr=False)
    np.testing.assert_allclose(rows.numpy(), (x.numpy() @ [[1], [1], [2], [2]]) * np.ones([1, 6]))
    words = dist.split(proa.to_tensor([0, 3, 1]), [4, 2], "embedding", num_partitions=2, weight_attr=attr)
    assert words.tolist() == [[1, 1], [2, 2], [1, 1]]
    with pytest.raises(ValueError, match="num_partitions must be 2"):
        dist.split(x, [4, 6], "linear", num_partitions=4)


def test_split_over_ranks():
    _run(2, "splits")


def mixed():
    """A pipeline of 16-bit activations and integers, with a scaler, learns; outputs come from the last stage."""
    from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

    hcg = _begin(pp_degree=2)
    descs = [LayerDesc(_WithPlaces, 4, 8), LayerDesc(_WithPlaces, 8, 8), LayerDesc(_WithPlaces, 8, 8), LayerDesc(_Last)]
    net = PipelineLayer(descs, loss_fn=lambda y, t: ((y.astype("float32") - t) ** 2).mean(), topology=hcg.topology())
    model = fleet.distributed_model(net)
    scaler = fleet.distributed_scaler(proa.amp.GradScaler(init_loss_scaling=256.0))
    optimizer = fleet.distributed_optimizer(proa.optimizer.AdamW(0.02, parameters=net.parameters()))
    x = np.random.RandomState(0).randn(8, 4).astype("float32")
    data = [proa.to_tensor(x), proa.to_tensor(x.sum(1, keepdims=True))]
    losses = []
    for step in range(40):
        with proa.amp.auto_cast(dtype="float16" if step % 2 else "bfloat16"):
            losses.append(float(model.train_batch(data, optimizer, scaler=scaler)))
    assert losses[-1] < 0.3 * losses[0], losses
    found = model.eval_batch(data)
    assert (found is None) == (dist.get_rank() == 0) and (found is None or found.shape == [8, 1])
    with pytest.raises(ValueError, match="the first dim must be 8"):
        model._micro(proa.ones([7, 4]), 0, "the input")


class _WithPlaces(nn.Layer):
    def __init__(self, size, out):
        super().__init__()
        self.linear = nn.Linear(size, out)

    def forward(self, x):
        x, places = x if isinstance(x, tuple) else (x, proa.arange(x.shape[0]))
        return self.linear(x), places


class _Last(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 1)

    def forward(self, x):
        return self.linear(x[0]) + 0 * x[1].astype("float32").unsqueeze(-1)


def test_mixed_dtypes_between_stages():
    _run(2, "mixed")


def test_groups_and_small_things():
    _run(4, "small_things")


def test_several_workers_refuse_lamb_around_another_optimizer(monkeypatch):
    fleet.init(is_collective=True)
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    strategy = fleet.DistributedStrategy()
    strategy.lamb = True
    sgd = proa.optimizer.SGD(0.1, parameters=nn.Linear(1, 1).parameters())
    monkeypatch.setattr(fleet.fleet, "_set_strategy", lambda s: setattr(fleet.fleet, "_user_defined_strategy", s))
    try:
        with pytest.raises(NotImplementedError, match="strategy.lamb is not"):
            fleet.distributed_optimizer(sgd, strategy)
    finally:
        fleet.fleet._user_defined_strategy = None


def test_counts_of_rows_that_do_not_fit():
    scatter = dist.utils.global_scatter
    counts = proa.to_tensor([1, 2])
    for x, local, says in (
        (proa.ones([4, 2]), counts, "the 3 rows of local_count"),
        (proa.ones([3]), counts, r"\[rows, size\]"),
        (proa.ones([3, 2]), proa.to_tensor([-1, 4]), "a vector of integers"),
        (proa.ones([3, 2]), proa.to_tensor([1.0, 2.0]), "a vector of integers"),
    ):
        with pytest.raises(ValueError, match=says):
            scatter(x, local, counts)
    assert scatter(proa.ones([0, 2]), proa.to_tensor([0, 0]), proa.to_tensor([0, 0])).shape == [0, 2]


def test_segments():
    from proa.distributed.fleet.meta_parallel.parallel_layers.pp_layers import LayerDesc, segment

    descs = [LayerDesc(nn.Linear, 10, 10), *[LayerDesc(nn.Linear, 2, 2)] * 4, LayerDesc(nn.LayerNorm, 2), F.relu]
    assert segment(descs, 3, "uniform") == [0, 2, 4, 7]
    assert segment(descs, 2, "parameters") == [0, 1, 7]
    assert segment(descs, 2, "layer:Linear") == [0, 2, 7]
    assert segment(descs, 2, [0, 5]) == [0, 5, 7]
    for bad, says in (("layer:Conv2D", "0 layers 'Conv2D'"), ([0, 0, 7], "must rise"), ("thirds", "must be 'uniform'")):
        with pytest.raises(ValueError, match=says):
            segment(descs, 2, bad)
    with pytest.raises(ValueError, match="each needs one"):
        segment(descs, 8, "uniform")


@pytest.mark.parametrize("name", ["lars", "lamb", "dgc", "localsgd", "gradient_merge", "auto"])
def test_switches_say_why_not(name):
    strategy = fleet.DistributedStrategy()
    setattr(strategy, name, True)
    with pytest.raises(NotImplementedError, match=f"strategy.{name} is not in this version"):
        strategy.check_dynamic()


def test_degrees():
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"mp_degree": 2, "pp_degree": 2}
    assert strategy.places(8) == (["data", "pipe", "sharding", "model"], [2, 2, 1, 2])
    with pytest.raises(ValueError, match="mp_degree 2"):
        strategy.places(6)
    strategy.hybrid_configs = {"mp_degree": 0}
    with pytest.raises(ValueError, match="must be a positive int, not 0"):
        strategy.places(8)
