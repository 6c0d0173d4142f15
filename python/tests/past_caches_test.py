"""Calls whose results are stored past the caches (FLAGS_stream_bytes) give what others give.

The flag makes small calls take the ways of large ones, so that every layout can be looked at; one call is large.
"""

import itertools

import numpy as np
import pytest

import proa as paddle

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def past_the_caches():
    paddle.set_flags({"FLAGS_stream_bytes": 1})
    yield
    paddle.set_flags({"FLAGS_stream_bytes": 0})


def array(*shape, dtype="float32"):
    """Multiples of 1 / 64 below 16: float16 holds them, and their sums and products are exact in float32."""
    return (RNG.integers(-1000, 1000, shape) / 64).astype(dtype)


def exps(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True), dtype="float64")
    return e, e.sum(axis, keepdims=True)


# Of rows and columns of more than a tile (512, 128), of a strip (64), and of what is left of them.
SHAPES = [(70, 564), (564, 70), (130, 260), (1100, 30), (33, 1001), (2, 257, 129), (20, 40, 60)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
def test_operands_of_every_layout(shape, dtype):
    given = array(*shape, dtype="float32").astype(dtype)
    for order in itertools.permutations(range(len(shape))):
        x = given.transpose(order)
        turned = paddle.to_tensor(given).transpose(order)
        others = {
            "a tensor": array(*x.shape),
            "a row": array(x.shape[-1]),
            "a column": array(x.shape[-2], 1),
            "an element": array(*[1] * x.ndim),
        }
        for name, other in others.items():
            other = other.astype(dtype)
            y = paddle.to_tensor(other)
            where = f"{name}, order {order}"
            np.testing.assert_array_equal((turned + y).numpy(), x + other, where)
            np.testing.assert_array_equal((y - turned).numpy(), other - x, where)
            if dtype != "complex64":
                np.testing.assert_array_equal((turned > y).numpy(), x > other, where)
        np.testing.assert_array_equal((turned * turned).numpy(), x * x)
        np.testing.assert_array_equal((turned - 1).numpy(), x - np.asarray(1, dtype))
        np.testing.assert_array_equal((2 * turned).numpy(), np.asarray(2, dtype) * x)
        np.testing.assert_array_equal(turned.astype("complex128").numpy(), x.astype("complex128"))
        every_other = paddle.to_tensor(np.repeat(x, 2, -1))[..., ::2]
        np.testing.assert_array_equal((turned + every_other).numpy(), x + x)
        np.testing.assert_array_equal((turned + turned.flip(-1)).numpy(), x + x[..., ::-1])


@pytest.mark.parametrize("shape", SHAPES)
def test_functions_and_conversions(shape):
    given = array(*shape)
    for order in itertools.permutations(range(len(shape))):
        turned = paddle.to_tensor(given).transpose(order)
        paddle.set_flags({"FLAGS_stream_bytes": 0})
        wanted = paddle.exp(paddle.to_tensor(given)).numpy().transpose(order)
        paddle.set_flags({"FLAGS_stream_bytes": 1})
        np.testing.assert_array_equal(paddle.exp(turned).numpy(), wanted)
        for dtype in ("float64", "float16", "bool", "int64"):
            wanted = given.transpose(order).astype(dtype)
            np.testing.assert_array_equal(turned.astype(dtype).numpy(), wanted)
            chosen = paddle.where(turned > 0, turned, paddle.to_tensor(0.5)).numpy()
            np.testing.assert_array_equal(chosen, np.where(given > 0, given, np.float32(0.5)).transpose(order))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(210, 420), (203, 401), (5, 3000)])
def test_softmax(shape, axis):
    x = RNG.standard_normal(shape, dtype="float32")
    leaf = paddle.to_tensor(x, stop_gradient=False)
    out = paddle.nn.functional.softmax(leaf, axis)
    e, s = exps(x, axis)
    np.testing.assert_allclose(out.numpy(), e / s, rtol=1e-6)
    g = RNG.standard_normal(shape, dtype="float32")
    out.backward(paddle.to_tensor(g))
    y = (e / s).astype("float32")
    wanted = y * (g - (y * g).sum(axis, keepdims=True, dtype="float64"))
    np.testing.assert_allclose(leaf.grad.numpy(), wanted, rtol=1e-3, atol=1e-7)
    logs = paddle.nn.functional.log_softmax(paddle.to_tensor(x), axis).numpy()
    np.testing.assert_allclose(logs, x - x.max(axis, keepdims=True) - np.log(s), rtol=1e-5, atol=1e-6)
    paddle.set_flags({"FLAGS_stream_bytes": 0})
    np.testing.assert_array_equal(paddle.nn.functional.softmax(paddle.to_tensor(x), axis).numpy(), out.numpy())
    np.testing.assert_array_equal(paddle.nn.functional.log_softmax(paddle.to_tensor(x), axis).numpy(), logs)


def test_softmax_in_place_and_of_infinities():
    x = RNG.standard_normal((300, 700), dtype="float32")
    x[0] = -np.inf
    x[1, 5] = np.inf
    x[2, 7] = np.nan
    x[3, 1:] = -np.inf
    out = paddle.nn.functional.softmax(paddle.to_tensor(x))
    found = out.numpy()
    assert np.isnan(found[:3]).all() and found[3, 0] == 1 and (found[3, 1:] == 0).all()
    again = paddle.to_tensor(x)
    paddle.nn.functional.softmax_(again)
    np.testing.assert_array_equal(again.numpy(), found)
    sums = paddle.logsumexp(paddle.to_tensor(x), 1).numpy()
    assert sums[0] == -np.inf and sums[1] == np.inf and np.isnan(sums[2]) and sums[3] == x[3, 0]
    across = paddle.logsumexp(paddle.to_tensor(x.T.copy()), 0).numpy()
    np.testing.assert_allclose(across, sums, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dropout_decides_by_places(dtype):
    n = (1 << 18) + 77
    x = paddle.ones([n], dtype)
    paddle.seed(7)
    out = paddle.nn.functional.dropout(x, 0.25).numpy()
    np.testing.assert_array_equal(np.unique(out), np.array([0, 4 / 3], dtype))
    assert abs((out == 0).mean() - 0.25) < 5e-3
    for m, least in itertools.product((1, 100, 5000, n), (0, 1)):
        paddle.set_flags({"FLAGS_stream_bytes": least})
        paddle.seed(7)
        few = paddle.nn.functional.dropout(paddle.ones([m], dtype), 0.25).numpy()
        np.testing.assert_array_equal(few, out[:m])
    assert not paddle.nn.functional.dropout(x, 1.0).numpy().any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("shape", [(210, 420), (7, 70, 91), (3, 1025), (70000,), (4096, 3)])
def test_running_sums_and_products(shape, dtype):
    x = (RNG.integers(0, 3, shape) / (1 if dtype == "int32" else 2)).astype(dtype)
    for axis in range(len(shape)):
        found = paddle.cumsum(paddle.to_tensor(x), axis)
        product = paddle.cumprod(paddle.to_tensor(x), axis)
        paddle.set_flags({"FLAGS_stream_bytes": 0})
        np.testing.assert_array_equal(found.numpy(), paddle.cumsum(paddle.to_tensor(x), axis).numpy())
        np.testing.assert_array_equal(product.numpy(), paddle.cumprod(paddle.to_tensor(x), axis).numpy())
        paddle.set_flags({"FLAGS_stream_bytes": 1})
        if dtype != "float16":
            np.testing.assert_array_equal(found.numpy(), np.cumsum(x, axis, dtype=found.numpy().dtype))


def test_a_large_call():
    paddle.set_flags({"FLAGS_stream_bytes": 0})
    x, y = array(2100, 2101), array(2101, 2100)
    turned = paddle.to_tensor(x).T
    np.testing.assert_array_equal((turned - 1.5).numpy(), x.T - np.float32(1.5))
    np.testing.assert_array_equal((turned + paddle.to_tensor(y)).numpy(), x.T + y)
    np.testing.assert_array_equal((turned * turned).numpy(), x.T * x.T)


def test_the_flag():
    with pytest.raises(ValueError, match="FLAGS_stream_bytes must be from 0"):
        paddle.set_flags({"FLAGS_stream_bytes": -1})
