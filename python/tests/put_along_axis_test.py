"""put_along_axis beside loops: every reduction, with and without what is there, broadcast and not; its gradients."""

import itertools

import numpy as np
import pytest

import proa as paddle

_FUNCTIONS = {
    "add": np.sum,
    "mul": np.prod,
    "multiply": np.prod,
    "mean": np.mean,
    "amin": np.min,
    "amax": np.max,
    "assign": lambda values: values[-1],
}
_DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8"]


def _reduced(x, at, values, axis, reduce, include_self):
    """In float64, or Python's integers."""
    out = x.astype(object if x.dtype.kind in "iu" else "float64")
    lists = {}
    for place in np.ndindex(*at.shape):
        to = tuple(at[place] if d == axis else n for d, n in enumerate(place))
        lists.setdefault(to, [out[to]] if include_self else []).append(values[place])
    for to, those in lists.items():
        numbers = np.array(those, dtype="float64")
        found = _FUNCTIONS[reduce](numbers)
        out[to] = int(np.floor(found)) if out.dtype == object else found
    return out


def _case(dtype, shape, count, axis, seed=0):
    rng = np.random.default_rng(seed)
    at = list(shape)
    at[axis] = count
    draw = (lambda s: rng.integers(0, 9, s)) if np.dtype(dtype).kind in "iu" else rng.standard_normal
    return draw(shape).astype(dtype), rng.integers(0, shape[axis], at), draw(at).astype(dtype)


@pytest.mark.parametrize("reduce", _FUNCTIONS)
@pytest.mark.parametrize("dtype", _DTYPES)
def test_reductions(dtype, reduce):
    if reduce in ("mul", "multiply") and dtype == "uint8":
        pytest.skip("products of many numbers wrap")
    for (shape, axis), include_self in itertools.product(
        (((3, 4), 1), ((3, 4), 0), ((2, 5, 3), 1), ((6,), 0)), (True, False)
    ):
        x, at, values = _case(dtype, shape, 5, axis)
        expected = _reduced(x, at, values, axis, reduce, include_self)
        got = paddle.put_along_axis(
            *map(paddle.to_tensor, (x, at, values)), axis - len(shape), reduce, include_self=include_self
        )
        assert got.dtype == paddle.to_tensor(x).dtype
        np.testing.assert_allclose(
            got.numpy().astype("float64"),
            expected.astype("float64"),
            rtol=1e-2 if dtype == "float16" else 1e-5,
            atol=1e-6,
        )


@pytest.mark.parametrize("reduce", _FUNCTIONS)
def test_indices_and_numbers_are_broadcast(reduce):
    x, at, _ = _case("float64", (3, 4), 6, 1)
    at = at[:1]
    for include_self in (True, False):
        got = paddle.put_along_axis(paddle.to_tensor(x), paddle.to_tensor(at), 2.5, 1, reduce, include_self)
        whole = np.broadcast_to(at, (3, 6))
        expected = _reduced(x, whole, np.full(whole.shape, 2.5), 1, reduce, include_self)
        np.testing.assert_allclose(got.numpy(), expected)


@pytest.mark.parametrize("reduce", _FUNCTIONS)
def test_the_first_rows_alone(reduce):
    x, at, values = _case("float64", (4, 5, 3), 6, 1)
    at, values = at[:2, :, :1], values[:2, :, :1]
    for include_self in (True, False):
        x_t = paddle.to_tensor(x, stop_gradient=False)
        got = paddle.put_along_axis(x_t, paddle.to_tensor(at), paddle.to_tensor(values), 1, reduce, include_self, False)
        np.testing.assert_allclose(got.numpy(), _reduced(x, at, values, 1, reduce, include_self).astype("float64"))
        np.testing.assert_array_equal(x_t.numpy(), x)
        got.sum().backward()
        touched = _reduced(np.zeros_like(x), at, np.ones_like(values), 1, "assign", False).astype(bool)
        np.testing.assert_array_equal(x_t.grad.numpy()[~touched], 1)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["add", "mul", "mean", "amin", "amax", "assign"])
def test_gradients_are_those_of_differences(reduce, include_self):
    x, at, values = _case("float64", (3, 4), 7, 1, seed=3)
    weights = np.random.default_rng(5).standard_normal(x.shape)
    tensors = [paddle.to_tensor(t, stop_gradient=False) for t in (x, values)]
    out = paddle.put_along_axis(tensors[0], paddle.to_tensor(at), tensors[1], 1, reduce, include_self)
    (out * paddle.to_tensor(weights)).sum().backward()

    def loss(x, values):
        return float((_reduced(x, at, values, 1, reduce, include_self) * weights).sum())

    for which, tensor in enumerate(tensors):
        found = tensor.grad.numpy()
        for place in np.ndindex(*found.shape):
            moved = [[x.copy(), values.copy()] for _ in range(2)]
            moved[0][which][place] += 1e-6
            moved[1][which][place] -= 1e-6
            slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-6
            assert abs(found[place] - slope) <= 1e-5 * max(1, abs(slope)), (which, place)


@pytest.mark.parametrize("reduce", ["amin", "amax", "mean", "add"])
def test_nan_stays(reduce):
    x, values = np.array([[1.0, 2.0]]), np.array([[np.nan, 3.0, 4.0]])
    for include_self in (True, False):
        got = paddle.put_along_axis(
            paddle.to_tensor(x), paddle.to_tensor([[0, 0, 1]]), paddle.to_tensor(values), 1, reduce, include_self
        )
        assert np.isnan(got.numpy()[0, 0]) and not np.isnan(got.numpy()[0, 1])


def test_in_place_and_empty():
    x = paddle.to_tensor([[9.0, 2.0]])
    assert paddle.put_along_axis_(x, paddle.to_tensor([[0, 0]]), paddle.to_tensor([[3.0, 6.0]]), 1, "mean") is x
    assert x.tolist() == [[6.0, 2.0]]
    for reduce in _FUNCTIONS:
        nothing = paddle.put_along_axis(x, paddle.zeros([1, 0], "int64"), paddle.zeros([1, 0]), 1, reduce, False)
        assert nothing.tolist() == [[6.0, 2.0]]
        empty = paddle.put_along_axis(
            paddle.zeros([0, 3]), paddle.zeros([0, 2], "int64"), paddle.zeros([0, 2]), 1, reduce, False
        )
        assert empty.shape == [0, 3]


def test_what_is_wrong_is_said():
    x, at, values = paddle.zeros([3, 4]), paddle.zeros([3, 2], "int64"), paddle.zeros([3, 2])
    with pytest.raises(
        ValueError, match="reduce must be one of assign, add, mul, multiply, mean, amin, amax, not 'max'"
    ):
        paddle.put_along_axis(x, at, values, 1, "max")
    for reduce in _FUNCTIONS:
        with pytest.raises(IndexError, match="index 4 at .* is out of range"):
            paddle.put_along_axis(x, at + 4, values, 1, reduce)
        with pytest.raises(IndexError, match="out of range"):
            paddle.put_along_axis(x, at, values, 2, reduce)
    with pytest.raises(ValueError, match="indices must fit into arr"):
        paddle.put_along_axis(x, paddle.zeros([4, 2], "int64"), 1.0, 1, broadcast=False)
    with pytest.raises(ValueError, match="amin and amax need a row of arr"):
        paddle.put_along_axis(x[:1], at, values, 1, "amin")


def test_in_programs():
    x, at, values = _case("float32", (3, 4), 6, 1)
    for reduce, include_self in itertools.product(_FUNCTIONS, (True, False)):
        f = paddle.jit.to_static(lambda *t: paddle.put_along_axis(*t, 1, reduce, include_self))
        got = f(*map(paddle.to_tensor, (x, at, values))).numpy()
        np.testing.assert_allclose(got, _reduced(x, at, values, 1, reduce, include_self), rtol=1e-5)
