"""Gradients of mean pooling against NumPy: windows of all kinds, in both orders of channels and past the caches."""

import itertools

import numpy as np
import pytest

import proa

_POOLS = [  # spatial sizes, kernel, stride, padding, ceil_mode, exclusive, divisor
    ((7, 9), (2, 2), (2, 2), (0, 0), False, True, None),
    ((9, 20), (3, 3), (2, 2), (1, 1), False, True, None),
    ((8, 37), (5, 5), (1, 1), (2, 2), False, False, None),
    ((10, 11), (3, 2), (1, 3), (1, 0), True, True, 5),
    ((5, 40), (1, 7), (4, 5), (0, 3), True, False, None),
    ((17,), (4,), (3,), (2,), True, True, None),
    ((5, 6, 13), (3, 2, 3), (2, 1, 2), (1, 1, 0), True, True, None),
    ((1, 4, 6), (1, 3, 3), (1, 2, 1), (0, 1, 1), False, True, None),
]
_ADAPTIVE = [((7, 9), (3, 4)), ((5, 6), (1, 1)), ((4, 3), (6, 5)), ((11,), (4,)), ((5, 6, 7), (2, 4, 3))]


@pytest.fixture(params=[0, 1], ids=["cached", "past the caches"])
def stores(request):
    """Gradients are stored as small ones are, or as large ones."""
    proa.set_flags({"FLAGS_stream_bytes": request.param})
    yield
    proa.set_flags({"FLAGS_stream_bytes": 0})


def _windows(size, kernel, stride, padding, ceil_mode):
    room = size + 2 * padding - kernel
    for i in range((-(-room // stride) if ceil_mode else room // stride) + 1):
        first = i * stride - padding
        yield max(first, 0), min(first + kernel, size), min(kernel, size + padding - first)


def _reference(grad, shape, windows, exclusive, divisor):
    result = np.zeros(shape)
    every = (slice(None), slice(None))
    for index in itertools.product(*(range(len(w)) for w in windows)):
        seen = [w[i] for w, i in zip(windows, index)]
        count = np.prod([max(end - begin, 0) if exclusive else counted for begin, end, counted in seen])
        if all(end > begin for begin, end, _ in seen):
            share = grad[every + index] / (divisor or count)
            at = every + tuple(slice(begin, end) for begin, end, _ in seen)
            result[at] += share.reshape(*share.shape, *(1,) * len(seen))
    return result


def _gradient(pool, shape, grad, last, dtype):
    """Of `pool` of an image by channels first, computed in the other order if `last`."""
    to_last = (0, *range(2, len(shape)), 1)
    back = (0, len(shape) - 1, *range(1, len(shape) - 1))
    x, g = np.zeros(shape), grad
    if last:
        x, g = np.transpose(x, to_last), np.transpose(grad, to_last)
    x = proa.to_tensor(np.ascontiguousarray(x)).astype(dtype)
    x.stop_gradient = False
    out = pool(x)
    (got,) = proa.grad(out, x, proa.to_tensor(np.ascontiguousarray(g)).astype(dtype))
    got = got.astype("float64").numpy()
    return np.transpose(got, back) if last else got


def _op(name, sizes):
    return getattr(proa._C.ops, f"{name}{len(sizes)}d")


def _format(dims, last):
    return ({1: "NLC", 2: "NHWC", 3: "NDHWC"} if last else {1: "NCL", 2: "NCHW", 3: "NCDHW"})[dims]


def _same(pool, shape, windows, exclusive, divisor, last, dtype):
    grad = np.random.default_rng(0).standard_normal((*shape[:2], *map(len, windows)))
    grad = proa.to_tensor(grad).astype(dtype).astype("float64").numpy()
    want = _reference(grad, shape, windows, exclusive, divisor)
    tolerance = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2}[dtype]
    got = _gradient(pool, shape, grad, last, dtype)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    before = proa._C.get_num_threads()
    try:
        proa._C.set_num_threads(7)  # the same bits
        np.testing.assert_array_equal(_gradient(pool, shape, grad, last, dtype), got)
    finally:
        proa._C.set_num_threads(before)


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("channels", [1, 5, 40])
@pytest.mark.usefixtures("stores")
def test_pools(channels, dtype, last):
    for sizes, kernel, stride, padding, ceil_mode, exclusive, divisor in _POOLS:
        windows = [list(_windows(*of_dim, ceil_mode)) for of_dim in zip(sizes, kernel, stride, padding)]

        def pool(x):
            rest = [ceil_mode, exclusive, _format(len(sizes), last), divisor]  # noqa: B023
            return _op("avg_pool", sizes)(x, kernel, stride, padding, *rest)  # noqa: B023

        _same(pool, (3, channels, *sizes), windows, exclusive, divisor, last, dtype)


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "last"])
@pytest.mark.parametrize("channels", [1, 33])
@pytest.mark.usefixtures("stores")
def test_adaptive_pools(channels, last):
    for sizes, out in _ADAPTIVE:
        windows = [[(i * size // n, -(-(i + 1) * size // n), 0) for i in range(n)] for size, n in zip(sizes, out)]

        def pool(x):
            return _op("adaptive_avg_pool", sizes)(x, out, _format(len(sizes), last))  # noqa: B023

        _same(pool, (2, channels, *sizes), windows, True, None, last, "float32")


def test_many_rows_on_threads():
    """Rows of one image are shared among threads, several planes too."""
    for shape in ((1, 1, 300, 200), (1, 1, 40, 50, 60)):
        dims = len(shape) - 2
        windows = [list(_windows(size, 3, 2, 1, False)) for size in shape[2:]]

        def pool(x):
            return _op("avg_pool", shape[2:])(x, [3] * dims, [2] * dims, [1] * dims)  # noqa: B023

        _same(pool, shape, windows, True, None, False, "float32")
