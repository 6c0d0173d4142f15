"""Collectives that fill lists, and messages of objects: at once, with gradients, recorded, and in one process."""

import itertools

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads

_DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
_SHAPES = [(0, 2), (), (1,), (3, 2), "strided"]


def _tensor(dtype, shape, rank):
    array = np.random.default_rng(rank).integers(0, 5, (3, 2) if shape == "strided" else shape)
    if shape == "strided":
        return proa.to_tensor(np.ascontiguousarray(array.T)).cast(dtype).t()
    return proa.to_tensor(array).cast(dtype)


def _same(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    wide = "float32" if "float16" in str(wanted.dtype) else wanted.dtype
    np.testing.assert_array_equal(found.cast(wide).numpy(), wanted.cast(wide).numpy())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gather(n):
    def body():
        rank = dist.get_rank()
        for dtype, shape, root, sync in itertools.product(_DTYPES, _SHAPES, {0, n - 1}, [True, False]):
            wanted = [_tensor(dtype, shape, r) for r in range(n)]
            for found in ([], [proa.zeros(wanted[0].shape).cast(dtype) for _ in range(n)]):
                before = list(found)
                own = _tensor(dtype, shape, rank)
                assert dist.gather(own, found, root, sync_op=sync).wait()
                _same(own, wanted[rank])
                if rank == root:
                    assert len(found) == n and all(a is b for a, b in zip(found, before))
                    for a, b in zip(found, wanted):
                        _same(a, b)
                else:
                    assert len(found) == len(before) and not any(t.cast("float32").abs().sum() for t in found)
        assert dist.gather(_tensor("int32", (2,), rank), [] if rank == 0 else None).wait()
        return True

    assert all(run_threads(body, n))


def test_gather_to_a_process_of_a_group():
    def body():
        rank = dist.get_rank()
        group, found = dist.new_group([1, 2]), []
        dist.gather(proa.to_tensor([rank]), found, 2, group)
        dist.stream.gather(proa.to_tensor([rank]), found if rank == 1 else None, dst=1, group=group)
        return [t.item() for t in found]

    assert run_threads(body, 3) == [[], [1, 2], [1, 2]]


def _losses(x, root, exchange):
    """A loss on each process: squares of what it has, and of what came."""
    rank = dist.get_rank()
    own, came = exchange(x * 2.0, root)
    return (own * own * (rank + 1.0)).sum() + sum((t * t * (3.0 + i)).sum() for i, t in enumerate(came))


def _gather(y, root):
    found = []
    dist.gather(y, found, root)
    return y, found


def _scatter(y, root):
    own = y * 1.0
    dist.scatter(own, [y * (i + 1.0) for i in range(dist.get_world_size())] if dist.get_rank() == root else None, root)
    return y, [own]


@pytest.mark.parametrize("root", [0, 1])
@pytest.mark.parametrize("exchange", [_gather, _scatter])
def test_gradients_are_those_of_the_sum_of_all_losses(exchange, root):
    values = np.random.default_rng(4).normal(size=(3, 2, 2))

    def total(values):
        with proa.no_grad():
            return float(_losses(proa.to_tensor(values[dist.get_rank()]), root, exchange).item())

    def body():
        x = proa.to_tensor(values[dist.get_rank()], stop_gradient=False)
        _losses(x, root, exchange).backward()
        return x.grad.numpy()

    found = run_threads(body, 3)
    for rank, at in itertools.product(range(3), [(0, 0), (1, 1)]):
        moved = [values.copy(), values.copy()]
        moved[0][(rank, *at)] += 1e-5
        moved[1][(rank, *at)] -= 1e-5
        numeric = (sum(run_threads(total, 3, moved[0])) - sum(run_threads(total, 3, moved[1]))) / 2e-5
        np.testing.assert_allclose(found[rank][at], numeric, rtol=1e-5, atol=1e-7)


def _all(x, n):
    """What a process gets of all of them, from [2, 2] of it."""
    rank = dist.get_rank()
    gathered, everywhere, turned = [], [], []
    dist.gather(x, gathered, n - 1)
    dist.all_gather(everywhere, x)
    part = x * 0.0
    dist.scatter(part, [x + i for i in range(n)] if rank == 0 else None, 0)
    dist.alltoall([x + 10 * i for i in range(n)], turned)
    into = x * 0.0
    if n < 3:  # which divide its rows
        dist.alltoall_single(into, x)
    folded = x * 0.0
    dist.reduce_scatter(folded, [x * (i + 1) for i in range(n)])
    return [*gathered, *everywhere, part, *turned, into, folded]


def _of_all(values):
    """The same of all processes by NumPy."""
    n = len(values)
    single = [np.stack([values[giver][taker] for giver in range(n)]) for taker in range(n)] if n == 2 else values
    return [
        [
            *(values if rank == n - 1 else []), *values, values[0] + rank, *(v + 10 * rank for v in values),
            single[rank] if n < 3 else values[rank] * 0, sum(values) * (rank + 1),
        ]
        for rank in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", ["eager", "gradients", "program", "converted"])
def test_modes(mode, n):
    values = [np.random.default_rng(r).normal(size=(2, 2)) for r in range(n)]

    def program(value):
        proa.enable_static()
        try:
            main = proa.static.Program()
            with proa.static.program_guard(main):
                x = proa.static.data("x", [2, 2], "float64")
                results = _all(x + 0.0, n)
            return proa.static.Executor().run(main, {"x": value}, results)
        finally:
            proa.disable_static()

    def body():
        value = values[dist.get_rank()]
        if mode == "program":
            return program(value)
        x = proa.to_tensor(value, stop_gradient=mode != "gradients")
        if mode == "converted":
            return [t.numpy() for t in proa.jit.to_static(lambda x: _all(x + 0.0, n))(x)]
        results = _all(x * 1.0, n)
        if mode == "gradients":
            sum(t.sum() for t in results).backward()
            assert x.grad is not None and np.isfinite(x.grad.numpy()).all()
        return [t.numpy() for t in results]

    for found, wanted in zip(run_threads(body, n), _of_all(values)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_group_of_one_keeps_gradients():
    x = proa.to_tensor([1.0, 2.0], stop_gradient=False)
    for exchange in (
        lambda y, z: dist.scatter(z, [y]),
        lambda y, z: dist.reduce_scatter(z, [y]),
        lambda y, z: dist.alltoall_single(z, y),
        lambda y, z: dist.alltoall([y], [z]),
        lambda y, z: dist.gather(y, [z]),
        lambda y, z: dist.all_gather([z], y),
    ):
        z = proa.zeros([2])
        exchange(x * 3.0, z)
        z.sum().backward()
        assert z.tolist() == [3.0, 6.0] and x.grad.tolist() == [3.0, 3.0]
        x.clear_grad()


def test_objects():
    def body():
        rank, found = dist.get_rank(), [None, None]
        group = dist.new_group([2, 1])
        if rank == 0:
            dist.send_object_list(["a" * 1000, {"b": [1, 2]}], dst=1)
        elif rank == 1:
            dist.recv_object_list(found)
            dist.send_object_list([3, found[1]], dst_in_group=1, group=group)
        else:
            dist.recv_object_list(found, src=1, group=group)
        return found

    sent = ["a" * 1000, {"b": [1, 2]}]
    assert run_threads(body, 3) == [[None, None], sent, [3, sent[1]]]


def test_mistakes():
    def body():
        rank, x = dist.get_rank(), proa.ones([2])
        if rank == 1:
            with pytest.raises(TypeError, match="gather: gather_list must be a list of tensors, not NoneType"):
                dist.gather(x, None, 1)
        with pytest.raises(ValueError, match="gather: dst is 2, and the processes of the group are"):
            dist.gather(x, [], 2)
        if rank == 0:
            with pytest.raises(ValueError, match="gather_list must have one tensor for each process, 2; it has 1"):
                dist.gather(x, [x], 0)
        for call in (dist.send_object_list, dist.recv_object_list):
            with pytest.raises(TypeError, match="object_list must be a list, not NoneType"):
                call(None, 0)
            with pytest.raises(ValueError, match="object_list is empty"):
                call([], 0)
        with pytest.raises(ValueError, match="give dst or dst_in_group, not both"):
            dist.send_object_list([1], 0, dst_in_group=1)
        with pytest.raises(ValueError, match="src_in_group must be from 0 to 1, not 2"):
            dist.recv_object_list([1], src_in_group=2)
        if rank == 0:
            dist.send_object_list([1, 2, 3], 1)
        else:
            with pytest.raises(ValueError, match="process 0 sent 3 objects, and object_list has 1"):
                dist.recv_object_list([None], 0)
        dist.barrier()
        with pytest.raises(RuntimeError, match=r"rank 0 calls gather of \[2\] float32, root 0 .*, rank 1 calls gather"):
            dist.gather(x, [], rank)
        return True

    assert run_threads(body, 2) == [True, True]
