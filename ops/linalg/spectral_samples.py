"""References of singular values, eigenvalues and pseudoinverses.

Vectors are compared after the largest number of each was made real and positive, as the ops say.
"""

import numpy as np

from ops.conformance.samples import Sample

_LOOSE = {"float32": (5e-4, 5e-4), "complex64": (5e-4, 5e-4), "float64": (1e-8, 1e-8), "complex128": (1e-8, 1e-8)}
TOLERANCE = {
    f"{op}{grad}": _LOOSE
    for op in ("svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv")
    for grad in ("", "_grad")
}
# Operands of mixed types: a decomposition of single precision is one, whatever stands beside it.
_MIXED = _LOOSE | {"float64": (1e-6, 1e-6), "complex128": (1e-6, 1e-6)}
TOLERANCE |= {f"{op}_grad": _MIXED for op in ("svdvals", "eigh", "eigvalsh")}


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _phases(v):
    """What to multiply each column with."""
    if v.size == 0:
        return np.ones((*v.shape[:-2], 1, v.shape[-1]))
    largest = np.take_along_axis(v, np.abs(v).argmax(-2, keepdims=True), -2)
    return np.conj(largest) / np.abs(largest)


def reference_svd(x, full_matrices=False):
    m, n = x.shape[-2:]
    k = min(m, n)
    if x.size == 0:
        u = np.zeros((*x.shape[:-2], m, m if full_matrices else k), x.dtype)
        vh = np.zeros((*x.shape[:-2], n if full_matrices else k, n), x.dtype)
        return u + np.eye(*u.shape[-2:]), np.zeros((*x.shape[:-2], k)), vh + np.eye(*vh.shape[-2:])
    u, s, vh = np.linalg.svd(x, full_matrices)
    phases = _phases(u)
    v = _adjoint(vh)
    v = np.concatenate([v[..., :k] * phases[..., :k], v[..., k:]], -1)
    return u * phases, s, _adjoint(v)


def samples_svd():
    """With one more column than rows or the other way round the last vector is unique, but for a factor that it fixes itself."""
    rng = np.random.default_rng(4)
    yield Sample((rng.standard_normal((4, 3)).astype("float32"),), {"full_matrices": True}, "full 4 x 3")
    yield Sample((rng.standard_normal((2, 3, 2)).astype("complex64"),), {"full_matrices": True}, "full 2, 3 x 2")


def reference_svdvals(x):
    return np.zeros((*x.shape[:-2], 0)) if x.size == 0 and 0 in x.shape[-2:] else np.linalg.svd(x, compute_uv=False)


def _lower(x, uplo):
    """The Hermitian matrix of which only a triangle is in x."""
    x = x if uplo == "L" else _adjoint(x)
    below = np.tril(x, -1)
    return below + _adjoint(below) + np.real(x * np.eye(x.shape[-1]))


def reference_eigh(x, UPLO="L"):
    w, v = np.linalg.eigh(_lower(x, UPLO))
    return w, v * _phases(v)


def reference_eigvalsh(x, UPLO="L"):
    return np.linalg.eigvalsh(_lower(x, UPLO))


def reference_eig(x):
    # Of real matrices as such: conjugates then have the same real part, to the bit.
    w, v = (part.astype(complex) for part in np.linalg.eig(x))
    order = np.argsort(w, axis=-1)
    w = np.take_along_axis(w, order, -1)
    v = np.take_along_axis(v, order[..., None, :], -1)
    return w, v * _phases(v) / np.linalg.norm(v, axis=-2, keepdims=True)


def reference_eigvals(x):
    return reference_eig(x)[0]


def reference_pinv(x, rcond, hermitian=False):
    if x.size == 0:
        return np.swapaxes(x, -1, -2)
    return np.linalg.pinv(x, rcond)


# Gradients: formulas written out for one matrix, in loops.


def reference_svd_grad(grad_u, grad_s, grad_vh, u, s, vh):
    v, g_v, k = _adjoint(vh), _adjoint(grad_vh), len(s)
    uu, vv = _adjoint(u) @ grad_u, _adjoint(v) @ g_v
    inner = np.diag(grad_s.astype(u.dtype))
    if u.dtype.kind == "c":
        turning = (np.conj(grad_u) * u).sum(0).imag + (np.conj(g_v) * v).sum(0).imag
        at = np.where(u.imag == 0, u.real, 0).argmax(0)
        grad_u = grad_u.copy()
        grad_u[at, np.arange(k)] += 1j * turning / u[at, np.arange(k)].real
        uu = _adjoint(u) @ grad_u
        inner = inner + np.diag(1j * np.diagonal(uu).imag / s)
    for i in range(k):
        for j in range(k):
            if i != j:
                apart = s[j] ** 2 - s[i] ** 2
                inner[i, j] += ((uu - _adjoint(uu))[i, j] * s[j] + s[i] * (vv - _adjoint(vv))[i, j]) / apart
    return u @ inner @ _adjoint(v)


def reference_svdvals_grad(grad_out, x):
    x = x.astype(np.result_type(grad_out, x))
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * grad_out[..., None, :]) @ vh


def reference_eigh_grad(grad_values, grad_vectors, values, vectors):
    values = values.astype("float64")
    if vectors.dtype.kind == "c":
        turning = (np.conj(grad_vectors) * vectors).sum(0).imag
        at, all_ = np.where(vectors.imag == 0, vectors.real, 0).argmax(0), np.arange(len(values))
        grad_vectors = grad_vectors.copy()
        grad_vectors[at, all_] += 1j * turning / vectors[at, all_].real
    apart = values[None, :] - values[:, None] + np.eye(len(values))
    inner = (_adjoint(vectors) @ grad_vectors) / apart * (1 - np.eye(len(values))) + np.diag(grad_values)
    full = vectors @ inner @ _adjoint(vectors)
    return (full + _adjoint(full)) / 2


def reference_eigvalsh_grad(grad_out, x, UPLO="L"):
    _, v = np.linalg.eigh(_lower(x.astype(np.result_type(grad_out, x)), UPLO))
    return (v * grad_out[..., None, :]) @ _adjoint(v)


def reference_eig_grad(grad_values, grad_vectors, x, values, vectors):
    turning = (np.conj(grad_vectors) * vectors).sum(0).imag
    at, all_ = np.where(vectors.imag == 0, vectors.real, 0).argmax(0), np.arange(len(values))
    g = grad_vectors.copy()
    pivots = vectors[at, all_].real
    g[at, all_] += 1j * np.divide(turning, pivots)
    m = _adjoint(vectors) @ g
    inner = m - (_adjoint(vectors) @ vectors) * np.diagonal(m).real
    apart = np.conj(values[None, :] - values[:, None]) + np.eye(len(values))
    inner = inner / apart * (1 - np.eye(len(values))) + np.diag(grad_values)
    full = _adjoint(np.linalg.inv(vectors)) @ inner @ _adjoint(vectors)
    return full if x.dtype.kind == "c" else full.real


def reference_eigvals_grad(grad_out, x):
    _, v = reference_eig(x)
    full = _adjoint(np.linalg.inv(v)) @ (grad_out[..., :, None] * _adjoint(v))
    return full if x.dtype.kind == "c" else full.real


def reference_pinv_grad(grad_out, x, out):
    p, g = _adjoint(out), _adjoint(grad_out)
    rows, columns = np.eye(x.shape[-2]), np.eye(x.shape[-1])
    return -p @ grad_out @ p + (rows - x @ out) @ g @ out @ p + p @ out @ g @ (columns - out @ x)
