"""Products that are cut into pieces (ops/linalg/gemm_onednn.cc): as NumPy's, and the same bits for any number of threads."""

import numpy as np
import pytest

import proa
from proa import _C


def _random(*shape):
    return np.random.default_rng(len(shape) + shape[0]).standard_normal(shape).astype("float32")


# m, n, k; of some the last piece is smaller.
_SIZES = [(512, 512, 512), (400, 1111, 320), (8, 1024, 1024), (9, 2049, 600), (1, 1024, 1024), (3, 512, 2048)]


def _on_threads(f):
    before = _C.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            _C.set_num_threads(threads)
            results.append(f().numpy())
    finally:
        _C.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    return results[0]


@pytest.mark.parametrize("m, n, k", _SIZES)
@pytest.mark.parametrize("transposed", [False, True])
def test_as_numpy(m, n, k, transposed):
    x, w, b = _random(m, k), _random(k, n), _random(n)
    exact = x.astype("float64") @ w
    if transposed:
        columns = proa.to_tensor(np.ascontiguousarray(x.T))
        y = _on_threads(lambda: proa.matmul(columns, proa.to_tensor(w), transpose_x=True))
    else:
        y = _on_threads(lambda: proa.nn.functional.linear(proa.to_tensor(x), proa.to_tensor(w), proa.to_tensor(b)))
        exact += b
    np.testing.assert_allclose(y, exact, rtol=1e-4, atol=1e-5 * k**0.5 * 4)


def test_nan_stays_in_its_column():
    x, w = _random(8, 1024), _random(1024, 1024)
    w[3, 700] = np.nan
    y = proa.matmul(proa.to_tensor(x), proa.to_tensor(w)).numpy()
    assert np.isnan(y[:, 700]).all() and not np.isnan(np.delete(y, 700, axis=1)).any()
