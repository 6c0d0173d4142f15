"""Products with a vector of every layout and many lengths, against NumPy (threads: thread_bits_test)."""

import numpy as np
import pytest

import proa

_LENGTHS = [1, 3, 15, 16, 17, 31, 63, 64, 65, 127, 200, 484, 1000, 32767, 32768, 32769, 70001]


def _check(result, expected, k):
    np.testing.assert_allclose(result.numpy(), expected, rtol=0, atol=2e-5 * np.sqrt(k))


@pytest.mark.parametrize("k", _LENGTHS)
@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5, 9])
def test_matrix_and_vector(k, lines):
    rng = np.random.default_rng(k * 10 + lines)
    a = rng.standard_normal((lines, k)).astype("float32")
    v = rng.standard_normal(k).astype("float32")
    x, y = proa.to_tensor(a), proa.to_tensor(v)
    exact = a.astype("float64") @ v
    turned = proa.to_tensor(np.ascontiguousarray(a.T))
    _check(proa.mv(x, y), exact, k)
    _check(proa.mv(turned.t(), y), exact, k)
    _check(proa.matmul(y, x, transpose_y=True), exact, k)
    _check(proa.matmul(y, turned), exact, k)
    _check(proa.matmul(x, y.reshape([k, 1])), exact[:, None], k)
    _check(proa.matmul(y.reshape([1, k]), turned), exact[None], k)
    bias = rng.standard_normal(1).astype("float32")
    _check(
        proa.nn.functional.linear(x, y.reshape([k, 1]), proa.to_tensor(bias)),
        exact[:, None] + bias.astype("float64"),
        k,
    )
    more = rng.standard_normal(lines).astype("float32")
    _check(proa.nn.functional.linear(y, turned, proa.to_tensor(more)), exact + more, k)


@pytest.mark.parametrize("k", [5, 64, 200, 33000])
def test_strides_and_batches(k):
    rng = np.random.default_rng(k)
    a = rng.standard_normal((3, 4, 2 * k)).astype("float32")
    v = rng.standard_normal((3, 2 * k, 1)).astype("float32")
    x, y = proa.to_tensor(a)[:, :, ::2], proa.to_tensor(v)[:, 1::2]
    exact = a[:, :, ::2].astype("float64") @ v[:, 1::2]
    _check(proa.bmm(x, y), exact, k)
    _check(proa.matmul(y, x, transpose_x=True, transpose_y=True), exact.transpose(0, 2, 1), k)
    front = proa.to_tensor(a)[:, :, k:]  # rows apart
    _check(proa.bmm(front, y), a[:, :, k:].astype("float64") @ v[:, 1::2], k)
    one = proa.to_tensor(v[0, :k])  # of all entries
    _check(proa.matmul(front, one), a[:, :, k:].astype("float64") @ v[0, :k], k)


def test_values_that_are_no_numbers_stay():
    a = np.ones((5, 300), "float32")
    a[1, 7], a[3, 299] = np.nan, np.inf
    out = proa.mv(proa.to_tensor(a), proa.ones([300])).numpy()
    assert np.isnan(out[1]) and out[3] == np.inf and (out[[0, 2, 4]] == 300).all()
