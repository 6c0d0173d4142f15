"""Decompositions of tiny and huge matrices: what squares of their numbers would lose, results keep."""

import numpy as np
import pytest

import proa as paddle
from proa import linalg

# Powers of two, so that a matrix at one scale is exactly another at a second one.
_SCALES = {"float32": (-98, 108), "float64": (-700, 700), "complex64": (-98, 108), "complex128": (-700, 700)}


def _random(dtype, *shape):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def _scaled(x, exponent):
    parts = (np.ldexp(part, exponent) for part in (x.real, x.imag))
    return next(parts) if not np.iscomplexobj(x) else (next(parts) + 1j * next(parts)).astype(x.dtype)


def _plain(x):
    """What every function gives for x, by name: (result, power of the scale that it has)."""
    t = paddle.to_tensor(x)
    q, r = linalg.qr(t)
    u, s, vh = linalg.svd(t)
    w, v = linalg.eig(t)
    hermitian = t + t.conj().t()
    ew, ev = linalg.eigh(hermitian)
    lu, pivots = linalg.lu(t)
    return {
        "q": (q, 0), "r": (r, 1), "u": (u, 0), "s": (s, 1), "vh": (vh, 0), "w": (w, 1), "v": (v, 0),
        "eigvals": (linalg.eigvals(t), 1), "ew": (ew, 1), "ev": (ev, 0), "eigvalsh": (linalg.eigvalsh(hermitian), 1),
        "pivots": (pivots, 0), "inverse": (linalg.inv(t), -1), "solve": (linalg.solve(t, t), 0),
    }  # fmt: skip


@pytest.mark.parametrize("n", [3, 20, 70])
@pytest.mark.parametrize("dtype", _SCALES)
def test_a_scaled_matrix_has_scaled_parts(dtype, n):
    x = _random(dtype, n, n) + np.eye(n, dtype=dtype) * 3
    wanted = _plain(x)
    for exponent in _SCALES[dtype]:
        for name, (found, power) in _plain(_scaled(x, exponent)).items():
            exact = wanted[name][0].numpy()
            found = _scaled(found.numpy(), -power * exponent) if power else found.numpy()
            tolerance = 2e-3 if dtype in ("float32", "complex64") else 1e-9
            np.testing.assert_allclose(found, exact, atol=tolerance * np.abs(exact).max(), err_msg=f"{name} {exponent}")


def test_numbers_of_one_matrix_may_differ_by_the_whole_range():
    x = np.diag([1e30, 1.0, 1e-30]).astype("float32")
    q, r = linalg.qr(paddle.to_tensor(x))
    np.testing.assert_allclose(np.abs(np.diag(r.numpy())), np.diag(x), rtol=1e-6)
    np.testing.assert_allclose(np.abs(q.numpy()), np.eye(3), atol=1e-6)
    huge = np.diag([1e200, 1.0, 1e-200])
    np.testing.assert_allclose(np.diag(linalg.qr(paddle.to_tensor(huge))[1].abs().numpy()), np.diag(huge), rtol=1e-12)
    w = linalg.eigvals(paddle.to_tensor(np.diag([1e200, 1.0])))
    np.testing.assert_allclose(sorted(w.real().tolist()), [1.0, 1e200], rtol=1e-12)


@pytest.mark.parametrize("n", [3, 70])
def test_qr_of_subnormal_numbers(n):
    x = np.ldexp(np.round(_random("float32", n, n) * 1000), -145).astype("float32")
    q, r = (part.numpy().astype("float64") for part in linalg.qr(paddle.to_tensor(x)))
    np.testing.assert_allclose(q @ r, x, atol=n * 2.0**-149)
    np.testing.assert_allclose(q.T @ q, np.eye(n), atol=1e-4)


@pytest.mark.parametrize("dtype", _SCALES)
def test_zero_and_nan_stay(dtype):
    zero = linalg.qr(paddle.zeros([5, 5], dtype))[1]
    assert not zero.numpy().any()
    x = _scaled(_random(dtype, 5, 5), _SCALES[dtype][0])
    x[1, 2] = np.nan
    assert np.isnan(linalg.qr(paddle.to_tensor(x))[1].numpy()).any()
    assert np.isnan(linalg.eigvals(paddle.to_tensor(x)).numpy()).all()


def _of_every_kind(n):
    """Symmetric matrices whose eigenvalues are multiple, close, graded or 0."""
    i = np.arange(n)
    path = (np.abs(i[:, None] - i) == 1).astype("float64")
    return {
        "zeros": np.zeros((n, n)), "identity": np.eye(n), "ones": np.ones((n, n)), "path": path, "arrow": np.where((i[:, None] == 0) | (i == 0), 1.0, 0.0),
        "wilkinson": path + np.diag(np.abs(i - n // 2).astype("float64")), "graded": 0.5 ** (i[:, None] + i), "hilbert": 1 / (i[:, None] + i + 1.0),
        "blocks": np.kron(np.eye((n + 1) // 2), [[0.0, 1.0], [1.0, 0.0]])[:n, :n], "last": np.where((i[:, None] == n - 1) | (i == n - 1), -1.0, 0.0),
    }  # fmt: skip


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigenvalues_alone_of_every_kind_of_matrix(dtype, uplo):
    epsilon = np.finfo(dtype).eps
    for n in (1, 2, 3, 4, 8, 15, 16, 17, 31, 64, 129, 200):
        other = np.triu_indices(n, 1) if uplo == "L" else np.tril_indices(n, -1)
        for name, x in _of_every_kind(n).items():
            for exponent in (0, *_SCALES[dtype]):
                scaled = _scaled(x.astype(dtype), exponent)
                scaled[other] = np.nan  # is not read
                found = linalg.eigvalsh(paddle.to_tensor(scaled), uplo).numpy().astype("float64")
                wanted = np.linalg.eigvalsh(x.astype(dtype).astype("float64"))
                limit = 4 * n * epsilon * max(np.abs(wanted).max(), 1e-30)
                np.testing.assert_allclose(
                    np.ldexp(found, -exponent), wanted, atol=limit, rtol=0, err_msg=f"{name} {n} {exponent}"
                )
            for wrong in (np.nan, np.inf, -np.inf):
                scaled[n - 1, 0] = scaled[0, n - 1] = wrong
                assert np.isnan(linalg.eigvalsh(paddle.to_tensor(scaled), uplo).numpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_least_squares_by_a_factor_and_by_singular_values_agree(dtype):
    """The default driver takes a factor where the rank is clearly full, at every size of numbers."""
    rng = np.random.default_rng(9)
    epsilon = np.finfo(dtype).eps
    for m, n in ((1, 1), (4, 3), (33, 32), (90, 70), (3, 4), (32, 33), (70, 90), (130, 130)):
        k = min(m, n)
        u, v = np.linalg.qr(rng.standard_normal((m, k)))[0], np.linalg.qr(rng.standard_normal((n, k)))[0].T
        b = paddle.to_tensor(rng.standard_normal((m, 2)).astype(dtype))
        for digits in (0, 1, 2.5, 3.5, 5, 8, 11, 14, 17, np.inf):
            s = 10.0 ** (-digits * np.linspace(0, 1, k)) if np.isfinite(digits) else np.arange(k, 0, -1) - 1.0
            for exponent in (0, *_SCALES[dtype]):
                x = paddle.to_tensor(_scaled(((u * s) @ v).astype(dtype), exponent))
                found, _, rank, _ = linalg.lstsq(x, b)
                wanted, _, wanted_rank, _ = linalg.lstsq(x, b, driver="gelsd")
                assert rank.tolist() == wanted_rank.tolist(), (m, n, digits, exponent)
                kept = s[s > max(m, n) * epsilon * s[0]] if s[0] else s[:0]
                limit = 200 * max(m, n) * epsilon * (kept[0] / kept[-1] if kept.size else 1)
                size = max(np.abs(wanted.numpy()).max(), np.finfo(dtype).tiny)
                if limit < 0.1:
                    np.testing.assert_allclose(
                        found.numpy(), wanted.numpy(), atol=limit * size, rtol=0, err_msg=f"{m} {n} {digits} {exponent}"
                    )
    x[0, 0] = np.nan
    assert np.isnan(linalg.lstsq(x, b)[0].numpy()).all()
