"""Products and convolutions of 16-bit operands, thin and large, on CPUs of several kinds: within half a unit of float64, rounded once."""

import os
import subprocess
import sys

import numpy as np
import pytest

import proa
import proa.nn.functional as F

# m, k, n: below and above what is computed from copies in float32.
SIZES = [(1, 80, 96), (15, 70, 33), (63, 64, 64), (64, 64, 64), (70, 130, 90), (200, 65, 72)]
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def _close(found, exact, dtype):
    """Half a unit of the result, and what float32 sums of so many products may be off."""
    assert found.dtype.name == dtype
    bound = UNIT[dtype] * np.abs(exact) + 1e-4 * np.abs(exact).max()
    assert (np.abs(found.astype("float64").numpy() - exact) <= bound).all()


def _draw(rng, shape, dtype):
    t = proa.to_tensor(rng.standard_normal(shape).astype("float32")).astype(dtype)
    return t, t.astype("float64").numpy()


def check_products(dtype):
    rng = np.random.default_rng(0)
    for m, k, n in SIZES:
        for turn_a, turn_b in ((False, False), (True, False), (False, True), (True, True)):
            a, wide_a = _draw(rng, [k, m] if turn_a else [m, k], dtype)
            b, wide_b = _draw(rng, [n, k] if turn_b else [k, n], dtype)
            exact = (wide_a.T if turn_a else wide_a) @ (wide_b.T if turn_b else wide_b)
            _close(proa.matmul(a, b, turn_a, turn_b), exact, dtype)
        a, wide_a = _draw(rng, [3, m, k], dtype)
        b, wide_b = _draw(rng, [k, n], dtype)
        bias, wide_bias = _draw(rng, [n], dtype)
        _close(F.linear(a, b, bias), wide_a @ wide_b + wide_bias, dtype)
        c, wide_c = _draw(rng, [2, 1, k, n], dtype)
        _close(proa.matmul(a, c), wide_a @ wide_c, dtype)
        _close(proa.matmul(a[:, ::2], b), wide_a[:, ::2] @ wide_b, dtype)


def check_convolutions(dtype):
    rng = np.random.default_rng(1)
    for channels, out, groups, kernel in ((3, 8, 1, 3), (64, 70, 1, 1), (16, 16, 16, 3), (8, 12, 4, 3)):
        x, wide_x = _draw(rng, [2, channels, 9, 8], dtype)
        w, wide_w = _draw(rng, [out, channels // groups, kernel, kernel], dtype)
        for t in (x, w):
            t.stop_gradient = False
        y = F.conv2d(x, w, padding=kernel // 2, groups=groups)
        exact = [proa.to_tensor(v, stop_gradient=False) for v in (wide_x, wide_w)]
        wide_y = F.conv2d(*exact, padding=kernel // 2, groups=groups)
        _close(y, wide_y.numpy(), dtype)
        y.astype("float32").sum().backward()
        wide_y.sum().backward()
        for t, e in zip((x, w), exact):
            _close(t.grad, e.grad.numpy(), dtype)


@pytest.mark.parametrize("dtype", list(UNIT))
def test_products(dtype):
    check_products(dtype)


@pytest.mark.parametrize("dtype", list(UNIT))
def test_convolutions(dtype):
    check_convolutions(dtype)


@pytest.mark.parametrize("instructions", ["AVX2", "AVX512_CORE"])
def test_on_a_cpu_with_fewer_instructions(instructions):
    """oneDNN asks the environment once, when it is loaded. A CPU that has not got these either stays as it is."""
    code = f"from python.tests import low_products_test as t; [f(d) for f in (t.check_products, t.check_convolutions) for d in {list(UNIT)}]"
    environment = {
        **os.environ,
        "ONEDNN_MAX_CPU_ISA": instructions,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "sizes",
    [
        (129, 63, 10),
        (444, 63, 486),
        (344, 1215, 399),
        (740, 2623, 219),
        (518, 1119, 371),
        (344, 895, 399),
        (3, 344, 1023, 399),
    ],
    ids=str,
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (True, True)], ids=str)
def test_sums_over_one_less_than_a_multiple_of_32(sizes, turned):
    """oneDNN ends the process by an illegal instruction where it has AMX."""
    *batch, m, k, n = sizes
    rng = np.random.default_rng(1)
    a, exact_a = _draw(rng, (*batch, k, m) if turned[0] else (*batch, m, k), "bfloat16")
    b, exact_b = _draw(rng, (n, k) if turned[1] else (k, n), "bfloat16")
    exact = (exact_a.swapaxes(-1, -2) if turned[0] else exact_a) @ (exact_b.T if turned[1] else exact_b)
    _close(proa.matmul(a, b, *turned), exact, "bfloat16")
    if not batch and not any(turned):
        bias = proa.zeros([n], "bfloat16")
        _close(F.linear(a, b, bias), exact, "bfloat16")
