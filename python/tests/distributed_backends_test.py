"""Backends of process groups: each that is registered gives NumPy's results, by name and by environment."""

import itertools

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import _C
from proa.distributed.groups import run_threads
from python.tests import ranks

_BACKENDS = _C.distributed.backends()
_DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


def test_they_are_registered():
    assert {"proa", "gloo"} <= set(_BACKENDS)


@pytest.mark.parametrize("backend", _BACKENDS)
@pytest.mark.parametrize("n", [2, 3])
def test_collectives_of_every_dtype(backend, n):
    def body():
        group = dist.new_group(backend=backend)
        assert group.carrier.backend == backend
        rank = dist.get_rank()
        for dtype, shape in itertools.product(_DTYPES, [(), (0, 3), (5, 4)]):
            # Small integers: sums are exact whatever their order.
            arrays = [(np.arange(np.prod(shape, dtype=int)).reshape(shape) + r) % 3 for r in range(n)]
            own = lambda: proa.to_tensor(np.asarray(arrays[rank])).cast(dtype)
            same = lambda t, a: np.testing.assert_array_equal(
                t.cast("complex64").numpy(), proa.to_tensor(np.asarray(a)).cast(dtype).cast("complex64").numpy()
            )
            x = own()
            dist.all_reduce(x, group=group)
            same(x, np.sum(arrays, axis=0))
            x = own()
            dist.broadcast(x, 1, group=group)
            same(x, arrays[1])
            rows = []
            dist.all_gather(rows, own(), group=group)
            for r in range(n):
                same(rows[r], arrays[r])
            x = own()
            dist.reduce_scatter(x, [own() for _ in range(n)], group=group)
            same(x, np.sum(arrays, axis=0))
            got = []
            dist.alltoall([own() for _ in range(n)], got, group=group)
            for r in range(n):
                same(got[r], arrays[r])
        strided = proa.to_tensor(np.arange(12.0).reshape(3, 4)).t()
        dist.all_reduce(strided, group=group)
        np.testing.assert_array_equal(strided.numpy(), np.arange(12.0).reshape(3, 4).T * n)

    run_threads(body, n)


@pytest.mark.parametrize("backend", _BACKENDS)
def test_gradients_and_overlapping_calls(backend):
    def body():
        group = dist.new_group(backend=backend)
        x = proa.ones([3]) * (dist.get_rank() + 1.0)
        x.stop_gradient = False
        y = x * 2
        dist.all_reduce(y, group=group)
        (y * y).sum().backward()
        tensors = [proa.full([1000 + k], 1.0) for k in range(6)]
        for task in [dist.all_reduce(t, group=group, sync_op=False) for t in tensors]:
            task.wait()
        assert all(float(t.min()) == float(t.max()) == 2.0 for t in tensors)
        return x.grad.tolist()

    # The loss of both ranks is (2 x0 + 2 x1)^2.
    assert run_threads(body, 2) == [[48.0] * 3] * 2


def test_the_environment_names_one():
    source = """
dist.init_parallel_env()
assert dist.get_group().carrier.backend == "gloo" and dist.get_backend() == "GLOO"
assert dist.get_group().carrier.transport == "gloo over TCP"
assert dist.new_group(backend="proa").carrier.backend == "proa"
proa.seed(dist.get_rank())
net = proa.DataParallel(proa.nn.Linear(4, 2))
sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
for step in range(3):
    net(proa.ones([2, 4]) * (dist.get_rank() + 1)).square().mean().backward()
    sgd.step()
    sgd.clear_grad()
print(net.parameters()[0].numpy().tobytes().hex())
"""
    assert len(set(ranks.run(source, 3, PADDLE_DISTRI_BACKEND="gloo"))) == 1


def test_what_is_not_there(monkeypatch):
    with pytest.raises(
        ValueError, match=r"backend='nccl': there is no such backend here: .*--config=cuda.*there are: .*gloo.*proa"
    ):
        dist.new_group([0], backend="nccl")
    with pytest.raises(TypeError, match="backend must be a name, not int"):
        dist.new_group([0], backend=3)
    monkeypatch.setenv("PADDLE_DISTRI_BACKEND", "mpi")
    with pytest.raises(ValueError, match="PADDLE_DISTRI_BACKEND='mpi'"):
        dist.new_group([0])
    assert dist.new_group([0], backend="AUTO").nranks == 1


def test_ranks_must_agree():
    def body():
        dist.new_group(backend=_BACKENDS[dist.get_rank()])

    with pytest.raises(
        RuntimeError, match="ranks disagree on the backend of group 1: rank 0 has 'gloo', rank 1 has 'proa'"
    ):
        run_threads(body, 2)
