"""proa.linalg.cov and corrcoef against NumPy, of one variable too, and in programs of open sizes."""

import contextlib

import numpy as np
import pytest

import proa

L = proa.linalg


def test_correlations():
    x = np.random.default_rng(11).standard_normal((4, 9))
    np.testing.assert_allclose(L.corrcoef(proa.to_tensor(x)), np.corrcoef(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        L.corrcoef(proa.to_tensor(x), False), np.corrcoef(x, rowvar=False), rtol=1e-11, atol=1e-12
    )
    assert L.corrcoef(proa.to_tensor(x[0])).item() == 1.0
    for rowvar in (True, False):  # one row is one variable either way
        one = proa.to_tensor(x[:1])
        assert L.corrcoef(one, rowvar).shape == [] and L.corrcoef(one, rowvar).item() == 1.0
        np.testing.assert_allclose(L.cov(one, rowvar), np.cov(x[:1], rowvar=rowvar), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("function", [L.cov, L.corrcoef])
@pytest.mark.parametrize("rowvar, sizes, fits", [
    (True, [3, 4], True), (True, [1, 4], False), (False, [3, 4], True), (False, [1, 4], False), (False, [4, 1], False),
])  # fmt: skip
def test_statistics_of_one_variable_are_no_program_of_several(function, rowvar, sizes, fits):
    """The result of one has no dims: a program of open sizes gave it two, without a word."""
    proa.enable_static()
    try:
        with proa.static.program_guard(proa.static.Program()):
            out = function(proa.static.data("x", [None, None]), rowvar)
            x = np.random.default_rng(0).random(sizes, "float32")
            with contextlib.nullcontext() if fits else pytest.raises(ValueError, match="cov: dim . is open"):
                got = proa.static.Executor().run(feed={"x": x}, fetch_list=[out])[0]
                np.testing.assert_allclose(got, getattr(np, function.__name__)(x, rowvar=rowvar), rtol=1e-4, atol=1e-6)
    finally:
        proa.disable_static()
