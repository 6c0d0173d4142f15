"""References of linear systems and least squares."""

import numpy as np

_LOOSE = {"float32": (2e-4, 2e-4), "complex64": (2e-4, 2e-4), "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9)}
TOLERANCE = {
    op: _LOOSE
    for op in (
        "solve",
        "linear_solve",
        "triangular_solve",
        "cholesky_solve",
        "lstsq",
        "lstsq_grad_x",
        "lstsq_grad_y",
    )
}


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _solve(x, y):
    """Of matrices y, broadcast: NumPy 1 takes some of them for vectors."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return np.linalg.solve(np.broadcast_to(x, batch + x.shape[-2:]), np.broadcast_to(y, batch + y.shape[-2:]))


def reference_solve(x, y):
    if y.ndim == 1 or y.shape == x.shape[:-1]:
        return _solve(x, y[..., None])[..., 0]
    return _solve(x, y)


def reference_linear_solve(x, y, adjoint=False):
    return _solve(_adjoint(x) if adjoint else x, y)


def _triangle(x, upper, unitriangular):
    x = np.triu(x) if upper else np.tril(x)
    if unitriangular:
        eye = np.eye(x.shape[-1])
        x = x * (1 - eye) + eye
    return x


def reference_triangular_solve(x, y, upper=True, transpose=False, unitriangular=False):
    x = _triangle(x, upper, unitriangular)
    return _solve(np.swapaxes(x, -1, -2) if transpose else x, y)


def reference_triangular_solve_grad_x(grad_y, out, x_shape, upper=True, transpose=False, unitriangular=False):
    """By elements: -conj(out_j) grad_y_i, of those that are read."""
    full = np.einsum("...ik,...jk->...ij", grad_y, np.conj(out))
    if transpose:
        full = np.einsum("...ik,...jk->...ij", np.conj(out), grad_y)
    while full.ndim > len(x_shape):
        full = full.sum(0)
    return -(np.triu(full, int(unitriangular)) if upper else np.tril(full, -int(unitriangular)))


def reference_cholesky_solve(x, y, upper=False):
    y = _triangle(y, upper, False)
    return _solve(_adjoint(y) @ y if upper else y @ _adjoint(y), x)


def _pinv(x, rcond):
    if rcond < 0:
        rcond = np.finfo(np.float64).eps * max(x.shape[-2:], default=1)
    return np.linalg.pinv(x, rcond)


def reference_lstsq(x, y, rcond=-1.0, driver="gelsy"):
    m, n = x.shape[-2:]
    if 0 in (m, n):
        s = np.zeros((*x.shape[:-2], 0))
        solution = np.zeros((*x.shape[:-2], n, y.shape[-1]), np.result_type(x, y))
    else:
        s = np.linalg.svd(x, compute_uv=False)
        solution = _pinv(x, rcond) @ y
    limit = rcond if rcond >= 0 else np.finfo(np.float64).eps * max(m, n)
    rank = (s > limit * s.max(-1, keepdims=True, initial=0)).sum(-1)
    return solution, rank, s if driver in ("gelsd", "gelss") else np.zeros(0)


def _pinv_derivative(x, dx, rcond):
    step = 1e-6
    return (_pinv(x + step * dx, rcond) - _pinv(x - step * dx, rcond)) / (2 * step)


def reference_lstsq_grad_x(grad_solution, grad_values, x, y, rcond=-1.0, driver="gelsy"):
    """By differences of NumPy's pseudoinverse and singular values, element by element."""
    out = np.zeros(x.shape)
    step = 1e-6
    for place in np.ndindex(x.shape):
        dx = np.zeros(x.shape)
        dx[place] = 1
        out[place] = (grad_solution * (_pinv_derivative(x, dx, rcond) @ y)).sum()
        if driver in ("gelsd", "gelss"):
            s = [np.linalg.svd(x + sign * step * dx, compute_uv=False) for sign in (1, -1)]
            out[place] += (grad_values * (s[0] - s[1])).sum() / (2 * step)
    return out


def reference_lstsq_grad_y(grad_solution, x, rcond, y_shape):
    out = _adjoint(_pinv(x, rcond)) @ grad_solution
    while out.ndim > len(y_shape):
        out = out.sum(0)
    return out


TOLERANCE["lstsq_grad_x"] = {"float32": (5e-3, 5e-3), "float64": (1e-5, 1e-6)}
TOLERANCE["lstsq_grad_x"] |= {"complex64": (5e-3, 5e-3), "complex128": (1e-5, 1e-6)}
