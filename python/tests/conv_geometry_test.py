"""Convolutions of every geometry: forward and both gradients against NumPy in float64.

A seeded sample of kernels, strides, dilations, paddings, groups, channels, sizes, dtypes, memory orders, of one to
three dims, transposed or not. Buffers that oneDNN gets are guarded (FLAGS_guard_onednn_buffers), so that what it
writes behind them, or reads of memory that nobody set, is found. As a program it runs a sample of any size:

    python python/tests/conv_geometry_test.py COUNT [SEED]
"""

import itertools
import sys

import numpy as np
import pytest

import proa
import proa.nn.functional as F

# Of the sum of the absolute values of what is added up.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


# Reference ------------------------------------------------------------------------


class Reference:
    """A convolution of [N, C, ...] in NumPy: a sum over the taps of the kernel of products of matrices."""

    def __init__(self, case):
        self.case = case
        self.taps = list(itertools.product(*(range(k) for k in case["kernel"])))

    def _windows(self, tap, out):
        """For the padded image: where the tap is for each output position."""
        c = self.case
        starts = [t * d for t, d in zip(tap, c["dilation"])]
        return (
            slice(None),
            slice(None),
            *(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, out, c["stride"])),
        )

    def _padded(self, shape):
        return [shape[0], shape[1], *(n + a + b for n, (a, b) in zip(shape[2:], self.case["padding"]))]

    def _inside(self, shape):
        return (slice(None), slice(None), *(slice(a, a + n) for n, (a, _) in zip(shape[2:], self.case["padding"])))

    def _group(self, x):
        """[N, C, pixels...] as [groups, C / groups, N * pixels]."""
        g = self.case["groups"]
        x = np.moveaxis(x, 1, 0)
        return x.reshape(g, x.shape[0] // g, -1)

    def out_sizes(self, sizes):
        c = self.case
        return [
            (n + sum(p) - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(sizes, c["padding"], c["dilation"], c["kernel"], c["stride"])
        ]

    def forward(self, x, w):
        g = self.case["groups"]
        out = self.out_sizes(x.shape[2:])
        padded = np.zeros(self._padded(x.shape))
        padded[self._inside(x.shape)] = x
        y = np.zeros((g, w.shape[0] // g, x.shape[0] * int(np.prod(out))))
        for tap in self.taps:
            part = w[(slice(None), slice(None), *tap)].reshape(g, w.shape[0] // g, w.shape[1])
            y += part @ self._group(padded[self._windows(tap, out)])
        return np.moveaxis(y.reshape(w.shape[0], x.shape[0], *out), 0, 1)

    def input_grad(self, shape, w, y):
        """`y` may lack the last positions of a dim."""
        g = self.case["groups"]
        padded = np.zeros(self._padded(shape))
        grad = self._group(y)
        for tap in self.taps:
            part = w[(slice(None), slice(None), *tap)].reshape(g, w.shape[0] // g, w.shape[1])
            x = part.transpose(0, 2, 1) @ grad
            x = x.reshape(shape[1], shape[0], *y.shape[2:])
            padded[self._windows(tap, y.shape[2:])] += np.moveaxis(x, 0, 1)
        return padded[self._inside(shape)]

    def weight_grad(self, x, shape, y):
        padded = np.zeros(self._padded(x.shape))
        padded[self._inside(x.shape)] = x
        grad = self._group(y)
        w = np.zeros(shape)
        for tap in self.taps:
            part = grad @ self._group(padded[self._windows(tap, y.shape[2:])]).transpose(0, 2, 1)
            w[(slice(None), slice(None), *tap)] = part.reshape(shape[:2])
        return w


# Cases ------------------------------------------------------------------------------


def draw(rng):
    """A case: what the convolution is given, but for the values."""

    def pick(*values):
        return values[rng.integers(len(values))]

    n = pick(1, 2, 2, 2, 2, 3)
    case = {
        "dims": n,
        "transposed": pick(False, False, True),
        "dtype": pick("float32", "float32", "float32", "bfloat16", "float16", "float64"),
        "kernel": [int(pick(1, 1, 2, 3, 3, 4, 5, 6, 7)) for _ in range(n)],
        "stride": [int(pick(1, 1, 2, 2, 3, 4)) for _ in range(n)],
        "dilation": [int(pick(1, 1, 1, 2, 3)) for _ in range(n)],
        "groups": int(pick(1, 1, 1, 2, 3, 8)),
        "batch": int(pick(1, 1, 2, 3, 5)),
        "last": bool(pick(False, False, True)),
        "bias": pick("none", "full", "one"),
        "order": pick("contiguous", "contiguous", "channels_last", "strided", "expanded"),
    }
    if pick(True, False):  # a kernel of equal sides, as most are
        case["kernel"], case["stride"] = case["kernel"][:1] * n, case["stride"][:1] * n
    extent = [d * (k - 1) + 1 for d, k in zip(case["dilation"], case["kernel"])]
    most = [min(e + 1, 6) for e in extent]
    case["padding"] = [[int(rng.integers(m)), int(rng.integers(m))] for m in most]
    if pick(True, False):
        case["padding"] = [[0, 0]] * n
    if pick(True, True, False):
        case["padding"] = [[p[0], p[0]] for p in case["padding"]]
    # Depthwise, odd and even numbers of channels; whole and partial vectors.
    per = [int(pick(1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 33, 64)) for _ in range(2)]
    if case["groups"] > 1:
        per = [min(p, 9) for p in per]
        if pick(True, False):
            per = [1, pick(1, 1, 2)]
    case["in"], case["out"] = per[0] * case["groups"], int(per[1]) * case["groups"]
    largest = {1: 120, 2: 24, 3: 9}[n]
    case["size"] = [max(1, e - sum(p)) + int(rng.integers(largest)) for e, p in zip(extent, case["padding"])]
    case["output_padding"] = [0] * n
    case["algorithm"] = pick("EXPLICIT", "EXPLICIT", "SAME", "VALID")
    if case["transposed"] and pick(True, False):
        case["output_padding"] = [int(rng.integers(max(s, d))) for s, d in zip(case["stride"], case["dilation"])]
    return case


def _values(rng, shape, dtype):
    """Values that the dtype holds, in float64."""
    x = rng.standard_normal(shape)
    return proa.to_tensor(x, dtype=dtype).astype("float64").numpy()


def _leaf(values, case):
    """A leaf of these values; and the image for the op, which may lie in memory in any way."""
    leaf = proa.to_tensor(values, dtype=case["dtype"], stop_gradient=False)
    x = leaf
    rank = len(values.shape)
    if case["order"] == "channels_last":
        x = x.transpose([0, *range(2, rank), 1]) * 1.0
        x = x.transpose([0, rank - 1, *range(1, rank - 1)])
    elif case["order"] == "strided":
        x = proa.concat([x, x], -1)[..., : values.shape[-1]]
    elif case["order"] == "expanded":
        x = x[:1].expand(list(values.shape))
    return leaf, x


def _to_last(x):
    rank = len(x.shape)
    return x.transpose([0, *range(2, rank), 1])


def _to_first(x):
    rank = len(x.shape)
    return x.transpose([0, rank - 1, *range(1, rank - 1)])


def _check(what, got, expected, scale, case):
    tolerance = TOLERANCE[case["dtype"]]
    got = got.astype("float64").numpy()
    assert got.shape == expected.shape, f"{what} is {got.shape}, not {expected.shape}; {case}"
    error = np.abs(got - expected)
    worst = np.max(error / (scale + 1e-3), initial=0.0) if error.size else 0.0
    assert worst <= tolerance, f"{what} is off by {worst:.3g} (of sums of absolute values); {case}"


def _same_padding(case, sizes):
    pairs = []
    for size, k, s, d in zip(sizes, case["kernel"], case["stride"], case["dilation"]):
        total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
        pairs.append([total // 2, total - total // 2])
    return pairs


def run(case, rng):
    """Forward and backward of one case, against the reference; the gradients, for comparisons of bits."""
    algorithm = case.get("algorithm", "EXPLICIT")
    if algorithm == "SAME":
        sizes = [max(1, s // t) for s, t in zip(case["size"], case["stride"])] if case["transposed"] else case["size"]
        case = dict(case, padding=_same_padding(case, sizes))
    elif algorithm == "VALID":
        extents = [d * (k - 1) + 1 for d, k in zip(case["dilation"], case["kernel"])]
        sizes = [max(e, s) for e, s in zip(extents, case["size"])]
        case = dict(case, padding=[[0, 0]] * case["dims"], size=sizes)
    n, reference = case["dims"], Reference(case)
    groups, transposed = case["groups"], case["transposed"]
    kernel = case["kernel"]
    if transposed:
        # x takes the place of the convolution's result.
        x_channels, w_shape, y_channels = case["out"], [case["out"], case["in"] // groups, *kernel], case["in"]
        sizes = [max(1, s // t) for s, t in zip(case["size"], case["stride"])]
        y_sizes = [
            (s - 1) * t - sum(p) + d * (k - 1) + 1 + e
            for s, t, p, d, k, e in zip(
                sizes, case["stride"], case["padding"], case["dilation"], kernel, case["output_padding"]
            )
        ]
        if min(y_sizes) < 1:
            return None
    else:
        x_channels, w_shape, y_channels = case["in"], [case["out"], case["in"] // groups, *kernel], case["out"]
        sizes = case["size"]
        y_sizes = reference.out_sizes(sizes)
    xv = _values(rng, (case["batch"], x_channels, *sizes), case["dtype"])
    if case["order"] == "expanded":
        xv = np.broadcast_to(xv[:1], xv.shape)
    wv = _values(rng, w_shape, case["dtype"])
    gv = _values(rng, (case["batch"], y_channels, *y_sizes), case["dtype"])
    bv = _values(rng, {"none": (0,), "full": (y_channels,), "one": (1,)}[case["bias"]], case["dtype"])

    leaf, x = _leaf(xv, case)
    w = proa.to_tensor(wv, dtype=case["dtype"], stop_gradient=False)
    b = proa.to_tensor(bv, dtype=case["dtype"], stop_gradient=False) if case["bias"] != "none" else None
    name = f"conv{n}d" + ("_transpose" if transposed else "")
    formats = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
    arguments = dict(
        stride=case["stride"],
        padding=[p for pair in case["padding"] for p in pair] if algorithm == "EXPLICIT" else algorithm,
        dilation=case["dilation"],
        groups=groups,
        data_format=formats[case["last"]],
    )
    if transposed:
        arguments["output_padding"] = case["output_padding"]
    y = getattr(F, name)(_to_last(x) if case["last"] else x, w, b, **arguments)
    y = _to_first(y) if case["last"] else y
    y.backward(proa.to_tensor(gv, dtype=case["dtype"]))

    def forward(xv, wv):
        return reference.input_grad(gv.shape, wv, xv) if transposed else reference.forward(xv, wv)

    def input_grad(gv, wv):
        if not transposed:
            return reference.input_grad(xv.shape, wv, gv)
        return reference.forward(gv, wv)[tuple(slice(0, s) for s in xv.shape)]

    def weight_grad(xv, gv):
        return reference.weight_grad(gv, w_shape, xv) if transposed else reference.weight_grad(xv, w_shape, gv)

    bias = bv.reshape(1, -1, *[1] * n) if b is not None else 0.0
    _check("the result", y, forward(xv, wv) + bias, forward(abs(xv), abs(wv)) + abs(bias), case)
    if case["order"] == "expanded":
        expected, scale = input_grad(gv, wv).sum(0, keepdims=True), input_grad(abs(gv), abs(wv)).sum(0, keepdims=True)
        _check("the gradient of x", leaf.grad[:1], expected, scale, case)
    else:
        _check("the gradient of x", leaf.grad, input_grad(gv, wv), input_grad(abs(gv), abs(wv)), case)
    _check("the gradient of the weight", w.grad, weight_grad(xv, gv), weight_grad(abs(xv), abs(gv)), case)
    if b is not None:
        axes = tuple(d for d in range(n + 2) if d != 1 or case["bias"] == "one")
        _check(
            "the gradient of the bias", b.grad, gv.sum(axes).reshape(b.shape), abs(gv).sum(axes).reshape(b.shape), case
        )
    return [t.numpy() for t in (y, leaf.grad, w.grad)]


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


@pytest.fixture
def guarded():
    proa.set_flags({"FLAGS_guard_onednn_buffers": True})
    yield
    proa.set_flags({"FLAGS_guard_onednn_buffers": False})


@pytest.mark.parametrize("seed", range(8))
def test_sample(guarded, seed):
    run_many(35, seed)


def test_strided_pointwise():
    """oneDNN's kernels for these wrote past their scratch memory; now they are not asked for them."""
    rng = np.random.default_rng(0)
    for size, channels in itertools.product((8, 17, 64), (3, 4, 8, 16)):
        case = {
            "dims": 2, "transposed": False, "dtype": "float32", "kernel": [1, 1], "stride": [2, 2], "dilation": [1, 1],
            "groups": 1, "batch": 2, "last": False, "bias": "none", "order": "contiguous", "padding": [[0, 0]] * 2,
            "in": channels, "out": 8, "size": [size, size], "output_padding": [0, 0],
        }  # fmt: skip
        for case["transposed"] in (False, True):
            run(case, rng)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_taps_that_see_padding_only(dtype):
    x, w = proa.ones([1, 8, 1, 1], dtype), proa.ones([8, 8, 3, 3], dtype)
    w.stop_gradient = False
    for groups in (1, 2, 8):
        v = proa.ones([8, 8 // groups, 3, 3], dtype)
        v.stop_gradient = False
        F.conv2d(x, v, stride=2, padding=1, groups=groups).sum().backward()
        expected = np.zeros(v.shape)
        expected[:, :, 1, 1] = 1
        np.testing.assert_array_equal(v.grad.astype("float32").numpy(), expected)


@pytest.mark.parametrize(
    "shape, weight, stride, padding",
    [
        ([8, 16, 28, 28], [32, 16, 3, 3], 1, 1),
        ([2, 64, 20, 20], [192, 64, 3, 3], 2, 1),  # parts of channels
        ([1, 3, 112, 112], [64, 3, 7, 7], 2, 3),  # parts of rows
        ([16, 64, 14, 14], [256, 64, 1, 1], 1, 0),  # a product
        ([8, 32, 28, 28], [32, 1, 3, 3], 1, 1),  # depthwise
        ([2, 24, 56, 56], [24, 1, 7, 7], 1, 3),  # with parts of rows
        ([4, 200, 20, 20], [200, 1, 5, 5], 2, 2),  # with parts of channels
        ([8, 512, 14, 14], [512, 512, 1, 1], 1, 0),  # a product of padded copies
        ([8, 32, 2000], [64, 32, 5], 1, 2),  # one dim
        ([2, 16, 12, 20, 20], [32, 16, 3, 3, 3], 1, 1),  # three dims
        ([2, 64, 8, 16, 16], [128, 64, 1, 1, 1], 2, 0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_any_number_of_threads_gives_the_same_bits(shape, weight, stride, padding, dtype):
    proa.seed(0)
    x, w = proa.randn(shape).astype(dtype), proa.randn(weight).astype(dtype)
    groups = shape[1] // weight[1]
    before = proa._C.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3, 5):
            proa._C.set_num_threads(threads)
            v = w.clone().detach()
            v.stop_gradient = False
            conv = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(shape)]
            conv(x, v, stride=stride, padding=padding, groups=groups).sum().backward()
            found.append(v.grad.astype("float32").numpy())
    finally:
        proa._C.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


if __name__ == "__main__":
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    proa.set_flags({"FLAGS_guard_onednn_buffers": True})
    run_many(count, seed, lambda i: i % 1000 == 999 and print(i + 1, flush=True))
    print(f"{count} cases of seed {seed}: as the reference")
