"""Remainders and quotients rounded down of float64, bit for bit those of fmod: vectors form them otherwise."""

import numpy as np
import pytest

import proa

_SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -7.0, 0.1, 5e-324, -1e-310, 1.7e308, -1.7e308, np.inf, -np.inf, np.nan]


def _remainder(a, b):
    rest = np.fmod(a, b)
    return np.where(rest == 0, np.copysign(0.0, b), np.where((rest < 0) != (b < 0), rest + b, rest))


def _floor_divide(a, b):
    rest = np.fmod(a, b)
    quotient = (a - rest) / b - ((rest != 0) & ((rest < 0) != (b < 0)))
    whole = np.floor(quotient)
    whole += quotient - whole > 0.5
    whole = np.where(quotient == 0, np.copysign(0.0, a / b), whole)
    return np.where(b == 0, a / b, whole)


def _pairs():
    """Quotients from none to more than there are whole numbers, at whole ones and beside them, and special numbers."""
    rng = np.random.default_rng(0)
    a, b = (m.ravel() for m in np.meshgrid(_SPECIAL, _SPECIAL))
    yield a, b
    n = 50_000
    for size in (1, 10, 30, 50, 53, 60, 200):
        b = np.ldexp(rng.uniform(1, 2, n), rng.integers(-40, 40, n)) * rng.choice([-1, 1], n)
        whole = np.floor(np.ldexp(rng.uniform(0, 1, n), size)) * rng.choice([-1, 1], n)
        for a in (
            b * whole,
            np.nextafter(b * whole, 0),
            np.nextafter(b * whole, np.inf),
            b * (whole + rng.uniform(0, 1, n)),
        ):
            yield a, b
    yield rng.standard_normal(n), rng.standard_normal(n)
    for tiny in (1e-308, 1e-320):
        yield rng.standard_normal(n) * 100 * tiny, rng.standard_normal(n) * tiny
    with np.errstate(over="ignore"):
        yield rng.standard_normal(n) * 1e308, rng.standard_normal(n) * 1e307


@pytest.mark.parametrize("op, reference", [(proa.remainder, _remainder), (proa.floor_divide, _floor_divide)])
def test_bits(op, reference):
    for a, b in _pairs():
        with np.errstate(all="ignore"):
            want = reference(a, b)
        got = op(proa.to_tensor(a), proa.to_tensor(b)).numpy()
        np.testing.assert_array_equal(got, want)
        there = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[there], np.signbit(want)[there])


def test_broadcast_and_in_place():
    a = np.random.default_rng(1).standard_normal((7, 301)) * 9
    x = proa.to_tensor(a)
    np.testing.assert_array_equal(proa.remainder(x, proa.to_tensor(a[0])).numpy(), _remainder(a, a[0]))
    np.testing.assert_array_equal(proa.remainder(x.T, proa.to_tensor(0.7, "float64")).numpy(), _remainder(a.T, 0.7))
    proa.remainder_(x, proa.to_tensor(a[1]))
    np.testing.assert_array_equal(x.numpy(), _remainder(a, a[1]))
