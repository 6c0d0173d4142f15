"""Every way of being parallel, and every two of them together, gives the losses and weights of one process over 20 steps."""

import functools
import itertools

import numpy as np
import pytest

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
def _wanted(kind, clip="ClipGradByGlobalNorm"):
    return parallel_models.one_process(kind, STEPS, clip=clip)


def _check(kind, way):
    losses, before, after = _wanted(kind, way.clip)

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


@pytest.mark.parametrize("way", [Way(dp=2, mp=2, pp=2), Way(mp=2, pp=2, sharding=2, stage=2, sequence=True)])
def test_eight_ranks(way):
    assert way.ranks == 8
    _check("gpt", way)
