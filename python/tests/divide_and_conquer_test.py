"""Eigenvalues and singular values that divide and conquer finds: matrices on which halves agree, and on which they do not."""

import numpy as np
import pytest

import proa as paddle
from proa import linalg

_SIZES = [17, 26, 51, 64, 131]
_DTYPES = ["float32", "float64", "complex64", "complex128"]


def _orthogonal(rng, n, dtype):
    x = rng.standard_normal((n, n))
    return np.linalg.qr(x + 1j * rng.standard_normal((n, n)) if dtype.startswith("complex") else x)[0]


def _spectra(rng, n):
    """Values of all kinds, by name: what is deflated, and what is not."""
    return {
        "random": rng.standard_normal(n),
        "equal": np.ones(n),
        "of two values": np.where(np.arange(n) % 3 == 0, 1.0, -2.0),
        "close": 1 + 1e-6 * rng.standard_normal(n),
        "graded": 2.0 ** -np.arange(n),
        "mostly zeros": np.where(np.arange(n) < 5, rng.standard_normal(n), 0.0),
        "zeros": np.zeros(n),
        "pairs": np.repeat(rng.standard_normal((n + 1) // 2), 2)[:n] + 1e-5 * np.arange(n),
    }


def _limit(dtype, n, size):
    return 8 * n**0.5 * np.finfo(dtype).eps * max(1.0, size) + 30 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_eigenvectors(n, dtype):
    rng = np.random.default_rng(n)
    for name, values in _spectra(rng, n).items():
        q = _orthogonal(rng, n, dtype)
        x = ((q * values) @ q.conj().T).astype(dtype)
        x = (x + x.conj().T) / 2
        for uplo in "LU":
            w, v = (t.numpy() for t in linalg.eigh(paddle.to_tensor(x), uplo))
            limit = _limit(dtype, n, np.abs(values).max())
            np.testing.assert_allclose(w, np.linalg.eigvalsh(x.astype("complex128")), rtol=0, atol=limit, err_msg=name)
            np.testing.assert_allclose(v.conj().T @ v, np.eye(n), rtol=0, atol=_limit(dtype, n, 1), err_msg=name)
            np.testing.assert_allclose((v * w) @ v.conj().T, x, rtol=0, atol=limit, err_msg=name)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_eigenvectors_of_tridiagonal_matrices(n, dtype):
    for beside in (1.0, 1e-3, 1e-12):
        x = np.diag(np.full(n, 2.0)) - beside * (np.eye(n, k=1) + np.eye(n, k=-1))
        w, v = (t.numpy() for t in linalg.eigh(paddle.to_tensor(x.astype(dtype))))
        exact = 2 - 2 * beside * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
        np.testing.assert_allclose(w, exact, rtol=0, atol=_limit(dtype, n, 4))
        np.testing.assert_allclose(v.conj().T @ v, np.eye(n), rtol=0, atol=_limit(dtype, n, 1))
        np.testing.assert_allclose((v * w) @ v.conj().T, x, rtol=0, atol=_limit(dtype, n, 4))


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", _SIZES)
def test_singular_vectors(n, dtype):
    rng = np.random.default_rng(n)
    for name, values in _spectra(rng, n).items():
        for rows, columns in ((n, n), (n + 1, n), (n, n + 1), (2 * n, n), (n, 2 * n)):
            left, right = (_orthogonal(rng, size, dtype)[:, :n] for size in (rows, columns))
            x = ((left * values) @ right.conj().T).astype(dtype)
            limit = _limit(dtype, n, np.abs(values).max())
            exact = np.linalg.svd(x.astype("complex128"), compute_uv=False)
            for full in (False, True):
                u, s, vh = (t.numpy() for t in linalg.svd(paddle.to_tensor(x), full))
                what = f"{name} {rows} {columns} {full}"
                np.testing.assert_allclose(s, exact, rtol=0, atol=limit, err_msg=what)
                for vectors in (u, vh.conj().T):
                    square = vectors.conj().T @ vectors
                    np.testing.assert_allclose(
                        square, np.eye(len(square)), rtol=0, atol=_limit(dtype, len(square), 1), err_msg=what
                    )
                np.testing.assert_allclose((u[:, :n] * s) @ vh[:n], x, rtol=0, atol=limit, err_msg=what)
