"""Factors and linear systems of complex matrices, of sizes around those where other code takes over: against NumPy in complex128."""

import numpy as np
import pytest

import proa

_SIZES = (1, 2, 3, 4, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100, 130)
_DTYPES = ("complex64", "complex128")


def _matrix(rng, shape, dtype="complex128"):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def _close(got, want, dtype, terms, scale=1.0):
    """Within some roundings of numbers of the size `scale`, which grow with the sums."""
    limit = 20 * np.sqrt(terms) * np.finfo(dtype).eps * scale
    assert got.shape == want.shape
    np.testing.assert_array_less(np.abs(got - want), limit + 1e-300)


def _definite(rng, n, dtype):
    a = _matrix(rng, (n, n))
    return (a @ a.conj().T / n + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_lu(n, dtype):
    rng = np.random.default_rng(n)
    for shape in ((n, n), (n, n + 5), (n + 7, n), (2, n, n)):
        x = _matrix(rng, shape, dtype)
        lu, pivots, infos = proa.linalg.lu(proa.to_tensor(x), get_infos=True)
        p, lower, upper = (t.numpy().astype("complex128") for t in proa.linalg.lu_unpack(lu, pivots))
        assert not infos.numpy().any()
        assert np.abs(lower).max() < 1.5  # rows are swapped for the largest pivots
        _close(p @ lower @ upper, x.astype("complex128"), dtype, n, scale=4 + n)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_solve_inverse_and_determinant(n, dtype):
    rng = np.random.default_rng(n)
    x = (_matrix(rng, (n, n)) / np.sqrt(n) + 3 * np.eye(n)).astype(dtype)  # far from singular
    exact, t = x.astype("complex128"), proa.to_tensor(x)
    for columns in (1, 2, 17):
        b = _matrix(rng, (n, columns), dtype)
        got = proa.linalg.solve(t, proa.to_tensor(b)).numpy()
        _close(got, np.linalg.solve(exact, b.astype("complex128")), dtype, n, scale=4)
        strided = proa.to_tensor(np.ascontiguousarray(x.T)).transpose([1, 0])
        np.testing.assert_array_equal(proa.linalg.solve(strided, proa.to_tensor(b)).numpy(), got)
    _close(proa.linalg.inv(t).numpy(), np.linalg.inv(exact), dtype, n, scale=2)
    sign, log = np.linalg.slogdet(exact)
    det = proa.linalg.slogdet(t).numpy() if n > 60 else None
    if det is None:
        want = sign * np.exp(log)
        assert abs(complex(proa.linalg.det(t)) - want) <= 30 * n * np.finfo(dtype).eps * abs(want)
    else:
        _close(np.asarray(det[1]), np.asarray(log), dtype, n, scale=10 + log)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_gradient_of_solve_is_a_solution_with_the_adjoint(n, dtype):
    rng = np.random.default_rng(n)
    x = (_matrix(rng, (n, n)) / np.sqrt(n) + 3 * np.eye(n)).astype(dtype)
    b = proa.to_tensor(_matrix(rng, (n, 3), dtype), stop_gradient=False)
    g = _matrix(rng, (n, 3), dtype)
    (grad,) = proa.grad([proa.linalg.solve(proa.to_tensor(x), b)], [b], [proa.to_tensor(g)])
    want = np.linalg.solve(x.astype("complex128").conj().T, g.astype("complex128"))
    _close(grad.numpy(), want, dtype, n, scale=4)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_cholesky(n, dtype):
    rng = np.random.default_rng(n)
    x = _definite(rng, n, dtype)
    want = np.linalg.cholesky(x.astype("complex128"))
    other = np.where(np.tri(n, k=-1, dtype=bool), np.nan, x).astype(dtype)  # what is not read
    for a in (x, other):
        _close(proa.linalg.cholesky(proa.to_tensor(a), upper=True).numpy(), want.conj().T, dtype, n, scale=3)
    for a in (x, np.where(np.tri(n, k=-1, dtype=bool).T, np.inf, x).astype(dtype)):
        _close(proa.linalg.cholesky(proa.to_tensor(a)).numpy(), want, dtype, n, scale=3)
    bad = x.copy()
    at = n // 2
    bad[at, at] = -1
    for upper in (False, True):
        with pytest.raises(ValueError, match=f"leading {at + 1} x {at + 1} part is not"):
            proa.linalg.cholesky(proa.to_tensor(bad), upper=upper)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_qr(n, dtype):
    rng = np.random.default_rng(n)
    for m, k in ((n, n), (n + 6, n), (n, n + 6)):
        x = _matrix(rng, (m, k), dtype)
        for mode in ("reduced", "complete"):
            q, r = (t.numpy().astype("complex128") for t in proa.linalg.qr(proa.to_tensor(x), mode=mode))
            assert q.shape == (m, m if mode == "complete" else min(m, k)) and r.shape == (q.shape[1], k)
            _close(q @ r, x.astype("complex128"), dtype, m, scale=8 + np.sqrt(m))
            _close(q.conj().T @ q, np.eye(q.shape[1]), dtype, m, scale=4)
            assert not np.tril(r, -1).any() and not np.diagonal(r).imag.any()
        only = proa.linalg.qr(proa.to_tensor(x), mode="r").numpy()
        np.testing.assert_array_equal(only, r[: min(m, k)].astype(dtype))


@pytest.mark.parametrize("n", [4, 20])
def test_singular_matrices(n):
    x = np.ones((n, n), "complex64") + 0j
    lu, pivots, infos = proa.linalg.lu(proa.to_tensor(x), get_infos=True)
    assert int(infos) == 2
    assert complex(proa.linalg.det(proa.to_tensor(x))) == 0
    for call in (proa.linalg.inv, lambda t: proa.linalg.solve(t, t)):
        with pytest.raises(ValueError, match="singular"):
            call(proa.to_tensor(x))


@pytest.mark.parametrize("n", [4, 20, 70])
def test_nan_and_infinity_give_no_numbers_where_they_count(n):
    rng = np.random.default_rng(0)
    for bad in (np.nan, complex(0, np.nan), np.inf):
        x = _matrix(rng, (n, n), "complex64")
        x[n // 2, 1] = bad
        t = proa.to_tensor(x)
        assert np.isnan(proa.linalg.solve(t, t).numpy()).any()
        lu = proa.linalg.lu(t)[0].numpy()
        assert not np.isfinite(lu).all()
        if not np.isinf(bad):
            assert np.isnan(proa.linalg.inv(t).numpy()).all() and np.isnan(complex(proa.linalg.det(t)))


@pytest.mark.parametrize("size", [1e-37, 1e-30, 1e-15, 1e15, 1e30, 3e37])
@pytest.mark.parametrize("n", [4, 20, 70])
def test_numbers_near_the_ends_of_the_range(n, size):
    rng = np.random.default_rng(0)
    x = (_matrix(rng, (n, n)) / 4 + 3 * np.eye(n)).astype("complex64")
    large = (x * np.float32(size)).astype("complex64")
    b = _matrix(rng, (n, 2), "complex64")
    want = np.linalg.solve(x.astype("complex128"), b.astype("complex128"))
    got = proa.linalg.solve(proa.to_tensor(large), proa.to_tensor((b * np.float32(size)).astype("complex64"))).numpy()
    _close(got, want, "complex64", n, scale=10)
    q, r = (t.numpy().astype("complex128") for t in proa.linalg.qr(proa.to_tensor(large)))
    _close(q @ r / size, x.astype("complex128"), "complex64", n, scale=20)
