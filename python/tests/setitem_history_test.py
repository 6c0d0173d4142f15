"""`x[key] = f(x[key])`: slices that backward needs keep what they were, as where slices are copies."""

import numpy as np
import pytest

import proa

_FUNCTIONS = {
    "square": lambda t: t * t,
    "quotient": lambda t: t / (t * t + 3),
    "exp": lambda t: t.exp(),
    "sigmoid": proa.nn.functional.sigmoid,
    "softmax": lambda t: proa.nn.functional.softmax(t, axis=-1),
    "norm": lambda t: t / proa.sqrt((t * t).sum() + 1),
    "matmul": lambda t: proa.matmul(t.reshape([-1, 1]), t.reshape([1, -1])).sum(axis=1).reshape(t.shape),
    "transposed": lambda t: (t.transpose(list(range(t.ndim))[::-1]) ** 2).transpose(list(range(t.ndim))[::-1]),
}
_KEYS = {
    "column": np.s_[:, 0:1],
    "dropped": np.s_[:, 1],
    "row": np.s_[2],
    "block": np.s_[1:3, 1:],
    "steps": np.s_[::2],
    "backwards": np.s_[::-1, 0],
    "last": np.s_[..., -1],
    "all": np.s_[:],
    "array": np.s_[[0, 2]],
    "array and slice": np.s_[[0, 2], 1:],
}


def _check(loss):
    """The gradient of loss(x) for x of [4, 3] float64, against central differences."""
    at = np.random.default_rng(3).uniform(-1.5, 1.5, (4, 3))
    x = proa.to_tensor(at, stop_gradient=False)
    loss(x).backward()
    want = np.zeros_like(at)
    eps = 1e-6
    for i in np.ndindex(at.shape):
        values = []
        for sign in (1, -1):
            moved = at.copy()
            moved[i] += sign * eps
            with proa.no_grad():
                values.append(float(loss(proa.to_tensor(moved))))
        want[i] = (values[0] - values[1]) / (2 * eps)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6, atol=1e-8)


_W = np.random.default_rng(5).standard_normal((4, 3))


@pytest.mark.parametrize("f", _FUNCTIONS)
@pytest.mark.parametrize("key", _KEYS)
def test_part_of_itself(key, f):
    f, key = _FUNCTIONS[f], _KEYS[key]

    def loss(x):
        y = x * 1.0
        y[key] = f(y[key])
        return (y * y * proa.to_tensor(_W)).sum()

    _check(loss)


def test_one_part_after_the_other():
    def loss(x):
        y = x * 1.0
        for i in range(6):
            y[:, i % 3] = y[:, i % 3] * y[:, (i + 1) % 3]
        return (y * proa.to_tensor(_W)).sum()

    _check(loss)


def test_part_through_a_view():
    def loss(x):
        y = x * 1.0
        v = y[1:]
        z = (v[:, 0] * v[:, 1]).sum()
        v[:, 0] = y[1:, 2] * v[:, 1]
        y[0] = 2.0
        return (y * proa.to_tensor(_W)).sum() + z * z

    _check(loss)


def test_change_without_gradients():
    """What was computed before stays as it was; the numbers are new."""
    x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    y = x * 1.0
    z = (y[:, 0] * y[:, 0]).sum()
    with proa.no_grad():
        y[:, 0] = 100.0
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[2.0, 0.0], [6.0, 0.0]])
    np.testing.assert_array_equal(y.numpy(), [[100.0, 2.0], [100.0, 4.0]])


def test_second_order():
    x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", stop_gradient=False)
    y = x * 1.0
    y[0] = y[0] * y[0] * y[0]
    (g,) = proa.grad([y.sum()], [x], create_graph=True)
    (gg,) = proa.grad([g.sum()], [x])
    np.testing.assert_array_equal(gg.numpy(), [[6.0, 12.0], [0.0, 0.0]])


def test_views_still_see_the_change():
    x = proa.ones([3, 3])
    x.stop_gradient = False
    y = x * 2
    row = y[1]
    z = (row * row).sum()
    y[1] = 5.0
    np.testing.assert_array_equal(row.numpy(), [5.0, 5.0, 5.0])
    (z + row.sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0, 0, 0], [8, 8, 8], [0, 0, 0]])


def test_what_is_refused_still():
    """A tensor as a whole that backward needs, and methods that change in place: as in the reference."""
    x = proa.ones([3, 3])
    x.stop_gradient = False
    y = x * 2
    z = y * y
    y[0] = 1.0
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()
    y = x * 2
    z = y[0] * y[0]
    y[0].add_(proa.ones([3]))
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()


def test_memory_goes_with_the_graph():
    """The list of kept views is empty when the graphs are gone: nothing is copied then."""
    x = proa.ones([512, 512])
    x.stop_gradient = False
    y = x * 1.0
    (y[0:256] * y[0:256]).sum().backward()
    proa.device.reset_max_memory_allocated("cpu")
    before = proa.device.memory_allocated("cpu")
    y[0:256] = 0.0
    assert proa.device.max_memory_allocated("cpu") - before < 256 * 512 * 4
