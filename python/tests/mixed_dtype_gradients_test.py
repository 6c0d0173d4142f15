"""Layers whose tensors differ in dtype: every gradient has the dtype of its leaf, and the values of float64."""

import itertools

import numpy as np
import pytest

import proa
import proa.nn as nn
import proa.nn.functional as F

DTYPES = ["float16", "bfloat16", "float32", "float64"]
ONE, ZERO = np.ones(4), np.zeros(4)


def batch_norm(x, w, b, **options):
    mean, variance = proa.to_tensor(ZERO, dtype=w.dtype), proa.to_tensor(ONE, dtype=w.dtype)
    return F.batch_norm(x, mean, variance, w, b, **options)


# name -> (function of the tensors, shapes of the first group of one dtype, shapes of the second)
CASES = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, 4, w, b), [[3, 4]], [[4], [4]]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, 1e-5, w, b), [[2, 4, 3, 3]], [[4], [4]]),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), [[2, 4, 3, 3]], [[4], [4]]),
    "batch_norm": (
        lambda x, w, b: batch_norm(x, w, b, training=True),
        [[2, 4, 3, 3]],
        [[4], [4]],
    ),
    "frozen batch_norm": (lambda x, w, b: batch_norm(x, w, b), [[2, 4, 3, 3]], [[4], [4]]),
    "batch_norm relu": (
        lambda x, w, b: batch_norm(x, w, b, training=True, relu=True),
        [[2, 4, 3, 3]],
        [[4], [4]],
    ),
    "frozen batch_norm relu": (
        lambda x, w, b: batch_norm(x, w, b, relu=True),
        [[2, 4, 3, 3]],
        [[4], [4]],
    ),
    "batch_norm residual": (
        lambda x, w, b, r: batch_norm(x, w, b, training=True, relu=True, residual=r),
        [[2, 4, 3, 3], [4], [4]],
        [[2, 4, 3, 3]],
    ),
    "frozen batch_norm residual": (
        lambda x, w, b, r: batch_norm(x, w, b, relu=True, residual=r),
        [[2, 4, 3, 3], [4], [4]],
        [[2, 4, 3, 3]],
    ),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b), [[2, 3, 4, 4]], [[4, 3, 3, 3], [4]]),
    "conv2d bias": (lambda x, w, b: F.conv2d(x, w, b), [[2, 3, 4, 4], [4, 3, 3, 3]], [[4]]),
    "conv2d_transpose": (lambda x, w, b: F.conv2d_transpose(x, w, b), [[2, 3, 4, 4]], [[3, 4, 3, 3], [4]]),
    "linear": (F.linear, [[3, 5]], [[5, 4], [4]]),
    "attention": (F.scaled_dot_product_attention, [[2, 3, 2, 4]], [[2, 3, 2, 4], [2, 3, 2, 4]]),
    "attention mask": (F.scaled_dot_product_attention, [[2, 3, 2, 4]] * 3, [[2, 2, 3, 3]]),
}


def gradients(function, values, dtypes):
    leaves = [proa.to_tensor(v, dtype=d, stop_gradient=False) for v, d in zip(values, dtypes)]
    out = function(*leaves)
    (out.astype("float64") * proa.to_tensor(np.linspace(-1, 1, out.size).reshape(out.shape))).sum().backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("case", CASES)
def test_gradients_have_the_dtypes_of_their_leaves(case):
    function, first, second = CASES[case]
    rng = np.random.default_rng(0)
    values = [np.round(rng.uniform(0.5, 1.5, s) * 16) / 16 for s in (*first, *second)]  # as float16 holds them
    expected = [g.numpy() for g in gradients(function, values, ["float64"] * len(values))]
    for a, b in itertools.product(DTYPES, DTYPES):
        dtypes = [a] * len(first) + [b] * len(second)
        tolerance = max({"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-4, "float64": 1e-4}[d] for d in (a, b))
        for grad, want, dtype in zip(gradients(function, values, dtypes), expected, dtypes):
            assert grad.dtype.name == dtype, f"{a}, {b}: {grad.dtype.name} for {dtype}"
            scale = max(1.0, abs(want).max())
            np.testing.assert_allclose(
                grad.astype("float64").numpy() / scale, want / scale, atol=tolerance, rtol=0, err_msg=f"{a}, {b}"
            )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("train", [False, True])
def test_autocast(dtype, train):
    net = nn.Sequential(
        nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Conv2D(4, 4, 1), nn.BatchNorm(4, act="relu"),
        nn.Flatten(), nn.Linear(36, 4), nn.LayerNorm(4),
    )  # fmt: skip
    (net.train if train else net.eval)()
    with proa.amp.auto_cast(dtype=dtype):
        out = net(proa.rand([2, 3, 5, 5]))
    out.astype("float32").sum().backward()
    for p in net.parameters():
        assert p.stop_gradient or p.grad.dtype == p.dtype  # the statistics have no gradient
