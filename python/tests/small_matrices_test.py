"""Batches of small matrices: each size that is known when it is compiled, the first that is not, and what has no inverse."""

import numpy as np
import pytest

import proa as paddle
from proa import linalg

_TOLERANCE = {"float32": 2e-3, "float64": 1e-10}
_SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17]
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


def _matrices(dtype, *shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def _near(got, wanted, dtype):
    np.testing.assert_allclose(got.numpy(), wanted, rtol=_TOLERANCE[dtype], atol=_TOLERANCE[dtype])


@dtypes
@pytest.mark.parametrize("n", _SIZES)
def test_determinants_inverses_and_solutions(n, dtype):
    x = _matrices(dtype, 2, 30, n, n)
    wide = x.astype("float64")
    t = paddle.to_tensor(x)
    _near(linalg.det(t), np.linalg.det(wide), dtype)
    _near(linalg.slogdet(t)[0], np.linalg.slogdet(wide)[0], dtype)
    _near(linalg.slogdet(t)[1], np.linalg.slogdet(wide)[1], dtype)
    for k in (1, 3):
        b = _matrices(dtype, 2, 30, n, k)
        product = x @ np.linalg.solve(wide, b.astype("float64"))
        np.testing.assert_allclose(x @ linalg.solve(t, paddle.to_tensor(b)).numpy(), product, atol=_TOLERANCE[dtype])
    inverse = linalg.inv(t).numpy()
    largest = np.abs(inverse).max((-2, -1), keepdims=True) + 1
    np.testing.assert_allclose(x @ inverse / largest, np.eye(n) / largest, atol=_TOLERANCE[dtype] / 10)


@dtypes
@pytest.mark.parametrize("n", _SIZES)
def test_gradients_solve_with_the_transpose(n, dtype):
    x, b, g = (_matrices(dtype, 5, n, k) for k in (n, 2, 2))
    t, y = paddle.to_tensor(x, stop_gradient=False), paddle.to_tensor(b, stop_gradient=False)
    linalg.solve(t, y).backward(paddle.to_tensor(g))
    turned = x.swapaxes(-1, -2)
    np.testing.assert_allclose(turned @ y.grad.numpy(), g, atol=_TOLERANCE[dtype])


@dtypes
@pytest.mark.parametrize("n", _SIZES)
def test_lu_swaps_for_the_largest_pivot(n, dtype):
    x = _matrices(dtype, 20, n, n)
    x[0] = np.eye(n)[::-1]  # every row must be swapped
    lu, pivots, info = linalg.lu(paddle.to_tensor(x), get_infos=True)
    assert not info.numpy().any()
    p, lower, upper = (v.numpy() for v in linalg.lu_unpack(lu, pivots))
    np.testing.assert_allclose(p @ lower @ upper, x, atol=_TOLERANCE[dtype] / 100)
    assert np.abs(lower).max() <= 1


@dtypes
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (7, 3), (3, 7), (16, 16), (16, 2), (2, 16), (17, 4), (4, 17)])
def test_qr(shape, mode, dtype):
    x = _matrices(dtype, 10, *shape)
    x[1, :, 0] = 0
    x[2] = np.triu(x[2])  # nothing to reflect
    result = linalg.qr(paddle.to_tensor(x), mode=mode)
    r = (result if mode == "r" else result[1]).numpy()
    assert not np.tril(r, -1).any()
    np.testing.assert_allclose(r.swapaxes(-1, -2) @ r, x.swapaxes(-1, -2) @ x, atol=_TOLERANCE[dtype])
    if mode != "r":
        q = result[0].numpy()
        np.testing.assert_allclose(q @ r, x, atol=_TOLERANCE[dtype] / 100)
        np.testing.assert_allclose(q.swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1]), (10, *[q.shape[-1]] * 2)), atol=_TOLERANCE[dtype] / 100)  # fmt: skip


@dtypes
@pytest.mark.parametrize("n", _SIZES)
def test_what_is_singular(n, dtype):
    x = _matrices(dtype, 3, n, n)
    x[1, :, n - 1] = 0
    t = paddle.to_tensor(x)
    assert linalg.det(t).numpy()[1] == 0
    sign, size = (v.numpy() for v in linalg.slogdet(t))
    assert sign[1] == 0
    assert size[1] == -np.inf
    assert np.isfinite(np.delete(size, 1)).all()
    with pytest.raises(ValueError, match=r"the matrix at \[1\] of the batch is singular"):
        linalg.inv(t)
    with pytest.raises(ValueError, match="singular"):
        linalg.solve(t, paddle.ones([3, n, 1], dtype))
    assert linalg.lu(t, get_infos=True)[2].tolist() == [0, n, 0]
    x[2, 0, 0] = np.nan
    assert np.isnan(linalg.det(paddle.to_tensor(x)).numpy()).tolist() == [False, False, True]
