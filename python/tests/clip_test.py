"""clip: what integers become beside limits that have a fraction, in every way of calling."""

import numpy as np
import pytest

import proa as paddle

_INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", _INTEGERS)
@pytest.mark.parametrize("limits", [(0.5, 2.5), (None, 1.5), (1.0, 2.0), (1.5, None), (0, 2.5)])
def test_integers_beside_a_fraction_become_float32(dtype, limits):
    x = np.arange(5).astype(dtype)
    wanted = np.clip(x.astype("float32"), *limits)
    for result in (paddle.clip(paddle.to_tensor(x), *limits), paddle.to_tensor(x).clip(*limits)):
        assert result.dtype == paddle.float32
        np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.parametrize("dtype", _INTEGERS)
@pytest.mark.parametrize("limits", [(1, 3), (None, 2), (2, None), (-(10**12), 10**12)])
def test_integers_between_integers_stay(dtype, limits):
    x = np.arange(5).astype(dtype)
    result = paddle.clip(paddle.to_tensor(x), *limits)
    assert result.numpy().dtype == dtype
    np.testing.assert_array_equal(result.numpy(), np.clip(x.astype("int64"), *limits))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_stays(dtype):
    x = paddle.to_tensor([0.0, 1.0, 3.0], dtype=dtype)
    assert paddle.clip(x, 1, 2.5).dtype == paddle.clip(x, 1, 2).dtype == x.dtype


def test_limits_that_are_tensors():
    x = paddle.to_tensor([0, 1, 3])
    assert paddle.clip(x, paddle.to_tensor(1), paddle.to_tensor(2)).dtype == paddle.int64
    result = paddle.clip(x, paddle.to_tensor(0.5), 2)
    assert result.dtype == paddle.float32
    assert result.tolist() == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("dtype", _INTEGERS)
def test_in_place_integers_stay(dtype):
    for limits in ((0.5, 2.5), (paddle.to_tensor(0.5), paddle.to_tensor(2.5)), (-np.inf, 2.0), (0, 2)):
        for clip in (paddle.clip_, paddle.Tensor.clip_):
            x = paddle.to_tensor([0, 1, 3], dtype=dtype)
            assert clip(x, *limits) is x
            assert x.tolist() == [0, 1, 2]
            assert x.numpy().dtype == dtype


def test_programs():
    @paddle.jit.to_static
    def clipped(x):
        return paddle.clip(x, 0.5, 2.5), paddle.clip(x, 1, 2)

    fractions, whole = clipped(paddle.to_tensor([0, 1, 3]))
    assert (fractions.dtype, whole.dtype) == (paddle.float32, paddle.int64)
    assert (fractions.tolist(), whole.tolist()) == ([0.5, 1.0, 2.5], [1, 1, 2])


def test_nan_limits_make_nan_of_integers():
    with np.errstate(invalid="ignore"):
        assert paddle.clip(paddle.to_tensor([1, 2]), 0.5, float("inf")).tolist() == [1.0, 2.0]
