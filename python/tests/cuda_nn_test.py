"""Ops of networks on an NVIDIA GPU give what they give on the CPU, gradients included.

Sizes are those at which kernels take other ways: rows longer than registers, rows that 16 bytes do not divide, channels
first and last, few rows and many. Skipped where there is no GPU; the samples of the conformance suite are the small cases.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from proa._C import ops

import proa
from proa.nn import functional as F

pytestmark = pytest.mark.skipif(
    proa.device.cuda.device_count() == 0, reason="needs a build with CUDA, and an NVIDIA GPU"
)

# Relative to the largest element of a result; the CPU rounds in other places.
_TOLERANCES = {"float32": 2e-4, "float64": 1e-10, "bfloat16": 4e-2, "float16": 5e-3}


def _numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def _labels(n, *shape):
    return np.random.default_rng(1).integers(0, n, shape)


def _run(place, function, arrays, dtype):
    """Results of a function, and the gradients of its floating inputs, as float64 arrays."""
    proa.set_device(place)
    proa.seed(7)
    tensors = [proa.to_tensor(a) for a in arrays]
    tensors = [t.astype(dtype) if t.is_floating_point() else t for t in tensors]
    leaves = [t for t in tensors if t.is_floating_point()]
    for t in leaves:
        t.stop_gradient = False
    results = function(*tensors)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    of = [r for r in results if not r.stop_gradient]
    weights = [proa.to_tensor(np.cos(np.arange(r.size)).reshape(r.shape)).astype(r.dtype) for r in of]
    proa.autograd.backward(of, weights)
    return [t.astype("float64").numpy() for t in results + [t.grad for t in leaves if t.grad is not None]]


_CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {}

for _n in (1, 7, 33, 64, 1000, 1024, 5003, 40000):
    _CASES[f"softmax of {_n}"] = (lambda x: F.softmax(x), [_numbers(5, _n)])
    _CASES[f"log_softmax of {_n}"] = (lambda x: F.log_softmax(x), [_numbers(5, _n)])
    _CASES[f"layer_norm of {_n}"] = (
        lambda x, w, b: F.layer_norm(x, [x.shape[-1]], w, b),
        [_numbers(70, _n) + 3, _numbers(_n, seed=1), _numbers(_n, seed=2)],
    )
_CASES |= {
    "layer_norm of many rows": (
        lambda x, w, b: F.layer_norm(x, [64], w, b),
        [_numbers(9000, 64), _numbers(64, seed=1), _numbers(64, seed=2)],
    ),
    "softmax of columns": (lambda x: F.softmax(x, axis=1), [_numbers(3, 77, 50)]),
    "log_softmax of few columns": (lambda x: F.log_softmax(x, axis=0), [_numbers(3000, 3)]),
    "cross_entropy": (lambda x, y: F.cross_entropy(x, y, reduction="none"), [_numbers(40, 1000), _labels(1000, 40, 1)]),
    "cross_entropy that ignores": (
        lambda x, y: F.cross_entropy(x, y, ignore_index=1, reduction="none"),
        [_numbers(40, 3), _labels(3, 40, 1)],
    ),
    "cross_entropy of soft labels": (
        lambda x, y: F.cross_entropy(x, y.detach(), soft_label=True, reduction="none"),
        [_numbers(40, 999), np.abs(_numbers(40, 999, seed=1))],
    ),
    "cross_entropy along dim 1": (
        lambda x, y: F.cross_entropy(x, y, axis=1, reduction="none"),
        [_numbers(4, 10, 33), _labels(10, 4, 33)],
    ),
    "nll_loss": (lambda x, y: F.nll_loss(x, y), [_numbers(40, 10), _labels(10, 40)]),
    "conv2d of 3 channels": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=3),
        [_numbers(2, 3, 64, 64), _numbers(64, 3, 7, 7, seed=1)],
    ),
    "conv2d of odd channels": (lambda x, w: F.conv2d(x, w), [_numbers(2, 5, 9, 9), _numbers(7, 5, 3, 3, seed=1)]),
    "conv2d of one tap": (lambda x, w: F.conv2d(x, w), [_numbers(2, 64, 14, 14), _numbers(128, 64, 1, 1, seed=1)]),
    "conv1d": (
        lambda x, w, b: F.conv1d(x, w, b, padding=[2, 1]),
        [_numbers(3, 8, 50), _numbers(12, 8, 4, seed=1), _numbers(12, seed=2)],
    ),
    "conv3d": (
        lambda x, w, b: F.conv3d(x, w, b, padding=1, stride=2),
        [_numbers(2, 8, 7, 9, 10), _numbers(12, 8, 3, 3, 3, seed=1), _numbers(12, seed=2)],
    ),
    "conv2d_transpose": (
        lambda x, w, b: F.conv2d_transpose(x, w, b, stride=2, padding=1, output_padding=1),
        [_numbers(2, 16, 9, 9), _numbers(16, 8, 3, 3, seed=1), _numbers(8, seed=2)],
    ),
    "conv1d_transpose": (
        lambda x, w, b: F.conv1d_transpose(x, w, b, stride=3),
        [_numbers(2, 16, 9), _numbers(16, 8, 4, seed=1), _numbers(8, seed=2)],
    ),
    "adaptive_max_pool2d": (
        lambda x: F.adaptive_max_pool2d(x, [5, 3], return_mask=True),
        [_numbers(3, 16, 20, 17)],
    ),
    "max_pool2d with places": (lambda x: F.max_pool2d(x, 3, 2, 1, return_mask=True), [_numbers(3, 16, 20, 17)]),
    "dropout": (lambda x: F.dropout(x, 0.3), [_numbers(1000, 37)]),
    "dropout of whole vectors": (lambda x: F.dropout(x, 0.7), [_numbers(512, 512)]),
}

_WINDOWS: tuple[dict[str, Any], ...] = (
    {},
    {"stride": 2, "padding": 1},
    {"padding": [1, 0, 2, 3]},
    {"dilation": 2, "padding": 2},
    {"padding": "SAME", "stride": 2},
    {"groups": 4, "padding": 1},
    {"groups": 16, "padding": 1},
)
for _k in _WINDOWS:
    for _format, _shape in (("NCHW", (4, 16, 23, 19)), ("NHWC", (4, 23, 19, 16))):
        _CASES[f"conv2d {_format} {_k}"] = (
            lambda x, w, b, k=_k, f=_format: F.conv2d(x, w, b, data_format=f, **k),
            [_numbers(*_shape), _numbers(32, 16 // _k.get("groups", 1), 3, 3, seed=1), _numbers(32, seed=2)],
        )


def _batch_norm(x, w, b, training, data_format):
    zeros, ones = proa.zeros(w.shape), proa.ones(w.shape)
    return F.batch_norm(x, zeros, ones, w, b, training=training, data_format=data_format)


for _format, _shape in (
    ("NCHW", (6, 10, 13, 11)),
    ("NHWC", (6, 13, 11, 16)),
    ("NCHW", (5, 2048, 7, 7)),
    ("NHWC", (8, 56, 56, 64)),
):
    _channels = _shape[1 if _format == "NCHW" else 3]
    for _training in (True, False):
        _CASES[f"batch_norm {_format} {_shape} {_training}"] = (
            lambda x, w, b, t=_training, f=_format: _batch_norm(x, w, b, t, f),
            [_numbers(*_shape) * 2 + 5, _numbers(_channels, seed=1), _numbers(_channels, seed=2)],
        )

for _format, _shape in (("NCHW", (3, 16, 20, 17)), ("NHWC", (3, 20, 17, 16))):
    for _k in (
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 2},
        {"kernel_size": [3, 2], "stride": [2, 3], "ceil_mode": True},
    ):
        for _pool in (F.max_pool2d, F.avg_pool2d):
            _CASES[f"{_pool.__name__} {_format} {_k}"] = (
                lambda x, p=_pool, k=_k, f=_format: p(x, data_format=f, **k),
                [_numbers(*_shape)],
            )
    for _size in (1, 7, [5, 3]):
        _CASES[f"adaptive_avg_pool2d {_format} {_size}"] = (
            lambda x, s=_size, f=_format: F.adaptive_avg_pool2d(x, s, data_format=f),
            [_numbers(*_shape)],
        )

for _l, _s, _d in ((3, 5, 4), (128, 128, 64), (300, 700, 8), (1, 1000, 64), (33, 5003, 16)):
    _inputs = [_numbers(2, _l, 3, _d), _numbers(2, _s, 3, _d, seed=1), _numbers(2, _s, 3, _d, seed=2)]
    _mask = np.tril(np.full((_l, _s), 2.0)) - 2
    _CASES[f"attention {_l} {_s} {_d}"] = (lambda q, k, v: ops.attention(q, k, v, None, 0.3), _inputs)
    _CASES[f"attention {_l} {_s} {_d} with a mask"] = (
        lambda q, k, v, m=_mask: ops.attention(q, k, v, proa.to_tensor(m).astype(q.dtype), 0.3),
        _inputs,
    )


@pytest.mark.parametrize("dtype", _TOLERANCES)
@pytest.mark.parametrize("what", _CASES)
def test_as_on_the_cpu(what, dtype):
    function, arrays = _CASES[what]
    try:
        expected, found = (_run(place, function, arrays, dtype) for place in ("cpu", "gpu:0"))
    finally:
        proa.set_device("cpu")
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        bound = _TOLERANCES[dtype] * max(1.0, np.nanmax(np.abs(e), initial=0))
        np.testing.assert_allclose(f, e, rtol=0, atol=bound)


def test_a_label_that_is_no_class_is_an_error_of_the_call_that_waits():
    proa.set_device("gpu:0")
    try:
        x, label = proa.to_tensor(_numbers(3, 5)), proa.to_tensor(np.array([[1], [5], [2]]))
        with pytest.raises(IndexError, match="index 5 at flat position 1 is out of range for dim 1 of size 5"):
            F.cross_entropy(x, label, reduction="none").numpy()
        assert np.isfinite(F.cross_entropy(x, label * 0, reduction="none").numpy()).all()
    finally:
        proa.set_device("cpu")
