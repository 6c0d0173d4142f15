"""Calls whose results are stored past the caches (ops/primitives/cpu/blocks.h) give what smaller calls give."""

import numpy as np
import pytest

import proa as paddle

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.standard_normal(shape, dtype="float32")


def exps(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True), dtype="float64")
    return e, e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(2100, 2100), (2099, 2101)])
def test_softmax(shape, axis):
    x = array(*shape)
    leaf = paddle.to_tensor(x, stop_gradient=False)
    out = paddle.nn.functional.softmax(leaf, axis)
    e, s = exps(x, axis)
    np.testing.assert_allclose(out.numpy(), e / s, rtol=1e-6)
    part = slice(0, 500), slice(None)
    if axis == 1:  # rows do not depend on the others
        few = paddle.nn.functional.softmax(paddle.to_tensor(x[part]), 1)
        np.testing.assert_array_equal(few.numpy(), out.numpy()[part])
    g = array(*shape)
    out.backward(paddle.to_tensor(g))
    y = (e / s).astype("float32")
    wanted = y * (g - (y * g).sum(axis, keepdims=True, dtype="float64"))
    np.testing.assert_allclose(leaf.grad.numpy(), wanted, rtol=1e-3, atol=1e-7)
    logs = paddle.nn.functional.log_softmax(paddle.to_tensor(x), axis).numpy()
    np.testing.assert_allclose(logs, x - x.max(axis, keepdims=True) - np.log(s), rtol=1e-5, atol=1e-6)
    sums = paddle.logsumexp(paddle.to_tensor(x), axis).numpy()
    np.testing.assert_allclose(sums, (np.log(s) + x.max(axis, keepdims=True)).squeeze(axis), rtol=1e-6)


def test_softmax_in_place_and_of_infinities():
    x = array(2100, 2100)
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
    np.testing.assert_array_equal(paddle.logsumexp(paddle.to_tensor(x[:8].copy()), 1).numpy(), sums[:8])
    across = paddle.logsumexp(paddle.to_tensor(x.T.copy()), 0).numpy()
    np.testing.assert_allclose(across, sums, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dropout_decides_by_places(dtype):
    n = (1 << 22) + 77
    x = paddle.ones([n], dtype)
    paddle.seed(7)
    out = paddle.nn.functional.dropout(x, 0.25).numpy()
    np.testing.assert_array_equal(np.unique(out), np.array([0, 4 / 3], dtype))
    assert abs((out == 0).mean() - 0.25) < 1e-3
    for m in (1, 100, 5000):
        paddle.seed(7)
        few = paddle.nn.functional.dropout(paddle.ones([m], dtype), 0.25).numpy()
        np.testing.assert_array_equal(few, out[:m])
    assert not paddle.nn.functional.dropout(x, 1.0).numpy().any()


@pytest.mark.parametrize("shape", [(2100, 2100), (7, 700, 901)])
def test_running_sums(shape):
    x = array(*shape)
    for axis in range(len(shape)):
        found = paddle.cumsum(paddle.to_tensor(x), axis).numpy()
        np.testing.assert_allclose(found, np.cumsum(x, axis, dtype="float64"), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        paddle.cumsum(paddle.to_tensor(x)).numpy()[-1], x.sum(dtype="float64"), rtol=1e-3, atol=1e-1
    )


@pytest.mark.parametrize("shape", [(2100, 2101), (2101, 2099), (5, 880, 1003)])
def test_turned_operands(shape):
    x, y = array(*shape), array(*shape[:-2], shape[-1], shape[-2])
    turned = paddle.to_tensor(x).transpose([*range(len(shape) - 2), len(shape) - 1, len(shape) - 2])
    by_numpy = x.swapaxes(-1, -2)
    np.testing.assert_array_equal((turned + paddle.to_tensor(y)).numpy(), by_numpy + y)
    np.testing.assert_array_equal((turned * turned).numpy(), by_numpy * by_numpy)
    np.testing.assert_array_equal(paddle.exp(turned).numpy(), paddle.exp(paddle.to_tensor(x)).numpy().swapaxes(-1, -2))
    np.testing.assert_array_equal(turned.astype("float64").numpy(), by_numpy.astype("float64"))
    np.testing.assert_array_equal((turned > paddle.to_tensor(y)).numpy(), by_numpy > y)
    row = array(shape[-2])
    np.testing.assert_array_equal((turned + paddle.to_tensor(row)).numpy(), by_numpy + row)
    np.testing.assert_array_equal((turned - 1.5).numpy(), by_numpy - np.float32(1.5))
