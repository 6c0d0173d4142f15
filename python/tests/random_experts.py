"""Mixtures of experts drawn at random, trained by ranks in many ways, beside one process that has all experts.

`python -m python.tests.random_experts 200 --first 0` runs as many of them, and says which differ.

Layers treat each token alone, but for what routes them: a gate's capacity counts the tokens that are routed together, and its loss
those of one rank. So one process goes through the same sets of tokens, one after the other.
"""

import contextlib
from typing import NamedTuple

import numpy as np

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed import fleet
from proa.distributed.sharding import LEVELS, group_sharded_parallel
from proa.incubate.distributed.models.moe import (
    ClipGradForMOEByGlobalNorm,
    GShardGate,
    MoELayer,
    NaiveGate,
    SwitchGate,
)
from python.tests import random_plans
from python.tests.parallel_models import Pair, Way, values_for

STEPS, TOKENS, SIZE, EXPERTS = 5, 32, 6, 4
BALANCE = 0.3

_AXES = {
    "none": [], "data": ["data"], "half": ["data"], "sharding": ["sharding"], "both": ["data", "sharding"], "model": ["model"],
    "all": ["data", "sharding", "model"],
}  # fmt: skip


class Plan(NamedTuple):
    """What a job does.

    Attributes:
        way (Way): degrees of being parallel.
        among (str): which ranks have other experts than each other, of _AXES; "half" are two copies of the data-parallel ones.
        then (tuple|None): (way, among) of the second half of the steps, after the job began again from a checkpoint.
        gate (str): "naive", "gshard" or "switch".
        capacity (float): tokens for an expert, as a factor on tokens that are routed together.
        micro (int): parts of the batch of a rank, whose gradients add up.
        low (str): a 16-bit dtype, in which it computes, with `level`.
        plain (bool): DataParallel or group_sharded_parallel by hand, in place of fleet.
    """

    way: Way
    among: str
    then: tuple | None
    gate: str
    top: int
    capacity: float
    deep: bool
    balance: bool
    optimizer: str
    clip: str
    micro: int
    recompute: int
    low: str
    level: str
    frozen: str
    zeros: bool
    plain: bool

    def after(self):
        """The plan of the steps after the checkpoint."""
        return self._replace(way=self.then[0], among=self.then[1], then=None)

    @property
    def parts(self):
        """How many ranks have other experts than each other."""
        degrees = {"data": self.way.dp, "sharding": self.way.sharding, "model": self.way.mp}
        parts = int(np.prod([degrees[name] for name in _AXES[self.among]]))
        return parts // 2 if self.among == "half" else parts


def _place(random, most):
    """(way, among) of 2 to `most` ranks."""
    while True:
        dp, sharding = int(random.choice([1, 2, 2, 4])), int(random.choice([1, 1, 2]))
        mp, pp = int(random.choice([1, 1, 2])), int(random.choice([1, 1, 2]))
        way = Way(dp, mp, pp, sharding, int(random.choice([1, 2, 3])))
        among = str(random.choice(["data", *_AXES]))
        fits = dp == 4 if among == "half" else dp * sharding * (mp if among == "all" else 1) <= EXPERTS
        if 2 <= way.ranks <= most and fits:
            return way, among


def draw(seed, most=8):
    """The plan of this number."""
    random = np.random.RandomState(seed)
    way, among = _place(random, most)
    degrees = sorted([way.dp, way.sharding, way.mp, way.pp])
    low = str(random.choice(["", "", "bfloat16", "float16"]))
    then = _place(random, most) if random.rand() < 0.3 and not low else None
    gate = str(random.choice(["naive", "gshard", "switch"]))
    plain = then is None and degrees[2] == 1 and way.dp * way.sharding > 1 and among != "half" and random.rand() < 0.5
    # Without fleet a norm of all gradients is that of one process.
    clips = ["", "experts", "ClipGradByNorm", "ClipGradByValue"] + ["ClipGradByGlobalNorm"] * (not plain or way.dp == 1)
    return Plan(
        way=way,
        among=among,
        then=then,
        gate=gate,
        top={"naive": int(random.choice([1, 2, 3])), "gshard": 2, "switch": 1}[gate],
        capacity=float(random.choice([0.25, 0.5, 1.0])),
        deep=bool(random.rand() < 0.5),
        balance=bool(random.rand() < 0.5) and gate != "naive" and way.pp == 1 and (then is None or then[0].pp == 1),
        # The others make small differences of 16 bits large, where a gradient is nearly 0.
        optimizer=str(random.choice(["SGD", "Momentum"] if low else ["SGD", "Momentum", "Adam", "AdamW", "Lamb"])),
        clip=str(random.choice(clips)),
        micro=int(random.choice([1, 2])),
        recompute=int(random.choice([0, 0, 1, 2])),
        low=low,
        level=str(random.choice(["O1", "O2"])),
        frozen=str(random.choice(["", "", "", "gate", "experts"])),
        zeros=bool(random.rand() < 0.5),
        plain=bool(plain),
    )


def _gate(plan, own, ranks, group, capacity):
    if plan.gate == "naive":
        return NaiveGate(SIZE, own, ranks, topk=plan.top)
    if plan.gate == "gshard":
        return GShardGate(SIZE, own, ranks, capacity=(capacity, capacity), random_routing=False, group=group)
    return SwitchGate(SIZE, own, ranks, switch_eps=0.0, capacity=(capacity, capacity), group=group)


class Block(nn.Layer):
    """x + experts(norm(x))."""

    def __init__(self, plan, group=None, shared=None):
        super().__init__()
        ranks = 1 if group is None else group.nranks
        own = EXPERTS // ranks
        self.norm = nn.LayerNorm(SIZE)

        def expert():
            if not plan.deep:
                return nn.Linear(SIZE, SIZE)
            return nn.Sequential(nn.Linear(SIZE, SIZE + 2), nn.GELU(), nn.Linear(SIZE + 2, SIZE))

        # A gate's capacity is a factor on tokens of one rank, for tokens of all.
        gate = _gate(plan, own, ranks, group, plan.capacity * (ranks if group is not None else 1))
        self.mixed = MoELayer(
            SIZE, nn.LayerList([expert() for _ in range(own)]), gate, group, shared, int(plan.recompute == 2)
        )
        self.seen = []

    def forward(self, x):
        h = self.norm(x)
        self.seen.append(h)
        return x + self.mixed(h)


def _layers(plan, way, groups=(None, None)):
    return [(Pair, way, SIZE, 8, SIZE, nn.Tanh()), (Block, plan, *groups), (nn.LayerNorm, SIZE), (Block, plan, *groups), (nn.Linear, SIZE, 2)]  # fmt: skip


def _squares(y, t):
    return ((y - t) ** 2).mean()


def _data(step):
    random = np.random.RandomState(step)
    dtype = proa.get_default_dtype()
    return random.randn(TOKENS, SIZE).astype(dtype), random.randn(TOKENS, 2).astype(dtype)


def _balances(plan, gate, rows, ranks):
    """The losses of a gate, by its definition, for what each of several ranks has of tokens that are routed together."""
    scores = gate.gate(rows)
    chances = nn.functional.softmax(scores, -1)
    chosen = scores.topk(1)[1].numpy().reshape(-1)
    kept = np.eye(EXPERTS)[chosen]
    if plan.gate == "switch":
        kept *= kept.cumsum(0) <= np.ceil(plan.capacity * len(chosen))
    found = []
    for counts, chance in zip(np.split(kept, ranks), chances.split(ranks, 0)):
        share = proa.to_tensor(counts.sum(0) / max(1, counts.sum()), dtype=scores.dtype)
        both = share * chance.mean(0)
        found.append(both.sum() * EXPERTS if plan.gate == "switch" else both.mean() * (EXPERTS // plan.parts) ** 2)
    return found


def _optimizer(plan, net, group=None):
    more = {}
    if plan.low and plan.level == "O2":
        more["multi_precision"] = True
    if plan.clip == "experts":
        more["grad_clip"] = ClipGradForMOEByGlobalNorm(0.3, moe_group=group)
    elif plan.clip:
        more["grad_clip"] = getattr(nn, plan.clip)(0.3 if plan.clip == "ClipGradByGlobalNorm" else 0.05)
    make = getattr(proa.optimizer, plan.optimizer)
    return make(learning_rate=0.02, parameters=net.parameters(), **more)


def _freeze(plan, net):
    for name, p in net.named_parameters():
        p.stop_gradient = plan.frozen != "" and f".mixed.{plan.frozen}." in name


def _amp(plan):
    return proa.amp.auto_cast(enable=bool(plan.low), level=plan.level, dtype=plan.low or "bfloat16")


def _sets(plan):
    """For each set of tokens that are routed together: [ranks, numbers of a rank's tokens]."""
    way, copies = plan.way, 2 if plan.among == "half" else 1
    axes = [{"data": 1, "sharding": 2, "model": 4}[name] for name in _AXES[plan.among]]
    of_rank = np.arange(TOKENS).reshape(copies, way.dp // copies, way.sharding, plan.micro, way.mp, -1)
    others = [axis for axis in range(5) if axis not in axes]
    return list(of_rank.transpose([*others, *axes, 5]).reshape(-1, plan.parts, of_rank.shape[-1]))


def _one_step(plan, net, step):
    """The loss of one process; gradients are there."""
    x, y = map(proa.to_tensor, _data(step))
    total, sets = 0.0, _sets(plan)
    for tokens in sets:
        numbers = proa.to_tensor(tokens.reshape(-1))
        with _amp(plan):
            loss = _squares(net(x[numbers]), y[numbers])
        for block in net[1], net[3]:
            seen, gate = block.seen.pop(), block.mixed.gate
            block.seen.clear()
            gate.get_loss()
            if plan.balance:
                with _amp(plan):
                    parts = _balances(plan, gate, seen, len(tokens))
                loss = loss + BALANCE * sum(parts).astype(loss.dtype) / len(parts)
        (loss / len(sets)).backward()
        total += loss.item() / len(sets)
    return total


def _steps_of_one(plan, net, optimizer, numbers):
    losses = []
    for step in numbers:
        losses.append(_one_step(plan, net, step))
        optimizer.step()
        optimizer.clear_grad(plan.zeros)
    return losses


def _one(plan):
    """(losses, weights before, weights after) of one process."""
    proa.seed(11)
    net = nn.Sequential(*[layer(*args) for layer, *args in _layers(plan, Way())])
    before = {name: p.numpy() for name, p in net.named_parameters()}
    _freeze(plan, net)
    optimizer = _optimizer(plan, net)
    if plan.low and plan.level == "O2":
        net, optimizer = proa.amp.decorate(net, optimizer, level="O2", dtype=plan.low)
    half = STEPS if plan.then is None else STEPS // 2
    losses = _steps_of_one(plan, net, optimizer, range(half))
    if plan.then is not None:
        # The same factor on other numbers of tokens that are routed together.
        losses += _steps_of_one(plan.after(), net, optimizer, range(half, STEPS))
    return losses, before, {name: p.astype(before[name].dtype).numpy() for name, p in net.named_parameters()}


def _expert_group(plan, hcg):
    """The processes that have other experts than this one."""
    if plan.among == "none":
        return None
    if plan.among == "data":
        return hcg.get_data_parallel_group()
    lists = hcg.topology().get_fused_comm_list(_AXES[plan.among])
    if plan.among == "half":
        lists = [part for ranks in lists for part in (ranks[:2], ranks[2:])]
    made = [(dist.new_group(ranks), ranks) for ranks in lists]
    return next(group for group, ranks in made if dist.get_rank() in ranks)


def _own(plan, net, values, group, hcg):
    """{name: this rank's part of a value of one process}."""
    first = 0 if group is None else group.rank * (EXPERTS // group.nranks)
    whole = {}
    for name, _ in net.named_parameters():
        before, mark, after = name.partition(".experts.")
        at, _, rest = after.partition(".")
        whole[name] = values[f"{before}{mark}{int(at) + first}.{rest}" if mark else name]
    return values_for(net, whole, hcg.get_model_parallel_group())


def _job(plan, values, first):
    """What this rank trains: (net, wrapped, optimizer, group of experts)."""
    from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

    strategy, way = fleet.DistributedStrategy(), plan.way
    strategy.hybrid_configs = {
        "dp_degree": way.dp, "mp_degree": way.mp, "pp_degree": way.pp, "sharding_degree": way.sharding,
    }  # fmt: skip
    strategy.sharding_configs = {"stage": way.stage}
    size = TOKENS // way.ways // plan.micro
    strategy.pipeline_configs = {"accumulate_steps": plan.micro, "micro_batch_size": size}
    fleet.init(is_collective=True, strategy=strategy)
    hcg = fleet.get_hybrid_communicate_group()
    group = _expert_group(plan, hcg)
    model = hcg.get_model_parallel_group() if way.mp > 1 else None
    descs = [LayerDesc(layer, *args) for layer, *args in _layers(plan, way, (group, model))]
    net = PipelineLayer(descs, loss_fn=_squares, topology=hcg.topology(), recompute_interval=int(plan.recompute == 1))
    parts = _own(plan, net, values, group, hcg)
    # The first data-parallel rank's values are everybody's; of experts those of the first copy.
    source = hcg.get_data_parallel_rank() == 0 and hcg.get_sharding_parallel_rank() == 0 and first == 0
    for name, p in net.named_parameters():
        own = getattr(p, "no_sync", False) and not first
        copy = plan.among == "half" and hcg.get_data_parallel_rank() >= 2
        p.set_value(parts[name] * (1.0 if source or (own and not copy) else 2.0))
    _freeze(plan, net)
    optimizer = _optimizer(plan, net, group)
    if plan.low and plan.level == "O2":
        net, optimizer = proa.amp.decorate(net, optimizer, level="O2", dtype=plan.low)
    if plan.plain and way.dp > 1:
        return net, proa.DataParallel(net, find_unused_parameters=plan.recompute > 0), optimizer, group
    if plan.plain:
        wrapped, optimizer, _ = group_sharded_parallel(net, optimizer, LEVELS[way.stage - 1])
        return net, wrapped, optimizer, group
    return net, fleet.distributed_model(net), fleet.distributed_optimizer(optimizer), group


def _blocks(net):
    return [layer for layer in net.sublayers() if isinstance(layer, Block)]


def _backward(plan, net, wrapped, batch):
    """The loss of this rank's part of the batch; gradients are there."""
    total = 0.0
    parts = list(zip(*(np.split(part, plan.micro) for part in batch)))
    for at, (x, y) in enumerate(parts):
        quiet = at + 1 < len(parts) and plan.zeros and hasattr(wrapped, "no_sync")
        with wrapped.no_sync() if quiet else contextlib.nullcontext():
            with _amp(plan):
                loss = _squares(wrapped(proa.to_tensor(x)), proa.to_tensor(y))
            for block in _blocks(net):
                balance = block.mixed.gate.get_loss()
                if plan.balance:
                    loss = loss + BALANCE * balance.astype(loss.dtype)
            (loss / plan.micro).backward()
        total += loss.item() / plan.micro
    return total


def _steps(plan, job, numbers):
    """Trains; losses of the whole batch."""
    net, wrapped, optimizer, _ = job
    hcg = fleet.get_hybrid_communicate_group()
    number = hcg.get_data_parallel_rank() * plan.way.sharding + hcg.get_sharding_parallel_rank()
    losses = []
    for step in numbers:
        batch = [np.split(part, plan.way.ways)[number] for part in _data(step)]
        if plan.way.pp > 1:
            with _amp(plan):
                loss = wrapped.train_batch(list(map(proa.to_tensor, batch)), optimizer).item()
        else:
            loss = _backward(plan, net, wrapped, batch)
            optimizer.step()
            optimizer.clear_grad(plan.zeros)
        for block in _blocks(net):
            block.seen.clear()
        found = []
        dist.all_gather(found, proa.to_tensor([loss], "float64"))
        losses.append(float(np.mean([f.item() for f in found])))
    return losses


def _compare(plan, job, before, after):
    """The weights of a rank's job are those of one process."""
    net, wrapped, _, group = job
    hcg = fleet.get_hybrid_communicate_group()
    start, parts = _own(plan, net, before, group, hcg), _own(plan, net, after, group, hcg)
    for name, value in wrapped.state_dict().items():  # in stage 3, of all ranks together
        found = value.astype(parts[name].dtype).numpy()
        if not plan.low:
            np.testing.assert_allclose(found, parts[name], rtol=0, atol=1e-8, err_msg=name)
            continue
        # A token whose scores are nearly equal may go elsewhere; most of what was learned is the same.
        apart, learned = np.linalg.norm(found - parts[name]), np.linalg.norm(parts[name] - start[name])
        assert apart <= 0.4 * learned + 0.02, f"{name} is {apart} away from what it is to be, and has learned {learned}"


def check(plan):
    """AssertionError if the ranks of a plan learn something else than one process does."""
    before = proa.get_default_dtype()
    proa.set_default_dtype("float32" if plan.low else "float64")
    try:
        _check(plan)
    finally:
        proa.set_default_dtype(before)


def _check(plan):
    losses, before, after = _one(plan)
    random_plans.check_ranks(
        plan,
        losses,
        lambda plan, part: _job(plan, before, part),
        _steps,
        lambda plan, job: _compare(plan, job, before, after),
        0.1 if plan.low else 1e-6,
    )


if __name__ == "__main__":
    random_plans.main(draw, check, __doc__)
