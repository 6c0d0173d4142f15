"""Functions against mpmath, in units of the last place: the bounds of docs/accuracy.yaml hold, and are no wider than need be.

    python python/tests/accuracy_test.py [points] [part of a name]

measures with that many arguments and prints the largest errors beside the bounds.
"""

import itertools
import math
import operator
import pathlib
import sys

import mpmath
import numpy as np
import pytest
import yaml

import proa
import proa.nn.functional as F

_TABLE = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "docs" / "accuracy.yaml").read_text())
ROWS = {row["name"]: row for row in _TABLE["functions"]}
REDUCTIONS = {row["name"]: row for row in _TABLE["reductions"]}
_POINTS = 160
_LENGTHS = (3, 1000, 10000)


def _arguments(kind, points, rng):
    """About `points` float64 arguments of a kind."""
    uniform, third = rng.uniform, points // 3
    signs = rng.choice([-1.0, 1.0], points)
    logs = lambda low, high, count=points: 10 ** uniform(low, high, count)
    near = np.concatenate([10 ** uniform(-15, 0, third), 10 ** uniform(-30, 0, third)])
    dense = np.concatenate([near, 1 - near, uniform(0, 1, third)])
    return {
        "real": np.concatenate([logs(-30, 1.9), uniform(0, 10, points)]) * np.tile(signs, 2),
        "small": np.concatenate([logs(-30, 1.3), uniform(0, 5, points)]) * np.tile(signs, 2),
        "moderate": np.concatenate([logs(-30, 0.9), uniform(0, 5, points)]) * np.tile(signs, 2),
        "angle": np.concatenate([logs(-30, 4), uniform(0, 10, points)]) * np.tile(signs, 2),
        "positive": np.concatenate([logs(-30, 30), uniform(0, 3, points)]),
        "above_1": np.concatenate([logs(0, 30), 1 + logs(-15, 0)]),
        "inside": np.concatenate([dense, -dense]),
        "unit": dense,
        "above_minus_1": np.concatenate([logs(-30, 30), -dense]),
        "gamma": np.concatenate([logs(-30, 30, third), uniform(0, 3, points), uniform(3, 40, third)]),
        "below_0": -np.concatenate([uniform(0, 12, points), uniform(12, 200, third)]),
    }[kind]


def largest_error(name, dtype, points, seed=0):
    """(units of the last place, where) of the worst of so many arguments; what is infinite or tiny must be right."""
    row = ROWS[name]
    x = _arguments(row["arguments"], points, np.random.default_rng(seed)).astype(dtype)
    x = x[(x != 0) & (np.abs(x) != 1)]
    y = eval(row["call"], {"proa": proa, "F": F, "x": proa.to_tensor(x)}).numpy()
    exact = eval("lambda x: " + row["exact"], {"mp": mpmath.mp, "number": mpmath.mpf})
    assert y.dtype == dtype
    limits = np.finfo(dtype)
    worst, at = 0.0, None
    with mpmath.workdps(row.get("digits", 40)):
        for a, b in zip(x, y):
            want = mpmath.re(exact(mpmath.mpf(float(a))))
            with np.errstate(over="ignore"):
                rounded = np.dtype(dtype).type(float(want))
            if np.isinf(rounded) or np.isinf(b):
                assert b == rounded or abs(want) > limits.max / (1 + 64 * limits.eps), (name, a, b)
            elif abs(rounded) < limits.tiny * 2:
                assert abs(b - rounded) <= 4 * limits.tiny, (name, a, b, rounded)
            else:
                unit = float(np.spacing(abs(rounded)))
                if row.get("near_zero"):  # relative to 1 in float64, near the zeros of the function
                    unit = max(unit, 2.0**-52)
                error = float(abs(mpmath.mpf(float(b)) - want) / unit)
                if error > worst:
                    worst, at = error, float(a)
    return worst, at


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_bounds(name, dtype):
    worst, at = largest_error(name, dtype, _POINTS)
    bound = ROWS[name][dtype]
    assert worst <= bound + 1e-3, (
        f"{name}: {worst:.2f} units of the last place for {at!r} in {dtype}; the page says {bound}"
    )
    assert bound <= 3 * worst + 1, f"{name}: the page says {bound} in {dtype}; {worst:.2f} was the most"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ROWS)
def test_short_types_are_float32_rounded_once(name, dtype):
    row = ROWS[name]
    x = proa.to_tensor(_arguments(row["arguments"], 50, np.random.default_rng(1)).astype("float32")).astype(dtype)
    call = lambda t: eval(row["call"], {"proa": proa, "F": F, "x": t})
    if "x * x" in row["call"]:
        pytest.skip("several ops")
    got, want = call(x), call(x.astype("float32")).astype(dtype)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype("float32").numpy(), want.astype("float32").numpy())


def _numbers(kind, shape, rng):
    return {
        "positive": lambda: 10 ** rng.uniform(-3, 3, shape),
        "around_1": lambda: rng.uniform(0.9, 1.1, shape),
        "signed": lambda: rng.uniform(-3, 3, shape),
        "moderate": lambda: rng.uniform(0.1, 3, shape),
        "far": lambda: rng.uniform(999, 1001, shape),
    }[kind]()


def _spread(x):
    mean = mpmath.fsum(x) / len(x)
    return mpmath.fsum((v - mean) ** 2 for v in x) / (len(x) - 1)


def _shares(x):
    powers = [mpmath.exp(v) for v in x]
    total = mpmath.fsum(powers)
    return [v / total for v in powers]


def _unit(value, dtype):
    """The distance of the numbers of this type around `value`."""
    digits, least = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}[dtype]
    return mpmath.mpf(2) ** max(mpmath.frexp(value)[1] - digits, least)


def largest_error_of_reduction(name, dtype, n, seed=0):
    """Units of the last place of the worst result of a few rows of n numbers."""
    row = REDUCTIONS[name]
    rows = 2 if n > 1000 else 8
    x = proa.to_tensor(_numbers(row["numbers"], [rows, n], np.random.default_rng(seed)))
    x = x.astype("float32" if dtype != "float64" else dtype).astype(dtype)
    y = eval(row["call"], {"proa": proa, "F": F, "x": x})
    assert str(y.dtype).split(".")[-1] == dtype
    y, numbers = y.astype("float64").numpy(), x.astype("float64").numpy()
    names = {"mp": mpmath.mp, "spread": _spread, "shares": _shares, "itertools": itertools, "operator": operator}
    exact = eval("lambda x, first: " + row["exact"], names)
    worst = 0.0
    with mpmath.workdps(40):
        first = [mpmath.mpf(v) for v in numbers[0]]
        for got, given in zip(y, numbers):
            wanted = exact([mpmath.mpf(v) for v in given], first)
            pairs = zip(got, wanted, strict=True) if isinstance(wanted, list) else [(got, wanted)]
            worst = max([worst, *(float(abs(mpmath.mpf(g) - w) / _unit(w, dtype)) for g, w in pairs)])
    return worst


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_bounds_of_reductions(name, dtype):
    worst = max(largest_error_of_reduction(name, dtype, n, seed) for n in _LENGTHS for seed in (0, 7))
    bound = REDUCTIONS[name][dtype]
    assert worst <= bound, f"{name}: {worst:.2f} units of the last place in {dtype}; the page says {bound}"
    assert bound <= 3 * worst + 1, f"{name}: the page says {bound} in {dtype}; {worst:.2f} was the most"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_short_types_are_rounded_once(name, dtype):
    """They add up in float32, so that little more than the last rounding is left."""
    if dtype == "float16" and REDUCTIONS[name]["numbers"] == "positive":
        pytest.skip("results leave the range of float16")
    assert largest_error_of_reduction(name, dtype, 1000) <= 0.51


def test_every_function_of_one_number_has_a_row_or_is_exact():
    """By the registry, so that no function can be forgotten."""
    named = {row["call"].split("(")[0].split(".")[-1] for row in ROWS.values()} | {
        "log_sigmoid",
        "bessel_i",
        "bessel_ie",
    }
    named.add("logsigmoid")
    missing = []
    for op in proa._C.op_registry():
        ours = op["source"].startswith(("ops/elementwise/", "ops/special/"))
        tensors = [p for p in op["params"] if "Tensor" in p["type"]]
        if (
            ours
            and len(tensors) == 1
            and op["name"].rstrip("_") not in named | set(_TABLE["exact"]) | set(_TABLE["made"])
        ):
            missing.append(op["name"])
    assert not missing


def test_square_roots_round_right():
    """Every float32 of two binades, which stand for all, and what is at the ends of the range."""
    of_two_binades = np.arange(0x3F800000, 0x40800000, dtype=np.uint32).view(np.float32)
    rng = np.random.default_rng(0)
    of_all = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32).view(np.float32)
    of_all[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2.0**-100, -1]
    least = np.uint32(0x0D800000) + np.arange(-64, 64).astype(np.uint32)
    for x in (of_two_binades, of_two_binades * np.float32(2.0**-100), of_all, least.view(np.float32)):
        got = proa.sqrt(proa.to_tensor(x)).numpy()
        with np.errstate(invalid="ignore"):
            want = np.sqrt(x)
        same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
        assert same.all(), x[~same][:8]


def _near_the_middle(distance):
    """Every float64 of two binades whose root is so close to the middle of two that (2m + 1)^2, where 2m + 1 is twice that middle
    as a whole number, is within `distance` of a multiple of the unit of x."""
    found = []
    for bits in (54, 55):  # 4 x is a multiple of 2^bits
        for miss in range(-distance, distance + 1):
            if -miss % 8 != 1:  # no square of an odd number
                continue
            root = 1
            for bit in range(3, bits):  # root^2 = -miss modulo 2^bit
                root += (root * root + miss >> bit & 1) << bit - 1
            for r in {s * root + half & (1 << bits) - 1 for s in (1, -1) for half in (0, 1 << bits - 1)}:
                if 1 << 53 <= r < 1 << 54:
                    found.append(math.ldexp(r * r + miss >> bits, bits - 106))
    return np.array(found, np.float64)


def test_square_roots_of_float64_round_right():
    middles = _near_the_middle(4001)
    assert len(middles) > 1000
    rng = np.random.default_rng(0)
    of_all = rng.integers(0, 1 << 64, 1 << 20, dtype=np.uint64).view(np.float64)
    of_all[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 2.0**-900, -1]
    least = (np.uint64(0x07B0000000000000) + np.arange(-64, 64).astype(np.uint64)).view(np.float64)
    of_two_binades = rng.integers(0x3FF << 52, 0x401 << 52, 1 << 20, dtype=np.uint64).view(np.float64)
    for x in (middles, middles * 2.0**-900, middles * 2.0**1000, of_two_binades, of_all, least, of_two_binades[:13]):
        got = proa.sqrt(proa.to_tensor(x)).numpy()
        with np.errstate(invalid="ignore"):
            want = np.sqrt(x)
        same = (got.view(np.uint64) == want.view(np.uint64)) | (np.isnan(got) & np.isnan(want))
        assert same.all(), x[~same][:8]


def test_powers_of_float64():
    """At most a unit off, whatever the exponent; powers of whole numbers that are numbers of float64, and roots of those, are exact."""
    rng = np.random.default_rng(0)
    kinds = [
        (np.exp(rng.uniform(-700, 700, 300)), rng.uniform(-1, 1, 300)),
        (np.exp(rng.uniform(-2, 2, 300)), rng.uniform(-300, 300, 300)),
        (1 + rng.uniform(-1e-3, 1e-3, 300), rng.uniform(-7e5, 7e5, 300)),
        (rng.uniform(0.7, 1.42, 300), rng.uniform(-1900, 1900, 300)),
    ]
    x, y = (np.concatenate(v) for v in zip(*kinds))
    got = proa.pow(proa.to_tensor(x), proa.to_tensor(y)).numpy()
    assert np.isfinite(got).all() and (got > 1e-307).all()
    with mpmath.workdps(40):
        exact = [mpmath.power(float(a), float(b)) for a, b in zip(x, y)]
        assert max(float(abs(mpmath.mpf(float(b)) - e)) / np.spacing(float(e)) for b, e in zip(got, exact)) <= 1
    for power in range(1, 9):
        whole = np.floor(rng.uniform(1, 2 ** (53 / power) - 1, 1000))
        product = np.array([int(a) ** power for a in whole], np.float64)
        exponents = np.full(1000, power, np.float64)
        np.testing.assert_array_equal(proa.pow(proa.to_tensor(whole), proa.to_tensor(exponents)).numpy(), product)
        if power in (1, 2, 4):
            roots = proa.pow(proa.to_tensor(product), proa.to_tensor(1 / exponents)).numpy()
            np.testing.assert_array_equal(roots, whole)


def test_powers_of_float64_with_what_is_rare_between_them():
    """Rare pairs take another way than their neighbours, and leave these alone."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.1, 5, 1009), rng.uniform(-9, 9, 1009)
    usual = proa.pow(proa.to_tensor(x), proa.to_tensor(y)).numpy()
    np.testing.assert_allclose(usual, np.power(x, y), rtol=2.0**-52)
    rare = [0.0, -0.0, 1.0, -1.0, -2.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1.7e308]
    pairs = np.array(list(itertools.product(rare, [*rare, 2.0, 3.0, 0.5, 1e300, 720.0])))
    places = rng.choice(1009, len(pairs), replace=False)
    x[places], y[places] = pairs.T
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = proa.pow(proa.to_tensor(x), proa.to_tensor(y)).numpy()
    np.testing.assert_array_equal(np.signbit(got[places]), np.signbit(want[places]))
    np.testing.assert_allclose(got[places], want[places], rtol=2.0**-52)
    others = np.setdiff1d(np.arange(1009), places)
    np.testing.assert_array_equal(got[others], usual[others])
    for power in (2.5, -3.0, 1.0, 0.0, np.nan, np.inf):
        with np.errstate(all="ignore"):
            want = np.power(x, power)
        np.testing.assert_allclose(proa.pow(proa.to_tensor(x), power).numpy(), want, rtol=2.0**-52)


def main(points, part):
    for name, row in ROWS.items():
        if part in name:
            found = [largest_error(name, dtype, points, 7) for dtype in ("float32", "float64")]
            told = "  ".join(
                f"{dtype} {worst:6.3f} of {row[dtype]} at {at!r}"
                for dtype, (worst, at) in zip(("float32", "float64"), found)
            )
            print(f"{name:22} {told}", flush=True)
    for name in REDUCTIONS:
        if part in name:
            found = [
                max(largest_error_of_reduction(name, dtype, n, 7) for n in _LENGTHS) for dtype in ("float32", "float64")
            ]
            print(f"{name:22} float32 {found[0]:8.3f}  float64 {found[1]:8.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2] if len(sys.argv) > 2 else "")
