"""Collectives among ranks that are threads, and processes, against NumPy; faults are in distributed_faults_test."""

import itertools

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads
from python.tests import ranks

_DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip
_SHAPES = [(0, 2), (), (1,), (7,), (6, 5), "strided"]


def _rounded(array):
    """To bfloat16, as float32."""
    return proa.to_tensor(np.asarray(array, np.float32)).cast("bfloat16").cast("float32").numpy()


def _array(dtype, shape, rank):
    rng = np.random.default_rng(100 + rank)
    dims = (6, 5) if shape == "strided" else shape
    if dtype == "bool":
        return rng.random(dims) < 0.6
    if dtype.startswith("complex"):
        return (rng.integers(-3, 4, dims) + 1j * rng.integers(-3, 4, dims)).astype(dtype)
    if dtype == "bfloat16":
        return _rounded(rng.normal(size=dims))
    if "float" in dtype:
        return np.asarray(rng.normal(size=dims)).astype(dtype)
    return np.asarray(rng.integers(0, 5, dims)).astype(dtype)


def _tensor(array, dtype, shape):
    """The array as a tensor; with strides if the shape says so."""
    plain = np.asarray(array)
    if shape == "strided":
        return proa.to_tensor(np.ascontiguousarray(plain.T)).cast(dtype).t()
    return proa.to_tensor(plain).cast(dtype)


def _numpy(tensor):
    return tensor.cast("float32").numpy() if "bfloat16" in str(tensor.dtype) else tensor.numpy()


def _fold(arrays, op, dtype):
    """The combination in the order of ranks; 16-bit floats in float32."""
    half = dtype in ("float16", "bfloat16")
    given = arrays[0].dtype
    arrays = [a.astype(np.float32) if half else a for a in arrays]
    if dtype == "bool":
        function = {"sum": np.logical_or, "max": np.logical_or, "prod": np.logical_and, "min": np.logical_and}[op]
    else:
        function = {"sum": np.add, "avg": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}[op]
    out = arrays[0]
    for a in arrays[1:]:
        out = function(out, a)
    if op == "avg":
        n = out.real.dtype.type(len(arrays))
        out = out.real / n + 1j * (out.imag / n) if np.iscomplexobj(out) else out / n
    return _rounded(out) if dtype == "bfloat16" else np.asarray(out).astype(given)


def _has(op, dtype):
    if op in ("max", "min"):
        return not dtype.startswith("complex")
    return op != "avg" or "float" in dtype or "complex" in dtype


def _case(dtype, shape, n):
    """All collectives of this rank."""
    rank = dist.get_rank()
    arrays = [_array(dtype, shape, r) for r in range(n)]
    own = lambda: _tensor(arrays[rank], dtype, shape)
    same = lambda t, a, what: np.testing.assert_array_equal(
        _numpy(t), np.asarray(a), err_msg=f"{what} {dtype} {shape} of {n}"
    )
    for op in ("sum", "max", "min", "prod", "avg"):
        number = getattr(dist.ReduceOp, op.upper())
        if not _has(op, dtype):
            with pytest.raises(TypeError, match="means nothing"):
                dist.all_reduce(own(), number)
            continue
        x = own()
        dist.all_reduce(x, number)
        same(x, _fold(arrays, op, dtype), f"all_reduce {op}")
        x = own()
        dist.reduce(x, n - 1, number)
        same(x, _fold(arrays, op, dtype) if rank == n - 1 else arrays[rank], f"reduce {op}")
    x = own()
    dist.broadcast(x, n - 1)
    same(x, arrays[n - 1], "broadcast")
    found = []
    task = dist.all_gather(found, own(), sync_op=False)
    assert task.wait() and task.is_completed()
    for r in range(n):
        same(found[r], arrays[r], "all_gather")
    x = own()
    dist.scatter(x, [_tensor(_array(dtype, shape, 10 + r), dtype, shape) for r in range(n)] if rank == 0 else None, 0)
    same(x, _array(dtype, shape, 10 + rank), "scatter")
    part = lambda giver, taker: _array(dtype, shape, 20 + 5 * giver + taker)
    found = []
    dist.alltoall([_tensor(part(rank, r), dtype, shape) for r in range(n)], found)
    for r in range(n):
        same(found[r], part(r, rank), "alltoall")
    x = own()
    dist.reduce_scatter(x, [_tensor(part(rank, r), dtype, shape) for r in range(n)])
    same(x, _fold([part(r, rank) for r in range(n)], "sum", dtype), "reduce_scatter")
    x = own()
    tasks = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, own(), (rank + 1) % n), dist.P2POp(dist.irecv, x, (rank - 1) % n)]
    )
    for task in tasks:
        task.wait()
    same(x, arrays[(rank - 1) % n], "send and receive")
    dist.barrier()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_collective_every_dtype(n):
    def body():
        for dtype, shape in itertools.product(_DTYPES, _SHAPES):
            _case(dtype, shape, n)

    run_threads(body, n)


def test_processes():
    source = """
dist.init_parallel_env()
rank = dist.get_rank()
x = proa.full([300001], rank + 0.5)
dist.all_reduce(x)
assert x.numpy().min() == x.numpy().max() == 4.5
odd = dist.new_group([0, 2])
y = proa.full([3], float(rank))
dist.all_reduce(y, group=odd)
assert y.tolist() == ([2.0] * 3 if rank != 1 else [1.0] * 3)
assert dist.get_rank(odd) == {0: 0, 1: -1, 2: 1}[rank]
objects = []
dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
assert objects == [{"rank": r, "text": "x" * r} for r in range(3)]
given = ["a", {"b": 2}] if rank == 1 else [None, None]
dist.broadcast_object_list(given, 1)
assert given == ["a", {"b": 2}]
mine = []
dist.scatter_object_list(mine, [10, 11, 12] if rank == 2 else None, 2)
assert mine == [10 + rank]
print(dist.get_group(0).carrier.transport)
dist.destroy_process_group()
"""
    assert ranks.run(source, 3) == ["shared memory\n"] * 3
    assert ranks.run(source, 3, PROA_SHARED_MEMORY="0") == ["sockets\n"] * 3


def test_uneven_alltoall_single():
    def body():
        rank = dist.get_rank()
        gives = [rank + r for r in range(3)]
        x = proa.full([sum(gives), 2], float(rank))
        y = proa.zeros([sum(gives), 2])
        dist.alltoall_single(y, x, gives, gives)
        assert y[:, 0].tolist() == [float(r) for r in range(3) for _ in range(rank + r)]
        with pytest.raises(ValueError, match="in_split_sizes must be 3 numbers of rows that add up to"):
            dist.alltoall_single(y, x, [9, 9, 9], gives)

    run_threads(body, 3)


def _gradients(function, inputs, ranks):
    """Gradients of the sum over ranks of sum(w_r * function(x_r)) at each rank's x, twice differentiable ones checked."""

    def body():
        rank = dist.get_rank()
        x = proa.to_tensor(inputs[rank], stop_gradient=False)
        out = function(x * 1.0)
        w = proa.to_tensor(np.cos(np.arange(out.size) + 7.0 * rank).reshape(out.shape))
        (out * out * w).sum().backward()
        return out.numpy(), w.numpy(), x.grad.numpy()

    return run_threads(body, ranks)


@pytest.mark.parametrize(
    "name, forward",
    [
        ("all_reduce", lambda x: proa._C.ops.all_reduce(x, 0, "sum")),
        ("mean", lambda x: proa._C.ops.all_reduce(x, 0, "avg")),
        ("max", lambda x: proa._C.ops.all_reduce(x, 0, "max")),
        ("reduce", lambda x: proa._C.ops.reduce_to_rank(x, 1, 0)),
        ("broadcast", lambda x: proa._C.ops.broadcast_from(x, 1, 0)),
        ("all_gather", lambda x: proa._C.ops.all_gather(x, 2, 0)),
        ("reduce_scatter", lambda x: proa._C.ops.reduce_scatter(x, 2, 0)),
        ("gather", lambda x: proa._C.ops.gather_to(x, 0, 2, 0)),
        ("scatter", lambda x: proa._C.ops.scatter_from(x, 1, 2, 0)),
        ("all_to_all", lambda x: proa._C.ops.all_to_all(x, 0)),
    ],
)
def test_gradients_are_those_of_the_sum_of_all_losses(name, forward):
    rng = np.random.default_rng(3)
    inputs = [rng.normal(size=(4, 3)) for _ in range(2)]

    def losses(values):
        def body():
            out = forward(proa.to_tensor(values[dist.get_rank()])).numpy()
            w = np.cos(np.arange(out.size) + 7.0 * dist.get_rank()).reshape(out.shape)
            return float((out * out * w).sum())

        return sum(run_threads(body, 2))

    found = _gradients(forward, inputs, 2)
    for rank in range(2):
        for at in [(0, 0), (3, 2), (1, 1)]:
            values = [[v.copy() for v in inputs] for _ in range(2)]
            values[0][rank][at] += 1e-5
            values[1][rank][at] -= 1e-5
            numeric = (losses(values[0]) - losses(values[1])) / 2e-5
            np.testing.assert_allclose(found[rank][2][at], numeric, rtol=1e-5, atol=1e-7, err_msg=f"{name} {rank} {at}")


def test_second_gradients():
    def body():
        rank = dist.get_rank()
        x = proa.to_tensor([2.0 + rank], stop_gradient=False)
        y = proa._C.ops.all_reduce(x * x * x, 0, "sum")
        (g,) = proa.grad(y.sum(), x, create_graph=True)
        (g * g).sum().backward()
        return x.grad.item()

    # dy_0/dx_0 + dy_1/dx_0 = 6 x^2; the gradient of its square is 2 * 6 x^2 * 12 x.
    assert run_threads(body, 2) == [144.0 * 8, 144.0 * 27]


def test_functions_differentiate_in_place():
    def body():
        x = proa.to_tensor([1.0, 2.0], stop_gradient=False)
        y = x * (dist.get_rank() + 1)
        dist.all_reduce(y)
        (y * y).sum().backward()
        return x.grad.tolist()

    assert run_threads(body, 2) == [[12.0, 24.0], [24.0, 48.0]]


def test_recorded_with_their_order():
    def body():
        rank = dist.get_rank()

        @proa.jit.to_static
        def step(x):
            proa._C.ops.all_reduce(x * 2.0, 0, "sum")  # stays, since the other rank waits for it
            a = proa._C.ops.all_reduce(x, 0, "sum")
            b = proa._C.ops.all_reduce(x, 0, "sum")
            return a + b

        x = proa.to_tensor([1.0 + rank])
        out = [step(x).item() for _ in range(2)]
        entries = dist.get_group(0).carrier.entries()
        return out, [e["op"] for e in entries]

    (first, ops), (second, _) = run_threads(body, 2)
    assert first == second == [6.0, 6.0]
    assert ops == ["all_reduce"] * 6


def test_mistakes():
    def body():
        with pytest.raises(ValueError, match="processes of the group are"):
            dist.broadcast(proa.ones([1]), 5)
        with pytest.raises(ValueError, match="processes 0 to 1; ranks names 2"):
            dist.new_group([0, 2])
        with pytest.raises(ValueError, match="one tensor for each process, 2; it has 1"):
            dist.alltoall([proa.ones([1])], [])
        with pytest.raises(RuntimeError, match="a rank does not send to itself"):
            dist.send(proa.ones([1]), dist.get_rank())
        with pytest.raises(NotImplementedError, match="a product over ranks has no gradient"):
            x = proa.ones([2])
            x.stop_gradient = False
            proa._C.ops.all_reduce(x * 2.0, 0, "prod").sum().backward()
        dist.barrier()

    run_threads(body, 2)
