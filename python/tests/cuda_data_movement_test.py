"""Indexing, order, rearranging and creation on an NVIDIA GPU give what they give on the CPU.

Sizes are those at which kernels work in parts: runs of one index over several chunks, lines that interleave, rows that
16 bytes do not divide. Skipped where there is no GPU; the samples of the conformance suite are the small cases.
"""

import numpy as np
import pytest

import proa
from proa.nn import functional as F

_GPU = "gpu:0"

pytestmark = pytest.mark.skipif(
    proa.device.cuda.device_count() == 0, reason="needs a build with CUDA, and an NVIDIA GPU"
)


def _numbers(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _indices(n, *shape, dtype="int64", seed=1, skewed=False):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n, shape)
    if skewed:  # most are one index, whose run goes over many chunks
        values[rng.random(shape) < 0.7] = n // 2
    return values.astype(dtype)


def _run(function, arrays, place):
    """Results of a function and, for those inputs that have gradients, the gradients, as arrays."""
    tensors = [proa.to_tensor(a, place=place, stop_gradient=a.dtype.kind != "f") for a in arrays]
    results = function(*tensors)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    for r in results:
        assert r.place == tensors[0].place
    leaves = [t for t in tensors if not t.stop_gradient]
    of = [r for r in results if not r.stop_gradient]
    if leaves and of:
        sum((r * r).sum() for r in of).backward()
    return [t.numpy() for t in results + [t.grad for t in leaves if t.grad is not None]]


def _place(name):
    return proa.CPUPlace() if name == "cpu" else proa.CUDAPlace(0)


_CASES = {
    "embedding": (lambda i, w: F.embedding(i, w), [_indices(50, 700, skewed=True), _numbers(50, 24)]),
    "embedding of few columns": (lambda i, w: F.embedding(i, w), [_indices(9, 5000), _numbers(9, 3)]),
    "embedding with padding": (
        lambda i, w: F.embedding(i, w, padding_idx=4),
        [_indices(9, 300, dtype="int32"), _numbers(9, 8)],
    ),
    "embedding of one row": (lambda i, w: F.embedding(i, w), [_indices(1, 4000), _numbers(1, 16)]),
    "one_hot": (lambda i: F.one_hot(i, 37), [_indices(37, 41, 5)]),
    "gather": (lambda x, i: proa.gather(x, i), [_numbers(33, 40), _indices(33, 300)]),
    "gather along the last dim": (lambda x, i: proa.gather(x, i, axis=1), [_numbers(33, 40), _indices(40, 99)]),
    "gather in the middle": (lambda x, i: proa.gather(x, i, axis=1), [_numbers(5, 7, 9), _indices(7, 50)]),
    "gather_nd": (lambda x, i: proa.gather_nd(x, i), [_numbers(6, 7, 5), _indices(6, 400, 2)]),
    "scatter": (lambda x, i, u: proa.scatter(x, i, u), [_numbers(20, 6), _indices(20, 90), _numbers(90, 6, seed=2)]),
    "scatter of sums": (
        lambda x, i, u: proa.scatter(x, i, u, overwrite=False),
        [_numbers(20, 8), _indices(20, 900, skewed=True), _numbers(900, 8, seed=2)],
    ),
    "scatter_nd_add": (
        lambda x, i, u: proa.scatter_nd_add(x, i, u),
        [_numbers(20, 6), _indices(6, 500, 2), _numbers(500, seed=2)],
    ),
    "take_along_axis": (
        lambda x, i: proa.take_along_axis(x, i, 1),
        [_numbers(40, 30), _indices(30, 40, 100)],
    ),
    "take_along_axis of a transpose": (
        lambda x, i: proa.take_along_axis(x.t(), i, 0),
        [_numbers(40, 30), _indices(30, 7, 40)],
    ),
    "take_along_axis, one of a line": (
        lambda x, i: proa.take_along_axis(x, i, 1),
        [_numbers(400, 30), _indices(30, 400, 1)],
    ),
    "put_along_axis": (
        lambda x, i, v: proa.put_along_axis(x, i, v, 1),
        [_numbers(40, 30), _indices(30, 40, 100), _numbers(40, 100, seed=2)],
    ),
    "put_along_axis, added": (
        lambda x, i, v: proa.put_along_axis(x, i, v, 0, reduce="add"),
        [_numbers(4, 30), _indices(4, 200, 30), _numbers(200, 30, seed=2)],
    ),
    "an index of rows": (lambda x, i: x[i], [_numbers(30, 12), _indices(30, 8, 9)]),
    "an index of columns": (lambda x, i: x[:, i], [_numbers(30, 12), _indices(12, 50)]),
    "two indices": (lambda x, i, j: x[i, j], [_numbers(6, 8, 5), _indices(6, 70), _indices(8, 3, 70, seed=2)]),
    "two indices apart": (lambda x, i, j: x[i, :, j], [_numbers(6, 8, 5), _indices(6, 70), _indices(5, 70, seed=2)]),
    "masked_select": (
        lambda x, m: proa.masked_select(x, m),
        [_numbers(300, 70), np.random.default_rng(3).random((300, 70)) < 0.3],
    ),
    "masked_select of a row": (
        lambda x, m: proa.masked_select(x, m),
        [_numbers(300, 70), np.random.default_rng(3).random(70) < 0.3],
    ),
    "nonzero": (lambda x: proa.nonzero(x > 1), [_numbers(90, 7, 50)]),
    "sort": (lambda x: proa.sort(x), [_numbers(30, 900)]),
    "sort down": (lambda x: proa.sort(x, axis=0, descending=True), [_numbers(900, 30)]),
    "sort of one line": (lambda x: proa.sort(x), [_numbers(300_000)]),
    "argsort of ties": (lambda x: proa.argsort(x, axis=1), [_indices(5, 20, 500, 3)]),
    "argsort of ties, falling": (lambda x: proa.argsort(x, descending=True), [_indices(5, 20, 500, dtype="int8")]),
    "topk": (lambda x: proa.topk(x, 7), [_numbers(50, 400)]),
    "topk, smallest": (lambda x: proa.topk(x, 7, axis=0, largest=False), [_numbers(50, 40, dtype="float64")]),
    "kthvalue": (lambda x: proa.kthvalue(x, 11, axis=1), [_numbers(50, 40)]),
    "searchsorted": (lambda s, v: proa.searchsorted(s, v), [np.sort(_numbers(1000)), _numbers(40, 60, seed=2)]),
    "tril": (lambda x: proa.tril(x, 3), [_numbers(5, 70, 90)]),
    "triu": (lambda x: proa.triu(x, -3), [_numbers(5, 70, 90)]),
    "concat": (lambda x, y: proa.concat([x, y, x], axis=1), [_numbers(30, 7), _numbers(30, 11)]),
    "stack": (lambda x, y: proa.stack([x, y], axis=1), [_numbers(30, 7), _numbers(30, 7)]),
    "flip": (lambda x: proa.flip(x, [0, 1]), [_numbers(30, 7)]),
    "roll": (lambda x: proa.roll(x, [3, -2], [0, 1]), [_numbers(30, 7)]),
    "tile": (lambda x: proa.tile(x, [2, 3]), [_numbers(30, 7)]),
    "repeat_interleave": (lambda x: proa.repeat_interleave(x, 3, axis=1), [_numbers(30, 7)]),
    "pad": (lambda x: F.pad(x, [1, 2, 3, 4], value=2.5), [_numbers(2, 3, 30, 7)]),
    "pad, mirrored": (lambda x: F.pad(x, [1, 2, 3, 4], mode="reflect"), [_numbers(2, 3, 30, 7)]),
    "pad, circular": (lambda x: F.pad(x, [1, 2, 3, 4], mode="circular"), [_numbers(2, 3, 30, 7)]),
    "a slice": (lambda x: x[3:20:2, ::-1], [_numbers(30, 7)]),
    "diag": (lambda x: proa.diag(x, 2), [_numbers(30)]),
}


@pytest.mark.parametrize("case", _CASES)
def test_as_on_the_cpu(case):
    function, arrays = _CASES[case]
    here, there = (_run(function, arrays, _place(p)) for p in ("cpu", _GPU))
    assert len(here) == len(there)
    for a, b in zip(here, there):
        assert a.dtype == b.dtype
        # Of sums of thousands of float32 numbers, which meet in another order.
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_sums_of_rows_are_rounded_once(dtype):
    """And are the same bits each time."""
    ids, rows = _indices(7, 3000, skewed=True), _numbers(3000, 40)
    results = []
    for place in ("cpu", _GPU, _GPU):
        weight = proa.zeros([7, 40]).to(_place(place)).astype(dtype)
        weight.stop_gradient = False
        g = proa.to_tensor(rows, place=_place(place)).astype(dtype)
        F.embedding(proa.to_tensor(ids, place=_place(place)), weight).backward(g)
        results.append(weight.grad.astype("float64").numpy())
    np.testing.assert_array_equal(results[1], results[2])
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(results[1], results[0], rtol=tolerance, atol=tolerance)


def test_writing_by_index():
    array, ids, rows = _numbers(30, 12), _indices(30, 100), _numbers(100, 12, seed=2)
    results = []
    for place in ("cpu", _GPU):
        x = proa.to_tensor(array, place=_place(place))
        x[proa.to_tensor(ids, place=_place(place))] = proa.to_tensor(rows, place=_place(place))
        x[2:9, 1] = 7.0
        results.append(x.numpy())
    np.testing.assert_array_equal(results[0], results[1])


def test_nan_and_zeros_in_order():
    x = np.array([0.0, np.nan, -0.0, -np.inf, 3, np.nan, 0.0, -1] * 50, "float32")
    for descending in (False, True):
        here, there = (
            proa.argsort(proa.to_tensor(x, place=_place(p)), descending=descending).numpy() for p in ("cpu", _GPU)
        )
        np.testing.assert_array_equal(here, there)


_DRAWN = {
    "uniform": (lambda: proa.uniform([1001], min=-2.0, max=3.0), True),
    "uniform, float64": (lambda: proa.uniform([1001], dtype="float64"), True),
    "randint": (lambda: proa.randint(-5, 1_000_000, [1001]), True),
    "bernoulli": (lambda: proa.bernoulli(proa.full([1001], 0.3)), True),
    "randn": (lambda: proa.randn([1001]), False),
    "normal": (lambda: proa.normal(3.0, 0.5, [1001]), False),
    "exponential_": (lambda: proa.zeros([1001]).exponential_(2.0), False),
    "arange": (lambda: proa.arange(3, 900, 7), True),
    "arange of floats": (lambda: proa.arange(0.5, 90.0, 0.1), True),
    "linspace": (lambda: proa.linspace(-1.0, 7.0, 1001), True),
    "eye": (lambda: proa.eye(30, 40), True),
    "full": (lambda: proa.full([1001], 2.5), True),
}


@pytest.mark.parametrize("what", _DRAWN)
def test_created_as_on_the_cpu(what):
    draw, exact = _DRAWN[what]
    results = []
    try:
        for device in ("cpu", _GPU):
            proa.set_device(device)
            proa.seed(11)
            results.append(draw().numpy())
    finally:
        proa.set_device("cpu")
    if exact:
        np.testing.assert_array_equal(results[1], results[0])
    else:
        np.testing.assert_allclose(results[1], results[0], rtol=2e-6, atol=2e-6)


def test_an_index_out_of_range_is_an_error_of_the_call_that_waits():
    x = proa.to_tensor(_numbers(5, 4), place=_place(_GPU))
    bad = proa.to_tensor(np.array([1, 9, 2]), place=_place(_GPU))
    with pytest.raises(IndexError, match=r"gather: index 9 at flat position 1 is out of range for dim 0 of size 5"):
        proa.gather(x, bad).numpy()
    # Thrown once; the device works on.
    np.testing.assert_array_equal((x + 0).numpy(), x.numpy())
    before = x.numpy()
    with pytest.raises(IndexError, match="index 9"):
        proa.scatter_(x, bad, proa.ones([3, 4]).to(_place(_GPU)))
        proa.device.cuda.synchronize()
    after = x.numpy()
    np.testing.assert_array_equal(after[[0, 3, 4]], before[[0, 3, 4]])
