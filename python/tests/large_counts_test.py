"""histogram, bincount, unique_consecutive and repeat_interleave of tensors that are larger than what is worked on at once."""

import numpy as np
import pytest

import proa

_PART = 1 << 18
_SIZES = [_PART - 1, _PART, _PART + 1, 2 * _PART, 600_001]


def _peak_and_result(function):
    """What a call takes in memory at once, and gives."""
    proa.device.reset_max_memory_allocated()
    before = proa.device.memory_allocated()
    out = function()
    return proa.device.max_memory_allocated() - before, out


def _numbers(n, dtype):
    random = np.random.RandomState(n % 1000)
    if dtype == "bool":
        return random.rand(n) > 0.5
    return (random.randn(n) * 20).astype(dtype) if dtype != "uint8" else random.randint(0, 255, n).astype(dtype)


@pytest.mark.parametrize("n", _SIZES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_histogram(n, dtype):
    x = _numbers(n, dtype)
    wide = x.astype("float64")
    for bins, low, high in ((10, 0, 0), (7, -3, 11.5)):
        ends = (wide.min(), wide.max()) if low == high else (low, high)
        cells = np.minimum(np.floor((wide - ends[0]) * (bins / (ends[1] - ends[0]))), bins - 1)
        inside = (wide >= ends[0]) & (wide <= ends[1])
        found = proa.histogram(proa.to_tensor(x), bins, low, high)
        assert found.dtype == proa.int64
        np.testing.assert_array_equal(found.numpy(), np.bincount(cells[inside].astype("int64"), minlength=bins))


def test_histogram_of_shapes_and_nan():
    x = np.random.RandomState(3).rand(700, 800).astype("float32")
    t = proa.to_tensor(x)
    want = np.histogram(x.astype("float64"), 8, (0, 1))[0]
    np.testing.assert_array_equal(proa.histogram(t, 8, 0, 1).numpy(), want)
    np.testing.assert_array_equal(proa.histogram(t.T, 8, 0, 1).numpy(), want)
    x[0, :3] = x[-1, -2:] = np.nan
    assert proa.histogram(proa.to_tensor(x), 8, 0, 1).sum().item() == x.size - 5
    with pytest.raises(TypeError, match=r"histogram: input must be real; it is \[1\] complex64"):
        proa.histogram(proa.to_tensor([1 + 2j]), 3, 0, 1)


@pytest.mark.parametrize("n", _SIZES)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_bincount(n, dtype):
    x = np.random.RandomState(7).randint(0, 200, n).astype(dtype)
    for least in (0, 300, 400_000):
        found = proa.bincount(proa.to_tensor(x), minlength=least)
        assert found.dtype == proa.int64
        np.testing.assert_array_equal(found.numpy(), np.bincount(x, minlength=least))
    weights = np.random.RandomState(8).randn(n)
    np.testing.assert_array_equal(
        proa.bincount(proa.to_tensor(x), proa.to_tensor(weights)).numpy(), np.bincount(x, weights)
    )
    x = x.astype("int64")
    x[-1] = -1
    with pytest.raises(ValueError, match="bincount: x must not be negative"):
        proa.bincount(proa.to_tensor(x))


def test_bincount_leads_gradients_to_weights():
    weights = proa.to_tensor([0.5, 2.0, 3.0], stop_gradient=False)
    (proa.bincount(proa.to_tensor([0, 2, 2]), weights) ** 2).sum().backward()
    np.testing.assert_allclose(weights.grad.numpy(), [1.0, 10.0, 10.0])


@pytest.mark.parametrize("n", _SIZES)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_unique_consecutive(n, dtype):
    x = np.repeat(_numbers(n, dtype)[: n // 3 + 1], 3)[:n]
    want = x[np.concatenate([[True], x[1:] != x[:-1]])]
    for axis in (None, 0, -1):
        found = proa.unique_consecutive(proa.to_tensor(x), axis=axis)
        np.testing.assert_array_equal(found.numpy(), want)
    values, inverse, counts = proa.unique_consecutive(proa.to_tensor(x), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy()[inverse.numpy()], x)
    np.testing.assert_array_equal(np.repeat(want, counts.numpy()), x)
    whole = np.full(n, 7, "int32")
    assert proa.unique_consecutive(proa.to_tensor(whole)).tolist() == [7]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 512, 1000])
def test_unique_consecutive_in_pieces(n, dtype):
    """The first of each run is kept: of zeros and of NaNs it matters which."""
    rng = np.random.default_rng(n)
    x = rng.integers(0, 2, n).astype(dtype)
    if dtype.startswith("float"):
        x = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, np.inf], dtype)[rng.integers(0, 6, n)]
        x[x == 1] = np.finfo(dtype).smallest_subnormal
    same = (x[1:] == x[:-1]) | ((x[1:] != x[1:]) & (x[:-1] != x[:-1]))
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    values, inverse, counts = proa.unique_consecutive(proa.to_tensor(x), return_inverse=True, return_counts=True)
    assert values.numpy().tobytes() == x[starts].tobytes()
    np.testing.assert_array_equal(counts.numpy(), np.diff(np.append(starts, n)))
    np.testing.assert_array_equal(inverse.numpy(), np.repeat(np.arange(len(starts)), counts.numpy()))


def test_unique_consecutive_of_nan_over_a_border():
    x = np.arange(_PART + 9, dtype="float32")
    x[_PART - 2 : _PART + 3] = np.nan
    assert proa.unique_consecutive(proa.to_tensor(x)).shape == [_PART + 5]
    for axis in (1, -2):
        with pytest.raises(IndexError, match="out of range"):
            proa.unique_consecutive(proa.to_tensor(x), axis=axis)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64"])
@pytest.mark.parametrize("times", [0, 1, 2, 5])
def test_repeat_interleave_by_a_number(dtype, times):
    x = _numbers(2 * 3 * 5, dtype).reshape(2, 3, 5)
    t = proa.to_tensor(x)
    for axis in (None, 0, 1, -1):
        np.testing.assert_array_equal(proa.repeat_interleave(t, times, axis).numpy(), np.repeat(x, times, axis))
    np.testing.assert_array_equal(
        proa.repeat_interleave(t.transpose([2, 0, 1]), times, 1).numpy(), np.repeat(x.transpose(2, 0, 1), times, 1)
    )
    assert proa.repeat_interleave(proa.zeros([0, 3]), times, 1).shape == [0, 3 * times]
    assert proa.repeat_interleave(proa.to_tensor(2.5), times).tolist() == [2.5] * times


def test_memory():
    x = proa.ones([16 * _PART])
    peak, _ = _peak_and_result(lambda: proa.unique_consecutive(x))
    assert peak < 100 * _PART  # of one part; x are 16 of them
