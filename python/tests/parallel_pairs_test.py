"""Every way of being parallel, and every two of them together, gives the losses and weights of one process over 20 steps."""

import functools
import itertools

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed import fleet
from proa.distributed.groups import run_threads
from python.tests import parallel_models
from python.tests.parallel_models import Way

STEPS = 20

_ONE = {
    "dp": {"dp": 2},
    "mp": {"mp": 2},
    "sequence": {"mp": 2, "sequence": True},
    "pp": {"pp": 2},
    "interleaved": {"pp": 2, "chunks": 2},
    "stage1": {"sharding": 2},
    "stage2": {"sharding": 2, "stage": 2},
    "stage3": {"sharding": 2, "stage": 3},
}
_KINDS = ("mlp", "cnn", "gpt")


def _cases(names):
    """(kind, way's names) of all networks that can be divided so: two of the first have no sequence."""
    return [(kind, name) for name in names for kind in _KINDS if "sequence" not in name or kind == "gpt"]


def _pairs():
    """Two ways that are not of one kind."""
    return [pair for pair in itertools.combinations(_ONE, 2) if not _ONE[pair[0]].keys() & _ONE[pair[1]].keys()]


@pytest.fixture(autouse=True)
def _doubles():
    with parallel_models.doubles():
        yield


@functools.cache
def _wanted(kind, clip="ClipGradByGlobalNorm", free=False):
    return parallel_models.one_process(kind, STEPS, clip=clip, free=free)


def _check(kind, way):
    losses, before, after = _wanted(kind, way.clip, way.free)

    def body():
        found, (net, wrapped, _) = parallel_models.train(kind, way, before, STEPS)
        group = fleet.get_hybrid_communicate_group().get_model_parallel_group()
        parts = parallel_models.values_for(net, after, group)
        for name, value in wrapped.state_dict().items():  # in stage 3, of all ranks together
            np.testing.assert_allclose(value.numpy(), parts[name], rtol=0, atol=1e-9, err_msg=name)
        return found

    for found in run_threads(body, way.ranks):
        np.testing.assert_allclose(found, losses, rtol=1e-6)  # pipelines give it in float32
    assert losses[-1] != losses[0]


@pytest.mark.parametrize("kind, names", _cases([(name,) for name in _ONE] + _pairs()), ids=str)
def test_ways(kind, names):
    degrees = {}
    for name in names:
        degrees |= _ONE[name]
    _check(kind, Way(**degrees))


@pytest.mark.parametrize("clip", ["ClipGradByGlobalNorm", "ClipGradByNorm"])
@pytest.mark.parametrize(
    "more", [{}, {"dp": 2}, {"chunks": 2}, *({"sharding": 2, "stage": stage} for stage in (1, 2, 3))], ids=str
)
def test_weights_that_stages_share(more, clip):
    _check("tied", Way(pp=2, clip=clip, **more))


@pytest.mark.parametrize("clip", ["ClipGradByNorm", "ClipGradByValue"])
@pytest.mark.parametrize(
    "names",
    [("dp",), ("mp",), ("stage1",), ("stage2",), ("stage3",), ("sequence", "stage2"), ("mp", "stage3"), ("mp", "pp")],
    ids=str,
)
def test_clips(names, clip):
    """Norms of each parameter, whatever it is divided by."""
    degrees = {}
    for name in names:
        degrees |= _ONE[name]
    _check("gpt", Way(clip=clip, **degrees))


@pytest.mark.parametrize("clip", ["ClipGradByGlobalNorm", "ClipGradByNorm"])
@pytest.mark.parametrize("name", _ONE)
def test_parameters_that_are_not_clipped(name, clip):
    """`need_clip=False`: they count for no norm, and stay as they are."""
    _check("gpt", Way(clip=clip, free=True, **_ONE[name]))
    assert _wanted("gpt", clip, True)[0] != _wanted("gpt", clip)[0]


@pytest.mark.parametrize("names", [*((name,) for name in _ONE), ("dp", "mp"), ("dp", "pp"), ("mp", "stage2")], ids=str)
def test_a_step_that_one_rank_cannot_make(names):
    """One gradient of one rank is infinite: all ranks leave the step out, and lower the factor."""
    degrees = {}
    for name in names:
        degrees |= _ONE[name]
    way = Way(**degrees)
    losses, before, after = parallel_models.one_process("gpt", 4, left_out=[1])

    def body():
        _, made = parallel_models.train("gpt", way, before, 0)
        scaler = fleet.distributed_scaler(proa.amp.GradScaler(init_loss_scaling=64.0, decr_every_n_nan_or_inf=1))
        step = [0]
        if dist.get_rank() == way.ranks - 1:
            weight = made[0].parameters()[-1]
            weight.register_hook(lambda g: g * float("inf") if step[0] == 1 else g)
        found = []
        for step[0] in range(4):
            found += parallel_models.train("gpt", way, before, 1, step[0], model=made, scaler=scaler)[0]
        parts = parallel_models.values_for(
            made[0], after, fleet.get_hybrid_communicate_group().get_model_parallel_group()
        )
        for name, value in made[1].state_dict().items():
            np.testing.assert_allclose(value.numpy(), parts[name], rtol=0, atol=1e-9, err_msg=name)
        return found, scaler._scale

    for found, factor in run_threads(body, way.ranks):
        np.testing.assert_allclose(found, losses, rtol=1e-6)
        assert factor == 32.0


@pytest.mark.parametrize(
    "way",
    [Way(pp=2, sharding=2, stage=stage, recompute=1) for stage in (1, 2, 3)] + [Way(mp=2, pp=2, chunks=2, recompute=2)],
)
def test_recompute(way):
    _check("gpt", way)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_optimizer_before_the_model(stage):
    """Stages 1 and 2 take parameters as they are at the step; stage 3 says which comes first."""
    losses, before, after = parallel_models.one_process("mlp", 2)
    way = Way(sharding=2, stage=stage)

    def body():
        hcg = parallel_models.begin(way)
        net = parallel_models.build("mlp", way, hcg)
        adam = parallel_models.optimizer_of(net, way)
        if stage == 3:
            with pytest.raises(ValueError, match="fleet.distributed_model, then distributed_optimizer"):
                fleet.distributed_optimizer(adam)
            return True
        adam = fleet.distributed_optimizer(adam)
        wrapped = fleet.distributed_model(net)
        for name, p in net.named_parameters():
            p.set_value(before[name])
        parallel_models.train("mlp", way, before, 2, model=(net, wrapped, adam))
        for name, p in net.named_parameters():
            np.testing.assert_allclose(p.numpy(), after[name], rtol=0, atol=1e-9)
        return True

    assert run_threads(body, 2) == [True, True]


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "degrees",
    [
        {"dp": 2, "mp": 2, "pp": 2, "sharding": 2},  # on 16 ranks
        {"mp": 2, "sequence": True, "dp": 2},
        {"mp": 2, "sharding": 2, "stage": 2},
        {"sharding": 2, "stage": 3},
    ],
    ids=str,
)
def test_16_bit_parameters(degrees, low):
    """With float32 copies, which know how they are divided: they learn as one process does in 16 bits."""
    proa.set_default_dtype("float32")
    way = Way(low=low, **degrees)
    exact, before, _ = parallel_models.one_process("gpt", 10)
    losses, _, after = parallel_models.one_process("gpt", 10, low=low, micro=2 if way.pp > 1 else 1)

    def body():
        found, (net, wrapped, adam) = parallel_models.train("gpt", way, before, 10)
        group = fleet.get_hybrid_communicate_group().get_model_parallel_group()
        parts = parallel_models.values_for(net, after, group)
        start = parallel_models.values_for(net, before, group)
        for name, value in wrapped.state_dict().items():
            value = value.astype("float32").numpy()
            assert np.abs(value - start[name]).max() > 0.01, name  # parameters do change
            np.testing.assert_allclose(value, parts[name], atol=0.05, err_msg=name)
        return found, {str(p.dtype) for p in net.parameters()}

    results = run_threads(body, way.ranks)
    for found, _ in results:
        np.testing.assert_allclose(found, losses, rtol=0.01)
        np.testing.assert_allclose(found, exact, rtol=0.02)
        assert found == results[0][0]  # all see one loss
    assert f"proa.{low}" in results[0][1]


@pytest.mark.parametrize("way", [Way(dp=2, mp=2, pp=2), Way(mp=2, pp=2, sharding=2, stage=2, sequence=True)])
def test_eight_ranks(way):
    assert way.ranks == 8
    _check("gpt", way)
