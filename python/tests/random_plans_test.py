"""Jobs drawn at random learn what one process does; and what such jobs have shown."""

import pytest

import proa
from proa.distributed import fleet
from proa.distributed.groups import run_threads
from python.tests import parallel_models, random_experts, random_plans, random_programs, random_replicas
from python.tests.parallel_models import Way


@pytest.fixture(autouse=True)
def _doubles():
    with parallel_models.doubles():
        yield


@pytest.mark.parametrize("seed", range(24))
def test_plans(seed):
    random_plans.check(random_plans.draw(seed))


def test_plans_differ():
    """The numbers above stand for what is to be looked at."""
    plans = [random_plans.draw(seed) for seed in range(24)]
    assert len({plan.optimizer for plan in plans}) > 6 and len({plan.way.ranks for plan in plans}) > 4
    assert {plan.kind for plan in plans} == set(parallel_models.MODELS)
    for name in ("dp", "mp", "pp", "sharding"):
        assert sum(getattr(plan.way, name) > 1 for plan in plans) > 5, name


_PLAN = random_plans.draw(0)._replace(
    kind="gpt", then=None, decay="none", clip="", schedule=False, frozen=0, free=False, groups=False, micro=2, exchange="each",
    scale=False, order=("dp", "pp", "sharding", "sep", "mp"), recompute=0, zeros=True,
)  # fmt: skip


@pytest.mark.parametrize("optimizer", ["Lamb", "LarsMomentum"])
@pytest.mark.parametrize(
    "way", [Way(mp=2), Way(mp=2, pp=2), *(Way(mp=2, sharding=2, stage=stage) for stage in (1, 2, 3))], ids=str
)
def test_rules_that_look_at_norms(optimizer, way):
    """Their steps go by the norm of each whole parameter, along whatever it is divided."""
    random_plans.check(_PLAN._replace(optimizer=optimizer, way=way))


def test_groups_of_parameters():
    """A stage may have none of a group's parameters; with other groups it is told so, and does not wait forever."""
    plan = _PLAN._replace(kind="mlp", optimizer="Adam", clip="ClipGradByGlobalNorm", groups=True, way=Way(pp=4))
    random_plans.check(plan)

    def body():
        hcg = random_plans._begin(plan)
        net = fleet.distributed_model(parallel_models.build("mlp", plan.way, hcg))
        parts = [[p for p in net.parameters() if (p.ndim > 1) is matrix] for matrix in (True, False)]
        clip = proa.nn.ClipGradByGlobalNorm(1.0)
        adam = proa.optimizer.Adam(0.1, parameters=[{"params": part} for part in parts if part], grad_clip=clip)
        with pytest.raises(ValueError, match="rank 0 has 2 groups .* rank 1 has 1 .* an empty list of 'params'"):
            fleet.distributed_optimizer(adam)
        return True

    assert run_threads(body, 4) == [True] * 4


def test_a_shared_weight_that_one_stage_has_frozen():
    plan = _PLAN._replace(kind="tied", optimizer="Adam", way=Way(pp=2))
    random_plans.check(plan._replace(frozen=3))  # on both

    def body():
        hcg = random_plans._begin(plan)
        net = parallel_models.build("tied", plan.way, hcg)
        if hcg.get_stage_id() == 1:
            next(p for name, p in net.named_parameters() if name == "4.weight").stop_gradient = True
        with pytest.raises(ValueError, match="weight that stages share as 'words' is frozen .* on stage 1 only"):
            fleet.distributed_model(net)
        return True

    assert run_threads(body, 2) == [True, True]


@pytest.mark.parametrize("seed", range(48))
def test_experts(seed):
    random_experts.check(random_experts.draw(seed))


def test_experts_differ():
    plans = [random_experts.draw(seed) for seed in range(48)]
    assert {plan.among for plan in plans} == set(random_experts._AXES) and {plan.gate for plan in plans} >= {
        "gshard",
        "switch",
    }
    assert sum(plan.plain for plan in plans) > 5 and sum(plan.then is not None for plan in plans) > 5
    assert {plan.low for plan in plans} == {"", "float16", "bfloat16"}
    for name in ("dp", "mp", "pp", "sharding"):
        assert sum(getattr(plan.way, name) > 1 for plan in plans) > 10, name


@pytest.mark.parametrize("seed", range(40))
def test_programs(seed):
    random_programs.check(random_programs.draw(seed))


def test_programs_differ():
    plans = [random_programs.draw(seed) for seed in range(40)]
    assert {plan.way for plan in plans} == set(random_programs._WAYS)
    assert any(plan.frozen for plan in plans) and any(plan.merged > 1 and plan.clip for plan in plans)


@pytest.mark.parametrize("seed", range(40))
def test_replicas(seed):
    random_replicas.check(random_replicas.draw(seed))


@pytest.mark.parametrize("quiet, differ", [(True, False), (True, True), (False, True)])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_the_last_of_several_passes_does_not_reach(quiet, differ, sparse):
    """It has a gradient of an earlier pass, which is exchanged."""
    plan = random_replicas.draw(0)._replace(
        unused=True, quiet=quiet, differ=differ, sparse=sparse, passes=2, recompute=False, optimizer="SGD"
    )
    random_replicas.check(plan)
