"""References of determinants and inverses."""

import numpy as np

from ops.conformance.samples import Sample


def reference_det(x):
    return np.linalg.det(x)


def reference_inverse(x):
    return np.linalg.inv(x)


def reference_cofactor(x):
    n = x.shape[-1]
    out = np.empty_like(x)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(x, i, -2), j, -1)
            out[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


def reference_cofactor_grad(grad_out, x):
    """From minors of two rows and columns less: cofactors of the minors that make the cofactors."""
    n = x.shape[-1]
    out = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            rows, columns = [r for r in range(n) if r != i], [c for c in range(n) if c != j]
            minor = x[..., rows, :][..., columns]
            weights = (-1) ** (i + j) * grad_out[..., i, j, None, None] * np.conj(reference_cofactor(minor))
            for a, r in enumerate(rows):
                out[..., r, columns] += weights[..., a, :]
    return out


def reference_sign_logdet(x):
    return np.linalg.slogdet(x)


def reference_sign_logdet_grad(grad_sign, grad_logabsdet, x, sign):
    z = grad_logabsdet + (1j * (grad_sign * np.conj(sign)).imag if x.dtype.kind == "c" else 0)
    return z[..., None, None] * np.conj(np.swapaxes(np.linalg.inv(x), -1, -2))


def reference_slogdet(x):
    sign, logabsdet = np.linalg.slogdet(x)
    return np.stack([sign, logabsdet.astype(x.dtype)])


def _singular(n, rank, *batch):
    """Matrices of small integers of a rank. float32, so that they have no second gradients by differences."""
    rng = np.random.default_rng(n + rank)
    x = rng.integers(-2, 3, (*batch, n, rank)) @ rng.integers(-2, 3, (*batch, rank, n))
    return x.astype("float32")


def samples_det():
    yield Sample((_singular(3, 2),), text="rank 2")
    yield Sample((np.zeros((2, 3, 3), "float32"),), text="zeros")
    yield Sample((np.array([[0.0, 2.0], [3.0, 0.0]], "float32"),), text="needs pivots")


def samples_cofactor():
    yield Sample((_singular(3, 2),), text="3 x 3 of rank 2")
    yield Sample((_singular(5, 4, 3),), text="5 x 5 of rank 4")
    yield Sample((_singular(4, 2),), text="4 x 4 of rank 2")
    yield Sample((np.zeros((2, 2), "float32"),), text="2 x 2 zeros")
    yield Sample((np.zeros((1, 1), "float32"),), text="1 x 1 zero")


# Determinants of many numbers cancel, inverses multiply errors by the condition.
_LOOSE = {"float32": (2e-4, 2e-4), "complex64": (2e-4, 2e-4), "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9)}
TOLERANCE = {op: _LOOSE for op in ("det", "cofactor", "cofactor_grad", "inverse", "sign_logdet", "slogdet")}
