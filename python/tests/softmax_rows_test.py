"""Softmax, log_softmax and cross entropy over rows of all lengths around those of vectors, against NumPy in float64."""

import numpy as np
import pytest

import proa
import proa.nn.functional as F

_LENGTHS = [
    1,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    33,
    40,
    63,
    64,
    65,
    100,
    127,
    129,
    341,
    511,
    512,
    513,
    1000,
    1024,
    1025,
    4099,
]
_TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 2e-6, "float64": 1e-14}


def _rows(length, rows, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, length)) * 3


def _log_softmax(x):
    distance = x - x.max(-1, keepdims=True)
    return distance - np.log(np.exp(distance).sum(-1, keepdims=True))


def _bits(t):
    return t.astype("float32").numpy().tobytes() if t.dtype != proa.float64 else t.numpy().tobytes()


@pytest.mark.parametrize("dtype", _TOLERANCE)
@pytest.mark.parametrize("length", _LENGTHS)
def test_against_numpy(length, dtype):
    for rows in (1, 5, 67):
        x = proa.to_tensor(_rows(length, rows)).astype(dtype)
        want = _log_softmax(x.astype("float64").numpy())
        tolerance = _TOLERANCE[dtype]
        got = F.log_softmax(x, -1).astype("float64").numpy()
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        got = F.softmax(x, -1).astype("float64").numpy()
        np.testing.assert_allclose(got, np.exp(want), rtol=2 * tolerance, atol=tolerance)


@pytest.mark.parametrize("op", [F.softmax, F.log_softmax])
@pytest.mark.parametrize("length", [3, 16, 40, 100, 513])
def test_a_row_depends_on_itself_alone(length, op):
    """Bit for bit: not on its place, on the rows beside it or on the number of threads."""
    x = _rows(length, 300).astype("float32")
    every = op(proa.to_tensor(x), -1)
    for row in (0, 1, 77, 299):
        assert _bits(op(proa.to_tensor(x[row]), -1)) == _bits(every[row])
    before = proa._C.get_num_threads()
    try:
        proa._C.set_num_threads(1)
        assert _bits(op(proa.to_tensor(x), -1)) == _bits(every)
    finally:
        proa._C.set_num_threads(before)


@pytest.mark.parametrize("length", [5, 40, 600])
def test_infinities_and_nan(length):
    x = _rows(length, 6).astype("float32")
    x[1, 2] = np.nan
    x[2, :] = -np.inf
    x[3, 1:] = -np.inf
    x[4, 3] = np.inf
    got, logs = F.softmax(proa.to_tensor(x), -1).numpy(), F.log_softmax(proa.to_tensor(x), -1).numpy()
    for row in (1, 2, 4):
        assert np.isnan(got[row]).any() and np.isnan(logs[row]).any()
    np.testing.assert_array_equal(got[3], [1.0] + [0.0] * (length - 1))
    np.testing.assert_array_equal(logs[3], [0.0] + [-np.inf] * (length - 1))
    for row in (0, 5):  # beside such rows
        np.testing.assert_allclose(logs[row], _log_softmax(x[row].astype("float64")), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [5, 40, 600])
def test_in_place_and_past_the_caches(length):
    x = _rows(length, 50).astype("float32")
    want = F.softmax(proa.to_tensor(x), -1)
    y = proa.to_tensor(x)
    assert _bits(F.softmax_(y, -1)) == _bits(want) and _bits(y) == _bits(want)
    proa.set_flags({"FLAGS_stream_bytes": 1})
    try:
        for dtype in ("float32", "bfloat16"):
            z = proa.to_tensor(x).astype(dtype)
            got = [_bits(f(z, -1)) for f in (F.softmax, F.log_softmax)]
            proa.set_flags({"FLAGS_stream_bytes": 0})
            assert got == [_bits(f(z, -1)) for f in (F.softmax, F.log_softmax)]
            proa.set_flags({"FLAGS_stream_bytes": 1})
    finally:
        proa.set_flags({"FLAGS_stream_bytes": 0})


@pytest.mark.parametrize("classes", [1, 2, 10, 17, 40, 513, 1030])
def test_cross_entropy(classes):
    x, rng = _rows(classes, 21).astype("float32"), np.random.default_rng(1)
    label = rng.integers(0, classes, 21)
    logits = proa.to_tensor(x, stop_gradient=False)
    loss = F.cross_entropy(logits, proa.to_tensor(label), reduction="none")
    want = _log_softmax(x.astype("float64"))
    np.testing.assert_allclose(loss.numpy().ravel(), -want[np.arange(21), label], rtol=1e-5, atol=1e-5)
    loss.sum().backward()
    np.testing.assert_allclose(logits.grad.numpy(), np.exp(want) - np.eye(classes)[label], rtol=1e-5, atol=1e-6)
