"""Products whose left matrix is copied row after row first: long sums over columns whole pages apart, and strides that no kernel reads."""

import numpy as np
import pytest

import proa


def _product(a, b, transposed):
    return proa.matmul(a, b, transpose_x=transposed)


def _on_threads(function):
    """What it gives on one thread, after a look that it gives the same bits on others."""
    before = proa._C.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            proa._C.set_num_threads(threads)
            results.append(function().numpy())
    finally:
        proa._C.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    return results[0]


@pytest.mark.parametrize("rows, columns", [(1024, 128), (1024, 131), (1024, 127), (129, 200), (2048, 300)])
@pytest.mark.parametrize("width", [1024, 2048, 3072])
def test_long_sums_over_columns(rows, columns, width):
    """A is the transpose of [2050, rows], of which rows lie `width` elements apart."""
    if rows > width:
        return
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((2050, width), (2050, columns)))
    x, y = proa.to_tensor(a)[:, :rows], proa.to_tensor(b)
    got = _on_threads(lambda: _product(x, y, True))
    want = a[:, :rows].astype("float64").T @ b
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_operands_of_any_strides(dtype):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((3, 1, 66, 70)), rng.standard_normal((2, 70, 90))
    x, y = proa.to_tensor(a).astype(dtype), proa.to_tensor(b).astype(dtype)
    a, b = x.astype("float64").numpy(), y.astype("float64").numpy()
    tolerance = 1e-5 if dtype == "float32" else 5e-2
    for left, of_left, right, of_right in (
        (x[..., ::2], a[..., ::2], y[:, ::2], b[:, ::2]),
        (proa.flip(x, [-1]), a[..., ::-1], y, b),
        (x[:, :, ::3, 1::2], a[:, :, ::3, 1::2], y[:, 1::2, ::2], b[:, 1::2, ::2]),
    ):
        got = _on_threads(lambda: _product(left, right, False).astype("float32"))  # noqa: B023
        np.testing.assert_allclose(got, of_left @ of_right, rtol=tolerance, atol=20 * tolerance)
