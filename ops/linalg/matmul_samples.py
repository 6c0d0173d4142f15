"""References of the matrix product."""

import numpy as np


def _swap(a, flag):
    return np.swapaxes(a, -1, -2) if flag and a.ndim > 1 else a


def reference_matmul(x, y, transpose_x=False, transpose_y=False):
    return np.matmul(_swap(x, transpose_x), _swap(y, transpose_y))


def reference_matmul_float32(x, y, transpose_x=False, transpose_y=False):
    return reference_matmul(x, y, transpose_x, transpose_y)


def _sum_to(a, shape):
    while a.ndim > len(shape):
        a = a.sum(axis=0)
    for d, n in enumerate(shape):
        if n == 1 and a.shape[d] != 1:
            a = a.sum(axis=d, keepdims=True)
    return a


def reference_matmul_grad_x(grad_out, y, x_shape, transpose_x=False, transpose_y=False, dtype=None):
    y = np.conj(y)
    if len(x_shape) == 1 and y.ndim == 1:
        return grad_out * y
    g = grad_out[..., None] if y.ndim == 1 else grad_out
    y = y[:, None] if y.ndim == 1 else _swap(y, transpose_y)
    if len(x_shape) == 1:
        return _sum_to((g[..., None, :] @ np.swapaxes(y, -1, -2))[..., 0, :], x_shape)
    return _sum_to(_swap(g @ np.swapaxes(y, -1, -2), transpose_x), x_shape)


def reference_matmul_grad_y(grad_out, x, y_shape, transpose_x=False, transpose_y=False, dtype=None):
    x = np.conj(x)
    if len(y_shape) == 1 and x.ndim == 1:
        return grad_out * x
    g = grad_out[..., None, :] if x.ndim == 1 else grad_out
    x = x[None, :] if x.ndim == 1 else _swap(x, transpose_x)
    if len(y_shape) == 1:
        return _sum_to((np.swapaxes(x, -1, -2) @ g[..., None])[..., 0], y_shape)
    return _sum_to(_swap(np.swapaxes(x, -1, -2) @ g, transpose_y), y_shape)


def reference_linear(x, weight, bias=None):
    out = x @ weight
    return out if bias is None else (out + bias).astype(out.dtype)


def reference_linear_grad_x(grad_out, weight, dtype=None):
    return grad_out @ np.conj(weight).T


def reference_linear_grad_weight(grad_out, x, dtype=None):
    return np.conj(x).reshape(-1, x.shape[-1]).T @ grad_out.reshape(-1, grad_out.shape[-1])


def reference_linear_grad_bias(grad_out, dtype=None):
    return grad_out.reshape(-1, grad_out.shape[-1]).sum(axis=0)


# Half precision sums of up to 50 products, each rounded once at the end.
TOLERANCE = {
    "matmul": {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)},
    "linear": {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)},
}
