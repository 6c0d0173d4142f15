"""Pools of every geometry: results, places and gradients against NumPy in float64.

A seeded sample of kernels, strides, paddings, ceil_mode, exclusive, sizes, dtypes and memory orders, of one to three
dims. As a program it runs a sample of any size: python python/tests/pool_geometry_test.py COUNT [SEED]
"""

import itertools
import sys

import numpy as np
import pytest

import proa
import proa.nn.functional as F

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


def draw(rng):
    def pick(*values):
        return values[rng.integers(len(values))]

    n = pick(1, 2, 2, 3)
    kernel = [int(pick(1, 2, 2, 3, 3, 4, 5, 7)) for _ in range(n)]
    padding = [[int(rng.integers(k)), int(rng.integers(k))] for k in kernel]
    if pick(True, False):
        padding = [[0, 0]] * n
    return {
        "dims": n,
        "kind": pick("max", "avg", "adaptive_max", "adaptive_avg"),
        "dtype": pick("float32", "float32", "bfloat16", "float16", "float64"),
        "kernel": kernel,
        "stride": [int(pick(1, 2, 2, 3, 4)) for _ in range(n)],
        "padding": padding,
        "ceil_mode": bool(pick(True, False)),
        "exclusive": bool(pick(True, False)),
        "shape": [
            int(pick(1, 2, 3)),
            int(pick(1, 2, 3, 8, 15, 17, 33)),
            *(max(1, k - sum(p)) + int(rng.integers({1: 60, 2: 14, 3: 6}[n])) for k, p in zip(kernel, padding)),
        ],
        "out": [int(rng.integers(1, 8)) for _ in range(n)],
        "mask": bool(pick(True, False)),
        "last": bool(pick(True, False)),
        "order": pick("contiguous", "channels_last", "strided"),
        "values": pick("normal", "few"),  # few: with equal maxima
    }


def _ranges(case, d):
    """Of each output position along dim d: the positions inside the image, and how many count without `exclusive`."""
    size = case["shape"][2 + d]
    if case["kind"].startswith("adaptive"):
        n = case["out"][d]
        return [(range(i * size // n, -(-(i + 1) * size // n)), None) for i in range(n)]
    k, s, (before, after) = case["kernel"][d], case["stride"][d], case["padding"][d]
    room = size + before + after - k
    n = (-(-room // s) if case["ceil_mode"] else room // s) + 1
    out = []
    for i in range(n):
        first = i * s - before
        # A window may begin behind the padding, if the stride is larger than the kernel: it counts less than nothing.
        out.append(([p for p in range(first, first + k) if 0 <= p < size], min(k, size + after - first)))
    return out


def _windows(case):
    """(output position, input positions of each dim, divisor) for each window."""
    exclusive = case["exclusive"] or case["kind"].startswith("adaptive")
    for at in itertools.product(*(enumerate(_ranges(case, d)) for d in range(case["dims"]))):
        inside = [positions for _, (positions, _) in at]
        counts = [len(positions) if exclusive else counted for _, (positions, counted) in at]
        yield tuple(i for i, _ in at), np.ix_(*inside), int(np.prod(counts))


def expected(case, x, gradient):
    """The result, the places of maxima, and the gradient of x for a gradient of the result."""
    n, c = x.shape[:2]
    windows = list(_windows(case))
    sizes = [max(w[0][d] for w in windows) + 1 for d in range(case["dims"])]
    y, places, x_grad = np.zeros((n, c, *sizes)), np.full((n, c, *sizes), -1), np.zeros(x.shape)
    flat_places = np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for at, grid, divisor in windows:
        where = (slice(None), slice(None), *at)
        inside = (slice(None), slice(None), *grid)
        part, empty = x[inside].reshape(n, c, -1), x[inside].size == 0
        if "avg" in case["kind"]:
            y[where] = part.sum(-1) / divisor if divisor else np.nan
            if not empty:
                x_grad[inside] += (gradient[where] / divisor).reshape(n, c, *[1] * case["dims"])
        elif empty:
            y[where] = float(proa.finfo(case["dtype"]).min)
        else:
            best = part.argmax(-1)
            y[where] = np.take_along_axis(part, best[..., None], -1)[..., 0]
            places[where] = flat_places[grid].reshape(-1)[best]
            for a, b in np.ndindex(n, c):
                x_grad[a, b].reshape(-1)[places[where][a, b]] += gradient[where][a, b]
    return y, places, x_grad


def run(case, rng):
    n = case["dims"]
    x = rng.standard_normal(case["shape"]) if case["values"] == "normal" else rng.integers(-2, 3, case["shape"])
    leaf = proa.to_tensor(x.astype("float64"), dtype=case["dtype"], stop_gradient=False)
    x = leaf.astype("float64").numpy()
    image = leaf
    if case["order"] == "channels_last":
        image = (image.transpose([0, *range(2, n + 2), 1]) * 1.0).transpose([0, n + 1, *range(1, n + 1)])
    elif case["order"] == "strided":
        image = proa.concat([image, image], -1)[..., : x.shape[-1]]
    mask = case["mask"] and "max" in case["kind"]
    if case["kind"].startswith("adaptive"):
        arguments = {"output_size": case["out"]}
    else:
        arguments = {
            "kernel_size": case["kernel"],
            "stride": case["stride"],
            "padding": [p for pair in case["padding"] for p in pair],
            "ceil_mode": case["ceil_mode"],
        }
    if "max" in case["kind"]:
        arguments["return_mask"] = mask
    elif not case["kind"].startswith("adaptive"):
        arguments["exclusive"] = case["exclusive"]
    # Not all functions have formats.
    last = case["last"] and n > 1 and case["kind"] != "adaptive_max"
    if last:
        arguments["data_format"] = {2: "NHWC", 3: "NDHWC"}[n]
        image = image.transpose([0, *range(2, n + 2), 1])
    out = getattr(F, f"{case['kind']}_pool{n}d")(image, **arguments)
    y, places = out if mask else (out, None)
    if last:
        y, places = (None if t is None else t.transpose([0, n + 1, *range(1, n + 1)]) for t in (y, places))
    g = proa.to_tensor(rng.standard_normal(y.shape), dtype=case["dtype"])
    y.backward(g)
    g = g.astype("float64").numpy()
    want_y, want_places, want_grad = expected(case, x, g)
    tolerance = TOLERANCE[case["dtype"]]
    got = y.astype("float64").numpy()
    if "max" in case["kind"]:
        np.testing.assert_array_equal(got, want_y, err_msg=str(case))
    else:
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want_y), err_msg=str(case))
        error = np.nan_to_num(abs(got - want_y) / (expected(case, abs(x), g)[0] + 1e-3))
        assert error.max(initial=0) <= tolerance, f"off by {error.max()}; {case}"
    if mask:
        np.testing.assert_array_equal(places.numpy(), want_places, err_msg=str(case))
    got, scale = leaf.grad.astype("float64").numpy(), expected(case, x, abs(g))[2]
    error = abs(got - want_grad) / (scale + 1e-3)
    assert np.max(error, initial=0) <= tolerance, f"the gradient is off by {np.max(error)}; {case}"


def run_many(count, seed, report=None):
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        case = draw(rng)
        try:
            run(case, rng)
        except Exception as e:
            raise AssertionError(f"case {i} of seed {seed}: {case}") from e
        if report:
            report(i)


@pytest.mark.parametrize("seed", range(6))
def test_sample(seed):
    run_many(30, seed)


def test_windows_behind_the_image():
    x = proa.ones([1, 3, 7, 7])
    y = F.avg_pool2d(x, 2, 2, [1, 1], ceil_mode=True)
    assert y.shape == [1, 3, 5, 5]
    assert np.isnan(y.numpy()[0, 0, 4]).all() and (y.numpy()[0, 0, :4, :4] == 1).all()
    row = F.avg_pool2d(x, 2, 2, [1, 1], ceil_mode=True, exclusive=False).numpy()[0, 0, 1]
    np.testing.assert_array_equal(row, [0.5, 1, 1, 1, 0])
    most, places = F.max_pool2d(x, 2, 2, [1, 1], ceil_mode=True, return_mask=True)
    assert (places.numpy()[0, 0, 4] == -1).all() and (most.numpy()[0, 0, 4] == np.finfo("float32").min).all()
    assert F.max_unpool2d(most, places, 2, 2, 1, output_size=[7, 7]).sum().item() == 3 * 16


def test_means_divide_by_what_is_inside_image_and_padding():
    x = proa.arange(16, dtype="float32").reshape([1, 1, 4, 4])
    y = F.avg_pool2d(x, 3, 3, 0, ceil_mode=True, exclusive=False)
    np.testing.assert_array_equal(y.numpy()[0, 0], [[5, 7], [13, 15]])


def test_of_values_unpooled_to_one_place_the_last_stays():
    x = proa.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]], stop_gradient=False)
    y = F.max_unpool2d(x, proa.to_tensor([[[[0, 5], [5, 0]]]], dtype="int32"), 2)
    expected = np.zeros((4, 4))
    expected[0, 0], expected[1, 1] = 4, 3
    np.testing.assert_array_equal(y.numpy()[0, 0], expected)
    (y * proa.arange(16, dtype="float32").reshape([1, 1, 4, 4])).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[0, 0], [[0, 5], [5, 0]])


if __name__ == "__main__":
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    run_many(count, seed, lambda i: i % 1000 == 999 and print(i + 1, flush=True))
    print(f"{count} cases of seed {seed}: as the reference")
