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
_SHAPES = [
    (2, 3, 7, 9),
    (1, 6, 8, 8),
    (2, 4, 7, 6),
    (1, 12, 6, 9),
    (2, 16, 5, 6),
    (1, 33, 9, 7),
    (3, 70, 6, 5),
    (1, 32, 4, 3),
]


@pytest.fixture(params=[0, 1], ids=["cached", "past the caches"])
def stores(request):
    """Gradients are stored as small ones are, or as large ones."""
    proa.set_flags({"FLAGS_stream_bytes": request.param})
    yield
    proa.set_flags({"FLAGS_stream_bytes": 0})


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
@pytest.mark.usefixtures("stores")
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


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 1), (3, 1, 1), (4, 3, 1)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.usefixtures("stores")
def test_short_gradients_round_once(dtype, window, last):
    rng, (kernel, stride, padding) = np.random.default_rng(3), window
    rest = [[kernel] * 2, [stride] * 2, [padding] * 2, False, "NHWC" if last else "NCHW"]
    size = _size(6, kernel, stride, padding, False)
    shapes = [(2, 6, 6, 21), (2, size, size, 21)] if last else [(2, 21, 6, 6), (2, 21, size, size)]
    x, grad = (np.round(rng.standard_normal(shape), 1).astype("float32") for shape in shapes)
    x, grad = proa.to_tensor(x).astype(dtype), proa.to_tensor(grad).astype(dtype)
    short = proa._C.ops.max_pool_grad(grad, x, *rest)
    full = proa._C.ops.max_pool_grad(grad.astype("float32"), x.astype("float32"), *rest)
    np.testing.assert_array_equal(short.astype("float32").numpy(), full.astype(dtype).astype("float32").numpy())


_LINES = [  # kernel, stride, padding, ceil_mode
    ((2, 2), (2, 2), (0, 0), False),
    ((3, 3), (2, 2), (1, 1), True),
    ((3, 3), (1, 1), (1, 1), False),
    ((2, 5), (1, 4), (1, 2), True),
    ((1, 3), (2, 3), (0, 1), False),
    ((1, 1), (1, 3), (0, 0), False),
    ((5, 3), (2, 2), (2, 0), True),
    ((2, 4), (3, 6), (1, 3), True),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("window", _LINES)
@pytest.mark.usefixtures("stores")
def test_gradients_of_lines_of_every_length(window, dtype):
    """Images of one channel, some beside each other in a vector, up to one that is wider than all that go together."""
    ops, rng = proa._C.ops, np.random.default_rng(4)
    kernel, stride, padding, ceil_mode = window
    shapes = [(1, 3, 5, width) for width in (*range(5, 20), *range(30, 36), 63, 64, 65, 130, 300, 1100)]
    shapes += [(9, 11, 6, 7), (1, 67, 5, 5), (1, 1, 5, 129), (130, 1, 7, 10)]
    for shape in shapes:
        x = _images(shape, dtype, ("random", "ties", "special")[shape[3] % 3], rng)
        out, places = _reference(x, *window)
        grad = rng.standard_normal(out.shape).astype(dtype)
        rest = [list(kernel), list(stride), list(padding), ceil_mode]
        expected = _scatter(grad, places, shape)
        found = ops.max_pool_grad(proa.to_tensor(grad), proa.to_tensor(x), *rest, "NCHW").numpy()
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5, err_msg=f"{shape}")
        if shape[1] == 1:
            last = [proa.to_tensor(t.reshape(*t.shape[:1], *t.shape[2:], 1)) for t in (grad, x)]
            np.testing.assert_array_equal(ops.max_pool_grad(*last, *rest, "NHWC").numpy()[..., 0], found[:, 0])


@pytest.mark.parametrize("length", [7, 16, 33, 500])
@pytest.mark.usefixtures("stores")
def test_gradients_of_one_dim(length):
    ops, rng = proa._C.ops, np.random.default_rng(5)
    x = _images((3, 40, 1, length), "float32", "ties", rng)
    for kernel, stride, padding in [(2, 2, 0), (3, 1, 1), (4, 3, 2), (7, 7, 3), (7, 40, 0)]:
        out, places = _reference(x, (1, kernel), (1, stride), (0, padding), False)
        grad = rng.standard_normal(out.shape).astype("float32")
        lines = [proa.to_tensor(t[:, :, 0]) for t in (grad, x)]
        found = ops.max_pool_grad(*lines, [kernel], [stride], [padding], False, "NCL").numpy()
        np.testing.assert_allclose(found, _scatter(grad, places, x.shape)[:, :, 0], 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("length", [2, 3, 8, 33, 64, 65, 500])
@pytest.mark.parametrize("kernel", [2, 3])
def test_windows_side_by_side_of_one_dim(length, kernel, dtype):
    """With padding the same windows go another way."""
    if length < kernel:
        pytest.skip("no window")
    rng = np.random.default_rng(length)
    x = rng.standard_normal((3, 5, length)).astype(dtype)
    rare = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).smallest_subnormal], dtype)
    x = np.where(rng.random(x.shape) < 0.4, rng.choice(rare, x.shape), x)
    count = length // kernel
    windows = x[..., : count * kernel].reshape(3, 5, count, kernel)
    most = windows.max(-1)
    zeros = (most == 0) & ((windows == 0) & ~np.signbit(windows)).any(-1)
    want = np.where(zeros, np.zeros_like(most), most)
    found = proa._C.ops.max_pool1d(proa.to_tensor(x), [kernel], [kernel], [0], False, "NCL").numpy()
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found) & (found == 0), np.signbit(want) & (want == 0))
    padded = np.concatenate([np.full((3, 5, kernel), -np.inf, dtype), x], -1)[..., 1:]
    other = proa._C.ops.max_pool1d(proa.to_tensor(padded), [kernel], [kernel], [1], False, "NCL").numpy()[..., 1:]
    np.testing.assert_array_equal(found.view(f"u{found.itemsize}"), other[..., :count].view(f"u{found.itemsize}"))


def test_zeros_keep_their_sign():
    x = proa.to_tensor(np.array([-0.0, -1.0, -0.0, 0.0], "float32").reshape(1, 1, 1, 4))
    out = proa._C.ops.max_pool2d(x, [1, 2], [1, 2], [0, 0], False, "NCHW").numpy()
    np.testing.assert_array_equal(np.signbit(out).ravel(), [True, False])


@pytest.mark.parametrize(
    ("shape", "window", "data_format"),
    [
        ((4, 56, 56, 32), (3, 2, 1), "NHWC"),
        ((7, 3, 41, 50), (3, 2, 1), "NCHW"),
        ((7, 3, 41, 50), (2, 2, 0), "NCHW"),
        ((1, 1, 500, 200), (3, 1, 1), "NCHW"),
        ((900, 4, 9, 7), (2, 2, 0), "NCHW"),
    ],
)
@pytest.mark.usefixtures("stores")
def test_threads_do_not_change_a_bit(shape, window, data_format):
    rng, (kernel, stride, padding) = np.random.default_rng(2), window
    sizes = [(n + 2 * padding - kernel) // stride + 1 for n in shape]
    out = (shape[0], *sizes[1:3], shape[3]) if data_format == "NHWC" else (*shape[:2], *sizes[2:])
    x = proa.to_tensor(rng.standard_normal(shape).astype("float32"))
    grad = proa.to_tensor(rng.standard_normal(out).astype("float32"))
    found = []
    for threads in (1, 2, 3):
        before = proa._C.get_num_threads()
        proa._C.set_num_threads(threads)
        try:
            rest = [[kernel] * 2, [stride] * 2, [padding] * 2, False, data_format]
            found.append(proa._C.ops.max_pool_grad(grad, x, *rest).numpy())
        finally:
            proa._C.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("stride", [40, 10**7, 2**31 - 1])
def test_a_last_window_far_behind_the_image_sees_nothing(stride):
    """It took memory as long as the stride, up to 16 GB."""
    x = np.random.default_rng(3).standard_normal((2, 3, 33)).astype("float32")
    y = proa._C.ops.max_pool1d(proa.to_tensor(x), [3], [stride], [0], True, "NCL", "SAME").numpy()
    assert y.shape == (2, 3, 2 if stride > 33 else 1)
    np.testing.assert_array_equal(y[..., 0], x[..., :3].max(-1))
    np.testing.assert_array_equal(y[..., 1], np.finfo("float32").min)
