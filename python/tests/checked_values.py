"""Random arrays, tensors of them, and how results and gradients are compared with NumPy's."""

import numpy as np

import proa

random = np.random.default_rng(11)


def array(*shape):
    return random.normal(size=shape).astype("float32")


def tensor(value, grad=False):
    t = proa.to_tensor(value)
    t.stop_gradient = not grad
    return t


def close(actual, expected, tolerance=1e-5):
    actual = actual.numpy() if isinstance(actual, proa.Tensor) else actual
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def check_gradient(function, *values, step=1e-5, tolerance=1e-6):
    """Gradients against central differences, in float64."""
    values = [np.asarray(v, "float64") for v in values]
    weights = None

    def total(arrays):
        out = function(*[proa.to_tensor(a) for a in arrays])
        return float((out * weights).sum().item())

    tensors = [tensor(v, True) for v in values]
    out = function(*tensors)
    weights = proa.to_tensor(np.random.default_rng(5).normal(size=out.shape))
    (out * weights).sum().backward()
    for i, value in enumerate(values):
        numeric = np.zeros_like(value)
        for place in np.ndindex(*value.shape):
            moved = [v.copy() for v in values]
            moved[i][place] += step
            up = total(moved)
            moved[i][place] -= 2 * step
            numeric[place] = (up - total(moved)) / (2 * step)
        grad = tensors[i].grad
        close(np.zeros_like(value) if grad is None else grad, numeric, tolerance)
