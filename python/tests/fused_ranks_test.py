"""Attention and feed-forward nets whose heads and hidden sizes processes divide (`ring_id`, `nranks`): as one process computes them."""

import json

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads
from proa.incubate import nn as fused
from python.tests import ranks

_WIDTH, _HEADS, _HIDDEN, _COUNT = 8, 4, 12, 2


@pytest.fixture(autouse=True)
def _doubles():
    before = proa.get_default_dtype()
    proa.set_default_dtype("float64")
    yield
    proa.set_default_dtype(before)


def _attention(before, **ranks):
    return fused.FusedMultiHeadAttention(_WIDTH, _HEADS, 0.0, 0.0, normalize_before=before, **ranks)


def _feed_forward(before, **ranks):
    return fused.FusedFeedForward(_WIDTH, _HIDDEN, 0.0, activation="gelu", normalize_before=before, **ranks)


def _stack(before, **ranks):
    layer = fused.FusedMultiTransformer(
        _WIDTH, _HEADS, _HIDDEN, normalize_before=before, num_layers=2, trans_qkvw=before, **ranks
    )
    layer.train()
    return layer


def _part(value, parameter, rank):
    """What a process has of the whole value of a parameter."""
    if not parameter.is_distributed:
        return value
    return np.split(value, _COUNT, parameter.split_axis)[rank]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("make", [_attention, _feed_forward, _stack])
def test_layers_are_those_of_one_process(make, before):
    """Results, and weights after steps with a clip by the norm of the whole model."""
    whole = make(before)
    start = {name: p.numpy().copy() for name, p in whole.named_parameters()}
    xs = [np.random.RandomState(step).randn(2, 3, _WIDTH) for step in range(4)]

    def train(layer, sgd):
        found = []
        for x in xs:
            x = proa.to_tensor(x, stop_gradient=False)
            y = layer(x)
            (y**3).mean().backward()
            sgd.step()
            sgd.clear_grad()
            found += [y.numpy(), x.grad.numpy()]
        return found

    clip = proa.nn.ClipGradByGlobalNorm(0.05)
    wanted = train(whole, proa.optimizer.SGD(0.5, parameters=whole.parameters(), grad_clip=clip))
    after = {name: p.numpy() for name, p in whole.named_parameters()}
    assert any(np.abs(after[name] - start[name]).max() > 1e-4 for name in start)

    def body():
        from proa.distributed import fleet

        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"mp_degree": _COUNT}
        job = fleet.Fleet()
        job.init(is_collective=True, strategy=strategy)
        group = job._hcg.get_model_parallel_group()
        layer = make(before, nranks=_COUNT, ring_id=group.id)
        drawn = [p.numpy().copy() for p in layer.parameters()]
        for name, p in layer.named_parameters():
            p.set_value(_part(start[name], p, group.rank))
        sgd = proa.optimizer.SGD(0.5, parameters=layer.parameters(), grad_clip=clip)
        found = train(layer, job.distributed_optimizer(sgd))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        for name, p in layer.named_parameters():
            np.testing.assert_allclose(
                p.numpy(), _part(after[name], p, group.rank), rtol=1e-9, atol=1e-12, err_msg=name
            )
        return drawn, [p.is_distributed for p in layer.parameters()]

    (first, divided), (second, _) = run_threads(body, _COUNT)
    assert any(divided) and not all(divided)
    for a, b, own in zip(first, second, divided):
        if own and a.any():  # biases begin as zeros
            assert not np.array_equal(a, b), "parts were drawn from equal numbers"


_DROPPED = """
from proa.incubate.nn.functional import fused_feedforward as call
dist.init_parallel_env()
proa.seed(3)
square, x = proa.to_tensor(np.eye(64, dtype="float32")), proa.ones([1, 1, 64])
def one(x, **rates):
    return call(x, square, square, None, None, add_residual=False, pre_layer_norm=False, ring_id=0, **rates).numpy().ravel().tolist()
print([one(x, dropout1_rate=0.5, dropout2_rate=0.0), one(x, dropout1_rate=0.0, dropout2_rate=0.5)])
"""


def test_what_is_dropped_of_parts_differs_and_of_results_does_not():
    """The sum of what two processes have left has three values: both, one, or none of them."""
    first, second = map(json.loads, ranks.run(_DROPPED, 2))
    assert first == second
    assert [len({round(v, 4) for v in values}) for values in first] == [3, 2]


@pytest.mark.parametrize(
    "options, says",
    [
        ({"nranks": 2}, "nranks is 2; ring_id must name their group"),
        ({"nranks": 2, "ring_id": 0}, "nranks is 2, and group 0 .* has 1 processes"),
        ({"ring_id": 7}, "there is no group 7"),
        ({"ring_id": "mp"}, "ring_id must be the number of a group, or -1; it is 'mp'"),
    ],
)
@pytest.mark.parametrize("make", [_attention, _feed_forward, _stack])
def test_refused(make, options, says):
    with pytest.raises(ValueError, match=says):
        make(True, **options)


def test_sizes_that_are_not_divided_evenly():
    def body():
        group = dist.new_group([0, 1, 2])
        with pytest.raises(ValueError, match="num_heads is 4, which 3 processes do not divide evenly"):
            _attention(True, nranks=3, ring_id=group.id)

    run_threads(body, 3)
