"""Jobs drawn at random: how they are parallel, what they train and how, beside the same training in one process.

`python -m python.tests.random_plans 200 --first 0` runs as many of them, and says which differ.
"""

import argparse
import tempfile
import time
from typing import NamedTuple

import numpy as np

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed import checkpoint, fleet
from proa.distributed.groups import run_threads
from python.tests import parallel_models
from python.tests.parallel_models import BATCH, MODELS, Way

STEPS = 6

_OPTIMIZERS = ("SGD", "Momentum", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSProp", "Lamb", "LarsMomentum")
_LAYERS = {"mlp": 4, "cnn": 6, "gpt": 4, "tied": 5}


class Plan(NamedTuple):
    """What a job does.

    Attributes:
        way (Way): how it is parallel in its first steps.
        then (Way|None): how in the others, after it was started again from a checkpoint.
        micro (int): parts of the batch of a rank, whose gradients add up.
        exchange (str): when data-parallel gradients go: at "each" backward, or at the "last" (`no_sync`).
    """

    kind: str
    way: Way
    then: Way | None
    optimizer: str
    decay: str
    clip: str
    schedule: bool
    frozen: int
    free: bool
    groups: bool
    micro: int
    exchange: str
    scale: bool
    order: tuple
    recompute: int
    zeros: bool

    def after(self):
        """The plan of the steps after the checkpoint."""
        return self._replace(way=self.then, then=None)


def _way(random, kind, most):
    """Degrees that a network of this kind can have, of 2 to `most` ranks."""
    while True:
        dp, sharding = (int(random.choice([1, 1, 2, 4])) for _ in range(2))
        mp = 1 if kind == "tied" else int(random.choice([1, 1, 2, 4]))
        pp = int(random.choice([1, 1, 2, 3, 4]))
        chunks = int(random.choice([1, 2])) if pp > 1 and pp * 2 <= _LAYERS[kind] else 1
        way = Way(
            dp,
            mp,
            pp,
            sharding,
            int(random.choice([1, 2, 3])),
            chunks,
            kind == "gpt" and mp > 1 and random.rand() < 0.4,
        )
        if 2 <= way.ranks <= most and way.ways <= BATCH and BATCH // way.ways >= (pp if chunks > 1 else 1):
            return way


def draw(seed, most=8):
    """The plan of this number."""
    random = np.random.RandomState(seed)
    kind = str(random.choice(list(MODELS)))
    way = _way(random, kind, most)
    then = _way(random, kind, most) if random.rand() < 0.4 else None
    ways = [way] if then is None else [way, then]
    smallest = BATCH // max(w.ways for w in ways)
    micro = [m for m in (1, 2, 4, 8) if m <= smallest and all(w.chunks == 1 or m % w.pp == 0 for w in ways)]
    if not micro:
        return draw(seed + 100000, most)
    order = ["dp", "pp", "sharding", "sep", "mp"]
    if random.rand() < 0.3:
        random.shuffle(order)
    return Plan(
        kind=kind,
        way=way,
        then=then,
        optimizer=str(random.choice(_OPTIMIZERS)),
        decay=str(random.choice(["none", "none", "number", "L1", "L2"])),
        clip=str(
            random.choice(["", "ClipGradByGlobalNorm", "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"])
        ),
        schedule=bool(random.rand() < 0.5),
        frozen=int(random.choice([0, 0, 0, 1, 2, 3, 4, 5])),
        free=bool(random.rand() < 0.2),
        groups=bool(random.rand() < 0.2),
        micro=int(random.choice(micro)),
        exchange=str(random.choice(["each", "last"])),
        scale=bool(random.rand() < 0.2),
        order=tuple(order),
        recompute=int(random.choice([0, 0, 1, 2])),
        zeros=bool(random.rand() < 0.5),
    )


def _is_matrix(parameter):
    return parameter.ndim > 1


def _optimizer(plan, net):
    """(optimizer, schedule or None) of a network, or without one of a program."""
    more = {}
    if plan.clip:
        more["grad_clip"] = getattr(nn, plan.clip)(0.3 if plan.clip == "ClipGradByGlobalNorm" else 0.05)
    if plan.decay != "none" and plan.optimizer != "Lamb":
        rule = {"number": 0.02, "L1": proa.regularizer.L1Decay(0.02), "L2": proa.regularizer.L2Decay(0.02)}[plan.decay]
        more["weight_decay"] = 0.02 if plan.optimizer == "AdamW" else rule
    schedule = proa.optimizer.lr.StepDecay(0.02, step_size=2, gamma=0.7) if plan.schedule else None
    parameters = None if net is None else list(net.parameters())
    for p in parameters or ():
        p.need_clip = not plan.free or _is_matrix(p)
    if parameters is not None and plan.groups:
        parts = [p for p in parameters if _is_matrix(p)], [p for p in parameters if not _is_matrix(p)]
        parameters = [{"params": part, "learning_rate": rate} for part, rate in zip(parts, (0.5, 1.0))]
    if plan.optimizer == "LarsMomentum":
        more["regularization"] = more.pop("weight_decay", None)
        more |= {"momentum": 0.9, "lars_coeff": 0.1, "lars_weight_decay": 0.01, "parameter_list": parameters}
        return proa.fluid.optimizer.LarsMomentum(schedule or 0.02, **more), schedule
    make = getattr(proa.optimizer, plan.optimizer)
    return make(learning_rate=schedule or 0.02, parameters=parameters, **more), schedule


def _freeze(plan, net, names):
    """Those of these names (of one process) do not learn."""
    for name, p in net.named_parameters():
        tied = plan.kind == "tied" and name == "4.weight"  # of a later stage
        p.stop_gradient = ("0.weight" if tied else name) in names


def _one(plan, steps):
    """(losses, weights before, weights after) of one process."""
    proa.seed(11)
    layers, loss_of, _ = MODELS[plan.kind]
    net = parallel_models._OneTied() if plan.kind == "tied" else nn.Sequential(*[f(*a) for f, *a in layers(Way())])
    before = {name: p.numpy() for name, p in net.named_parameters()}
    _freeze(plan, net, frozen_names(plan, before))
    optimizer, schedule = _optimizer(plan, net)
    losses = []
    for step in range(steps):
        x, y = map(proa.to_tensor, parallel_models.data(plan.kind, step))
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
    return losses, before, {name: p.numpy() for name, p in net.named_parameters()}


def frozen_names(plan, values):
    """The names of one process's parameters that do not learn: some of the first layer, or all of a layer."""
    if plan.frozen > 2:
        return frozenset(name for name in values if name.startswith(f"{plan.frozen - 3}."))
    return frozenset(list(values)[1 : 1 + plan.frozen])


def _begin(plan):
    strategy = fleet.DistributedStrategy()
    way = plan.way
    strategy.hybrid_configs = {
        "dp_degree": way.dp, "mp_degree": way.mp, "pp_degree": way.pp, "sharding_degree": way.sharding, "order": list(plan.order),
    }  # fmt: skip
    strategy.sharding_configs = {"stage": way.stage}
    strategy.pipeline_configs = {"accumulate_steps": plan.micro, "micro_batch_size": BATCH // way.ways // plan.micro}
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group()


def _job(plan, values, first):
    """What this rank trains: (net, wrapped, optimizer, schedule, scaler)."""
    hcg = _begin(plan)
    net = parallel_models.build(plan.kind, plan.way._replace(recompute=plan.recompute), hcg)
    group = hcg.get_model_parallel_group()
    parts = parallel_models.values_for(net, values, group)
    for name, p in net.named_parameters():
        p.set_value(parts[name] * (1.0 if hcg.get_data_parallel_rank() == 0 and first == 0 else 2.0))
    _freeze(plan, net, frozen_names(plan, values))
    optimizer, schedule = _optimizer(plan, net)
    wrapped = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(optimizer)
    scaler = fleet.distributed_scaler(proa.amp.GradScaler(init_loss_scaling=256.0)) if plan.scale else None
    return net, wrapped, optimizer, schedule, scaler


def _number(plan):
    """Which part of the batch is this rank's."""
    hcg = fleet.get_hybrid_communicate_group()
    return hcg.get_data_parallel_rank() * plan.way.sharding + hcg.get_sharding_parallel_rank()


def _backward(plan, wrapped, batch, scaler):
    """The loss of this rank's part of the batch; gradients are there."""
    total = 0.0
    parts = list(zip(*(np.split(part, plan.micro) for part in batch)))
    for at, (x, y) in enumerate(parts):
        quiet = plan.exchange == "last" and at + 1 < len(parts) and hasattr(wrapped, "no_sync")

        def run():
            loss = MODELS[plan.kind][1](wrapped(proa.to_tensor(x)), proa.to_tensor(y)) / plan.micro
            (loss if scaler is None else scaler.scale(loss)).backward()
            return loss.item()

        if quiet:
            with wrapped.no_sync():
                total += run()
        else:
            total += run()
    return total


def _steps(plan, job, numbers):
    """Trains; losses of the whole batch."""
    net, wrapped, optimizer, schedule, scaler = job
    losses = []
    for step in numbers:
        batch = [np.split(part, plan.way.ways)[_number(plan)] for part in parallel_models.data(plan.kind, step)]
        if plan.way.pp > 1:
            loss = wrapped.train_batch(list(map(proa.to_tensor, batch)), optimizer, schedule, scaler).item()
        else:
            loss = _backward(plan, wrapped, batch, scaler)
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer), scaler.update()
            optimizer.clear_grad(plan.zeros)
            if schedule is not None:
                schedule.step()
        found = []
        dist.all_gather(found, proa.to_tensor([loss], "float64"))
        losses.append(float(np.mean([f.item() for f in found])))
    return losses


def check(plan):
    """AssertionError if the ranks of a plan learn something else than one process does."""
    losses, before, after = _one(plan, STEPS)
    check_ranks(
        plan, losses, lambda plan, part: _job(plan, before, part), _steps, lambda plan, job: _compare(job, after), 1e-6
    )


def check_ranks(plan, losses, make, run, compare, rtol):
    """AssertionError if the ranks of a plan have other losses than one process, or if `compare` says so of what they learned.

    A plan that goes on in another way is two jobs with a checkpoint between them. `make(plan, part)` gives the first or the
    second as (network, what is saved of it, optimizer, ...), `run(plan, job, steps)` its losses, `compare(plan, job)` looks
    at its weights when all is done.
    """
    half = len(losses) if plan.then is None else len(losses) // 2
    with tempfile.TemporaryDirectory() as folder:

        def first():
            job = make(plan, 0)
            found = run(plan, job, range(half))
            if plan.then is None:
                compare(plan, job)
            else:
                checkpoint.save(folder, job[1], job[2], step=half)
            return found

        def second():
            then = plan.after()
            job = make(then, 1)
            assert checkpoint.load(folder, job[1], job[2]).step == half
            found = run(then, job, range(half, len(losses)))
            compare(then, job)
            return found

        parts = [run_threads(first, plan.way.ranks)]
        if plan.then is not None:
            parts.append(run_threads(second, plan.after().way.ranks))
    for ranks, wanted in zip(parts, (losses[:half], losses[half:])):
        for found in ranks:
            np.testing.assert_allclose(found, wanted, rtol=rtol)  # pipelines give it in float32
    assert losses[-1] != losses[0]


def _compare(job, after):
    """The weights of a rank's job are those of one process."""
    net, wrapped = job[:2]
    parts = parallel_models.values_for(net, after, fleet.get_hybrid_communicate_group().get_model_parallel_group())
    for name, value in wrapped.state_dict().items():  # in stage 3, of all ranks together
        np.testing.assert_allclose(value.numpy(), parts[name], rtol=0, atol=1e-8, err_msg=name)


def main(draw, check, description):
    """Runs plans by their numbers, and says which differ."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("count", type=int)
    options.add_argument("--first", type=int, default=0)
    options = options.parse_args()
    begin, wrong = time.time(), 0
    with parallel_models.doubles():
        for seed in range(options.first, options.first + options.count):
            plan = draw(seed)
            try:
                check(plan)
            except Exception as error:
                wrong += 1
                print(f"{seed}: {plan}\n    {type(error).__name__}: {str(error)[:700]}", flush=True)
    print(f"{options.count} plans, {wrong} differ, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main(draw, check, __doc__)
