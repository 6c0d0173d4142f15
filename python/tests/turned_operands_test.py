"""Elementwise ops over operands that lie across the rows of the result: turned in tiles, and once where several are the same."""

import numpy as np
import pytest

import proa as paddle


def _t(x):
    return paddle.to_tensor(x).transpose([1, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(700, 300), (129, 1030), (40, 1000), (1000, 9)])
def test_the_same_twice(shape, dtype):
    x = np.random.default_rng(1).integers(0, 9, shape).astype(dtype)
    y = x[::-1].copy()
    a, b, straight = _t(x), _t(y), paddle.to_tensor(np.ascontiguousarray(x.T))
    np.testing.assert_array_equal((a * a).numpy(), (x * x).T)
    np.testing.assert_array_equal((a + b).numpy(), (x + y).T)
    np.testing.assert_array_equal((a - straight).numpy(), np.zeros_like(x.T))
    np.testing.assert_array_equal(paddle.where(a > b, a, a + b).numpy(), np.where(x > y, x, x + y).T)
    np.testing.assert_array_equal(paddle.where(a > 3, a, a).numpy(), x.T)


def test_the_same_memory_otherwise():
    x = np.random.default_rng(2).standard_normal((600, 600)).astype("float32")
    t = paddle.to_tensor(x)
    turned = t.transpose([1, 0])
    np.testing.assert_array_equal((t * turned).numpy(), x * x.T)
    np.testing.assert_array_equal((turned[:, 1:] * turned[:, :-1]).numpy(), x.T[:, 1:] * x.T[:, :-1])
    np.testing.assert_array_equal((turned * turned[:, :1]).numpy(), x.T * x.T[:, :1])
    wide = paddle.to_tensor(x.reshape(600, 60, 10)).transpose([2, 1, 0])
    np.testing.assert_array_equal((wide * wide).numpy(), np.square(x.reshape(600, 60, 10).transpose(2, 1, 0)))


@pytest.mark.parametrize("threads", [1, 3])
def test_in_place(threads):
    before = paddle._C.get_num_threads()
    paddle._C.set_num_threads(threads)
    x = np.random.default_rng(3).standard_normal((900, 500)).astype("float32")
    a, b = _t(x), paddle.to_tensor(np.ascontiguousarray(x.T))
    b.multiply_(a)
    np.testing.assert_array_equal(b.numpy(), (x * x).T)
    a.add_(a)
    np.testing.assert_array_equal(a.numpy(), 2 * x.T)
    paddle._C.set_num_threads(before)
