"""Max pooling against NumPy: windows, ties, NaN and infinities, in both orders of channels."""

import numpy as np
import pytest

import proa

_WINDOWS = [  # kernel, stride, padding, ceil_mode
    ((2, 2), (2, 2), (0, 0), False),
    ((3, 3), (2, 2), (1, 1), False),
    ((3, 2), (1, 3), (1, 0), True),
    ((5, 5), (1, 1), (2, 2), False),
    ((2, 3), (3, 1), (0, 1), True),
]
_SHAPES = [(2, 3, 7, 9), (1, 6, 8, 8), (2, 16, 5, 6), (1, 33, 9, 7), (3, 70, 6, 5), (1, 32, 4, 3)]


def _size(length, kernel, stride, padding, ceil_mode):
    room = length + 2 * padding - kernel
    return (-(-room // stride) if ceil_mode else room // stride) + 1


def _reference(x, kernel, stride, padding, ceil_mode):
    """Maxima and their places: NaN is above all, of equal ones the first counts; -1 where a window is empty."""
    h, w = x.shape[2:]
    sizes = [_size(x.shape[2 + d], kernel[d], stride[d], padding[d], ceil_mode) for d in range(2)]
    out = np.full((*x.shape[:2], *sizes), np.finfo(x.dtype).min, x.dtype)
    places = np.full(out.shape, -1, np.int64)
    for i, j in np.ndindex(*sizes):
        top, left = i * stride[0] - padding[0], j * stride[1] - padding[1]
        bottom, right = min(top + kernel[0], h), min(left + kernel[1], w)
        top, left = max(top, 0), max(left, 0)
        if top >= bottom or left >= right:
            continue
        window = x[:, :, top:bottom, left:right].reshape(*x.shape[:2], -1)
        nan = np.isnan(window)
        at = np.where(nan.any(-1), nan.argmax(-1), np.where(nan, 0, window).argmax(-1))
        out[:, :, i, j] = np.take_along_axis(window, at[..., None], -1)[..., 0]
        places[:, :, i, j] = (top + at // (right - left)) * w + left + at % (right - left)
    return out, places


def _scatter(grad, places, shape):
    result = np.zeros((*shape[:2], shape[2] * shape[3]))
    for index in np.ndindex(*shape[:2]):
        there = places[index].ravel() >= 0
        np.add.at(result[index], places[index].ravel()[there], grad[index].ravel()[there])
    return result.reshape(shape)


def _images(shape, dtype, kind, rng):
    x = rng.standard_normal(shape).astype(dtype)
    if kind == "ties":
        x = np.round(x) + 0.0  # without -0, which is below 0
    if kind == "special":
        x[rng.random(shape) < 0.05] = -np.inf
        x[rng.random(shape) < 0.1] = np.nan
    return x


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
@pytest.mark.parametrize("kind", ["random", "ties", "special"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_numpy(dtype, kind, last):
    ops, rng = proa._C.ops, np.random.default_rng(0)
    for shape in _SHAPES:
        for window in _WINDOWS:
            kernel, stride, padding, ceil_mode = window
            x = _images(shape, dtype, kind, rng)
            out, places = _reference(x, *window)
            grad = rng.standard_normal(out.shape).astype(dtype)

            def tensor(t):
                return proa.to_tensor(np.ascontiguousarray(t.transpose(0, 2, 3, 1)) if last else t)

            def array(t):
                return t.numpy().transpose(0, 3, 1, 2) if last else t.numpy()

            rest = [list(kernel), list(stride), list(padding), ceil_mode, "NHWC" if last else "NCHW"]
            message = f"{shape} {window}"
            np.testing.assert_array_equal(array(ops.max_pool2d(tensor(x), *rest)), out, message)
            maxima, indices = ops.max_pool2d_with_index(tensor(x), *rest)
            np.testing.assert_array_equal(array(maxima), out, message)
            np.testing.assert_array_equal(array(indices), places, message)
            x_grad = array(ops.max_pool_grad(tensor(grad), tensor(x), *rest))
            np.testing.assert_allclose(x_grad, _scatter(grad, places, shape), 1e-5, 1e-5, err_msg=message)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_exact(dtype):
    rng = np.random.default_rng(1)
    x = proa.to_tensor(rng.standard_normal((2, 5, 6, 20)).astype("float32")).astype(dtype)
    short = proa._C.ops.max_pool2d(x, [3, 3], [2, 2], [1, 1], False, "NHWC")
    full = proa._C.ops.max_pool2d(x.astype("float32"), [3, 3], [2, 2], [1, 1], False, "NHWC")
    np.testing.assert_array_equal(short.astype("float32").numpy(), full.numpy())


@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_gradients_round_once(dtype, window):
    rng, (kernel, stride, padding) = np.random.default_rng(3), window
    rest = [[kernel] * 2, [stride] * 2, [padding] * 2, False, "NHWC"]
    x = proa.to_tensor(np.round(rng.standard_normal((2, 6, 6, 21)), 1).astype("float32")).astype(dtype)
    size = _size(6, kernel, stride, padding, False)
    grad = proa.to_tensor(rng.standard_normal((2, size, size, 21)).astype("float32")).astype(dtype)
    short = proa._C.ops.max_pool_grad(grad, x, *rest)
    full = proa._C.ops.max_pool_grad(grad.astype("float32"), x.astype("float32"), *rest)
    np.testing.assert_array_equal(short.astype("float32").numpy(), full.astype(dtype).astype("float32").numpy())


def test_zeros_keep_their_sign():
    x = proa.to_tensor(np.array([-0.0, -1.0, -0.0, 0.0], "float32").reshape(1, 1, 1, 4))
    out = proa._C.ops.max_pool2d(x, [1, 2], [1, 2], [0, 0], False, "NCHW").numpy()
    np.testing.assert_array_equal(np.signbit(out).ravel(), [True, False])


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(2)
    x = proa.to_tensor(rng.standard_normal((4, 56, 56, 32)).astype("float32"))
    grad = proa.to_tensor(rng.standard_normal((4, 28, 28, 32)).astype("float32"))
    found = []
    for threads in (1, 2, 3):
        before = proa._C.get_num_threads()
        proa._C.set_num_threads(threads)
        try:
            found.append(proa._C.ops.max_pool_grad(grad, x, [3, 3], [2, 2], [1, 1], False, "NHWC").numpy())
        finally:
            proa._C.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
