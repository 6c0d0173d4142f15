"""Sizes that a program does not know, where programs of users bring them: sizes of results, numbers of NumPy, to_tensor."""

import numpy as np
import pytest

import proa as paddle

F = paddle.nn.functional


class Function(paddle.nn.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _check(tmp_path, function, *arrays):
    """A function of [N, C, ...] with all sizes but that of channels open, saved and loaded, is what it is eagerly."""
    arrays = [np.asarray(a, "float32") for a in arrays]
    spec = paddle.static.InputSpec([None, arrays[0].shape[1]] + [None] * (arrays[0].ndim - 2))
    paddle.jit.save(Function(function), str(tmp_path / "m"), input_spec=[spec])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for array in arrays:
        x = paddle.to_tensor(array)
        expected, found = function(x), loaded(x)
        for a, b in zip(*((v if isinstance(v, (list, tuple)) else [v]) for v in (expected, found))):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def _images(dims):
    random = np.random.RandomState(0)
    return random.rand(2, 4, *[8, 12, 16][:dims]), random.rand(1, 4, *[12, 8, 4][:dims])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling_taken_back_to_sizes_of_results(tmp_path, dims):
    weight = paddle.rand([4, 4, *[3] * dims])

    def function(x):
        conv, pool, unpool = (getattr(F, f"{name}{dims}d") for name in ("conv", "max_pool", "max_unpool"))
        x = conv(x, weight, padding=1, stride=2)
        y, places = pool(x, 2, 2, return_mask=True)
        return unpool(y, places, 2, 2, output_size=x.shape), unpool(y, places, 2, 2)

    _check(tmp_path, function, *_images(dims))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolutions_to_sizes_of_results(tmp_path, dims):
    weight = paddle.rand([4, 4, *[3] * dims])

    def function(x):
        conv, back = getattr(F, f"conv{dims}d"), getattr(F, f"conv{dims}d_transpose")
        x = conv(x, weight, padding=1)
        small = conv(x, weight, padding=1, stride=2)
        return back(small, weight, padding=1, stride=2, output_size=x.shape[2:])

    _check(tmp_path, function, *_images(dims))


def test_tensors_of_sizes(tmp_path):
    def function(x):
        rows = paddle.to_tensor(x.shape[0] // 2, "int32")
        return x.reshape([rows, -1]), rows, paddle.to_tensor([x.shape[0], 2, 3 * x.shape[2]]), paddle.to_tensor(x.shape)

    _check(tmp_path, function, np.ones([4, 3, 2]), np.ones([2, 3, 5]))


def test_numbers_of_numpy_beside_sizes(tmp_path):
    two, half = np.int64(2), np.float32(0.5)

    def function(x):
        n = x.shape[0]
        shape = [n // two, two * n, n + two, two + n, n - np.int32(1), np.int32(7) - n % np.uint8(3)]
        return (
            paddle.zeros(shape),
            paddle.to_tensor(n * half),
            paddle.to_tensor(half / n),
            x.reshape([n // two, two, -1]),
        )

    _check(tmp_path, function, np.ones([4, 3]), np.ones([2, 3]))
