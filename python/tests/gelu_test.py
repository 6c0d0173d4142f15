"""Digits of gelu and of its gradient: against math.erfc in double, in units in the last place of float32."""

import math

import numpy as np
import pytest

import proa
import proa.nn.functional as F


def _normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2)), x * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _logistic(x):
    u = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    du = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    e = math.exp(-abs(u))
    return (1 if u > 0 else e) / (1 + e), x * du * e / (1 + e) ** 2


def _run(x, approximate):
    t = proa.to_tensor(x, stop_gradient=False)
    y = F.gelu(t, approximate=approximate)
    y.sum().backward()
    return y.numpy().astype("float64"), t.grad.numpy().astype("float64")


def _worst(got, exact, keep):
    ulp = np.spacing(np.abs(exact).astype("float32")).astype("float64")
    return np.max((np.abs(got - exact) / ulp)[keep])


@pytest.mark.parametrize("approximate, form, tail", [(False, _normal, 10), (True, _logistic, 200)])
def test_digits(approximate, form, tail):
    x = np.linspace(-9, 14, 100_003).astype("float32")
    parts = np.array([form(v) for v in x.astype("float64")])
    wide = x.astype("float64")
    y, slope = _run(x, approximate)
    exact, exact_slope = wide * parts[:, 0], parts.sum(axis=1)
    assert _worst(y, exact, x > 0) < 3.5
    assert _worst(y, exact, (x > -1) & (x < 0)) < 4
    assert _worst(y, exact, x < -1) < tail
    # The derivative is 0 near -0.75.
    assert _worst(slope, exact_slope, x > 0) < 2
    assert _worst(slope, exact_slope, x < -1) < tail
    assert np.max(np.abs(slope - exact_slope)) < 1.5e-7


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("approximate", [False, True])
def test_special_values(dtype, approximate):
    large = float(np.finfo(dtype).max)
    tiny = float(np.finfo(dtype).smallest_subnormal)
    x = np.array([np.nan, np.inf, -np.inf, large, -large, 0.0, -0.0, 4 * tiny, -4 * tiny], dtype)
    y, slope = _run(x, approximate)
    np.testing.assert_array_equal(y, [np.nan, np.inf, 0, large, 0, 0, 0, 2 * tiny, -2 * tiny])
    assert np.signbit(y[6]) and not np.signbit(y[5])
    np.testing.assert_array_equal(slope, [np.nan, 1, 0, 1, 0, 0.5, 0.5, 0.5, 0.5])
