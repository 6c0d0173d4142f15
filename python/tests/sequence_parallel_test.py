"""Sequence parallel operations and layers on ranks that are threads, against NumPy and whole layers."""

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed.fleet.utils import sequence_parallel_utils as sp
from proa.distributed.groups import run_threads

_RNG = np.random.default_rng(4)
N = 3
_X = _RNG.normal(size=(6, 2, 4))
_G = _RNG.normal(size=(N, 6, 2, 4))  # of each rank


def _leaf(value):
    return proa.to_tensor(value, stop_gradient=False)


@pytest.fixture(autouse=True)
def _doubles():
    proa.set_default_dtype("float64")
    yield
    proa.set_default_dtype("float32")


def _run(body, n=N):
    return run_threads(body, n)


def test_operations_and_their_gradients():
    """By what each does to the sum of all ranks' losses."""

    def body():
        rank = dist.get_rank()
        group = dist.get_group()
        own, part = slice(2 * rank, 2 * rank + 2), _X[2 * rank : 2 * rank + 2]

        x = _leaf(_X)
        y = sp.ScatterOp.apply(x, group)
        np.testing.assert_array_equal(y.numpy(), part)
        (y * proa.to_tensor(_G[rank][own])).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.concatenate([_G[r][2 * r : 2 * r + 2] for r in range(N)]))

        x = _leaf(part)
        y = sp.GatherOp.apply(x, group)
        np.testing.assert_array_equal(y.numpy(), _X)
        (y * proa.to_tensor(_G[0])).sum().backward()  # all ranks have one gradient of what all have
        np.testing.assert_allclose(x.grad.numpy(), _G[0][own])

        x = _leaf(part)
        y = sp.AllGatherOp.apply(x, group)
        np.testing.assert_array_equal(y.numpy(), _X)
        (y * proa.to_tensor(_G[rank])).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), _G.sum(0)[own])

        x = _leaf(_G[rank])
        y = sp.ReduceScatterOp.apply(x, group)
        np.testing.assert_allclose(y.numpy(), _G.sum(0)[own])
        (y * proa.to_tensor(part)).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), _X)
        return True

    assert all(_run(body))


def test_second_gradients():
    def body():
        rank, group = dist.get_rank(), dist.get_group()
        x = _leaf(_X[2 * rank : 2 * rank + 2])
        y = (sp.AllGatherOp.apply(x, group) ** 3).sum() * (rank + 1)
        (g,) = proa.grad(y, x, create_graph=True)
        np.testing.assert_allclose(g.numpy(), 6 * 3 * x.numpy() ** 2)
        (h,) = proa.grad(g.sum(), x)
        np.testing.assert_allclose(h.numpy(), 6 * 6 * x.numpy())
        return True

    assert all(_run(body))


def test_a_length_that_is_not_divided_evenly():
    def body():
        group = dist.get_group()
        for operation, says in ((sp.ScatterOp, "is not divided evenly among 3"), (sp.ReduceScatterOp, "not divided")):
            with pytest.raises(ValueError, match=says):
                operation.apply(proa.ones([4, 2]), group)
        return True

    assert all(_run(body))


@pytest.mark.parametrize("hooks", [False, True])
def test_layers_are_those_of_one_process(hooks):
    """norm, column, gelu, row: values and all gradients, with marked parameters added up by a hook or by the function."""
    n = 2
    x, g = _RNG.normal(size=(6, 2, 4)), _RNG.normal(size=(6, 2, 4))
    weights = {
        "norm.weight": _RNG.normal(size=4), "norm.bias": _RNG.normal(size=4), "up.weight": _RNG.normal(size=(4, 8)),
        "up.bias": _RNG.normal(size=8), "down.weight": _RNG.normal(size=(8, 4)), "down.bias": _RNG.normal(size=4),
    }  # fmt: skip

    class Net(nn.Layer):
        def __init__(self, group=None):
            super().__init__()
            self.norm = nn.LayerNorm(4)
            if group is None:
                self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
            else:
                self.up = sp.ColumnSequenceParallelLinear(4, 8, has_bias=True, mp_group=group)
                self.down = sp.RowSequenceParallelLinear(8, 4, mp_group=group)
                for p in self.norm.parameters():
                    sp.mark_as_sequence_parallel_parameter(p)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(self.norm(x))))

    def fill(net, rank=0, parts=1):
        for name, p in net.named_parameters():
            axis = getattr(p, "split_axis", None)
            value = weights[name] if axis is None else np.split(weights[name], parts, axis)[rank]
            p.set_value(value)
        return net

    one = fill(Net())
    first = _leaf(x)
    want = one(first)
    (want * proa.to_tensor(g)).sum().backward()
    grads = {name: p.grad.numpy() for name, p in one.named_parameters()}

    def body():
        rank, group = dist.get_rank(), dist.get_group()
        net = fill(Net(group), rank, n)
        marked = [name for name, p in net.named_parameters() if sp.is_sequence_parallel_parameter(p)]
        assert marked == ["norm.weight", "norm.bias", "down.bias"]
        if hooks:
            sp.register_sequence_parallel_allreduce_hooks(net)
        own = slice(3 * rank, 3 * rank + 3)
        part = _leaf(x[own])
        y = net(part)
        np.testing.assert_allclose(y.numpy(), want.numpy()[own])
        for _ in range(2):  # gradients of two backwards add up
            (net(part) * proa.to_tensor(g[own]) / 2).sum().backward()
        sp.reduce_sequence_parallel_gradients(net.parameters(), group)
        np.testing.assert_allclose(part.grad.numpy(), first.grad.numpy()[own])
        for name, p in net.named_parameters():
            axis = getattr(p, "split_axis", None)
            expected = grads[name] if axis is None else np.split(grads[name], n, axis)[rank]
            np.testing.assert_allclose(p.grad.numpy(), expected, err_msg=name)
        return True

    assert all(_run(body, n))


def test_what_they_are_not_made_for():
    with pytest.raises(ValueError, match="gather_output must be False"):
        sp.ColumnSequenceParallelLinear(4, 4, gather_output=True)
    with pytest.raises(ValueError, match="input_is_parallel must be True"):
        sp.RowSequenceParallelLinear(4, 4, input_is_parallel=False)
