"""Numbers below the least normal one: products take 0 for them, everything else keeps them, on every thread."""

import numpy as np
import pytest

import proa as paddle

LEAST = np.finfo("float32").tiny


def denormals(*shape):
    """Of float32, exact multiples of the smallest, of which a half is one, too."""
    return (np.random.default_rng(0).integers(1, 1000, shape) * 2 * np.finfo("float32").smallest_subnormal).astype(
        "float32"
    )


def products(x):
    """Of every way to a library: of matrices, convolutions and their gradients, large enough for several threads."""
    weight = paddle.ones([300, 300])
    images = paddle.to_tensor(x.reshape(2, 5, 90, 100), stop_gradient=False)
    out = paddle.nn.functional.conv2d(images, paddle.ones([8, 5, 3, 3]))
    out.backward(paddle.ones_like(out))
    return paddle.matmul(paddle.to_tensor(x), weight), out


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_everything_but_products_keeps_them(threads):
    before = paddle._C.get_num_threads()
    paddle._C.set_num_threads(threads)
    try:
        x = denormals(300, 300)
        large = denormals(1000, 1100)
        for _ in range(3):
            for result in products(x):
                assert np.abs(result.numpy()).max() < 1e-30
            t = paddle.to_tensor(large)
            np.testing.assert_array_equal((t * 0.5).numpy(), large * np.float32(0.5))
            np.testing.assert_array_equal((t + t).numpy(), large + large)
            np.testing.assert_array_equal(t.T.contiguous().numpy(), large.T)
            np.testing.assert_array_equal(paddle.maximum(t, t * 0.5).numpy(), large)
            np.testing.assert_array_equal(t.sum(1).numpy(), large.sum(1, dtype="float64").astype("float32"))
            assert (np.float32(LEAST) * np.float32(0.5)) != 0  # this thread's NumPy, as well
    finally:
        paddle._C.set_num_threads(before)


def test_what_is_no_denormal_is_not_touched():
    """Factors may be as small as normal numbers are."""
    x = np.full((64, 64), 2.0**-126, "float32")
    np.testing.assert_array_equal(
        paddle.matmul(paddle.to_tensor(x), paddle.ones([64, 64])).numpy(), np.full((64, 64), 2.0**-120, "float32")
    )


def test_compiled_functions_give_the_same():
    x = denormals(300, 300) * np.float32(2.0**20)  # some are normal, some are not
    f = lambda t: paddle.matmul(t, t.T * 1e30) * 0.5
    t = paddle.to_tensor(x)
    np.testing.assert_array_equal(paddle.jit.to_static(f)(t).numpy(), f(t).numpy())
