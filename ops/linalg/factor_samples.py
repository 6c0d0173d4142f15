"""References of triangular and orthogonal factors."""

import numpy as np

from ops.conformance.samples import Sample

_LOOSE = {"float32": (2e-4, 2e-4), "complex64": (2e-4, 2e-4), "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9)}
TOLERANCE = {op: _LOOSE for op in ("cholesky", "cholesky_grad", "lu", "lu_grad", "qr", "qr_grad")}


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def reference_cholesky(x, upper=False):
    if x.size == 0:
        return x
    if upper:
        return _adjoint(np.linalg.cholesky(_adjoint(x)))
    return np.linalg.cholesky(x)


def reference_cholesky_grad(grad_out, out, upper=False):
    """L^-H F L^-1 for each matrix; the factor counts whole in L^H grad_out, and by its triangle in L^-1."""
    if upper:
        out, grad_out = _adjoint(out), _adjoint(grad_out)
    f = np.tril(_adjoint(out) @ grad_out)
    f = f - f * np.eye(out.shape[-1]) / 2
    inverse = np.linalg.inv(np.tril(out))
    s = _adjoint(inverse) @ f @ inverse
    return (s + _adjoint(s)) / 2


def _lu(a, pivot):
    a = a.copy()
    m, n = a.shape
    pivots, info = [], 0
    for k in range(min(m, n)):
        # Complex numbers are compared as LAPACK does.
        p = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag))) if pivot else k
        pivots.append(p + 1)
        a[[k, p]] = a[[p, k]]
        if a[k, k] == 0:
            info = info or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots, info


def reference_lu(x, pivot=True):
    out, k = np.zeros_like(x), min(x.shape[-2:])
    pivots, infos = np.zeros((*x.shape[:-2], k), np.int32), np.zeros(x.shape[:-2], np.int32)
    for batch in np.ndindex(x.shape[:-2]):
        out[batch], pivots[batch], infos[batch] = _lu(x[batch], pivot)
    return out, pivots, infos


def _permutation(pivots, rows):
    order = np.arange(rows)
    for k, p in enumerate(pivots):
        order[[k, p - 1]] = order[[p - 1, k]]
    out = np.zeros((rows, rows))
    out[order, np.arange(rows)] = 1
    return out


def reference_lu_permutation(pivots, rows, dtype="float32"):
    out = np.zeros((*pivots.shape[:-1], rows, rows))
    for batch in np.ndindex(pivots.shape[:-1]):
        out[batch] = _permutation(pivots[batch], rows)
    return out.astype(dtype)


def reference_lu_grad(grad_out, out, pivots):
    """By the product of the factors' derivatives: of P^T A = L U, dL U + L dU = P^T dA."""
    l, u = np.tril(out, -1) + np.eye(out.shape[-1]), np.triu(out)
    inner = np.tril(_adjoint(l) @ np.tril(grad_out, -1), -1) + np.triu(np.triu(grad_out) @ _adjoint(u))
    full = _adjoint(np.linalg.inv(l)) @ inner @ _adjoint(np.linalg.inv(u))
    return _permutation(pivots, out.shape[-1]) @ full


def reference_qr(x, mode="reduced"):
    m, n = x.shape[-2:]
    columns = m if mode == "complete" else min(m, n)
    if x.size == 0:
        q = np.zeros((*x.shape[:-2], m, columns), x.dtype) + np.eye(m, columns)
        r = np.zeros((*x.shape[:-2], columns, n), x.dtype)
    else:
        q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    return (np.zeros(0, x.dtype), r) if mode == "r" else (q, r)


def samples_qr():
    """float32 arrays have no gradients by differences: columns after the first are given up to a rotation."""
    rng = np.random.default_rng(3)
    yield Sample((rng.standard_normal((5, 3)).astype("float32"),), {"mode": "complete"}, "complete 5 x 3")
    yield Sample((rng.standard_normal((2, 4, 1)).astype("complex64"),), {"mode": "complete"}, "complete 2, 4 x 1")
    yield Sample((np.zeros((3, 0), "float32"),), {"mode": "complete"}, "complete 3 x 0")


def reference_qr_grad(grad_q, grad_r, x, q, r, mode="reduced"):
    m = grad_r @ _adjoint(r) - _adjoint(q) @ grad_q
    above = np.triu(m, 1)
    symmetric = above + _adjoint(above) + np.diag(np.diagonal(m).real)
    return (grad_q + q @ symmetric) @ _adjoint(np.linalg.inv(np.triu(r)))
