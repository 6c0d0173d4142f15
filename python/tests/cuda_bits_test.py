"""Elementwise ops of float32 on an NVIDIA GPU: the bits of the CPU, and the same ones each time (docs/gpu.md).

The loop goes over all ops whose kernel is made of a formula for both. `_LIBRARY` names those whose formulas call functions
of a mathematical library, which differs between the two: these are compared with a tolerance by places_test.py. Skipped
where there is no GPU.
"""

import numpy as np
import pytest

import proa
from ops.conformance import places, suite

pytestmark = pytest.mark.skipif(
    proa.device.cuda.device_count() == 0, reason="needs a build with CUDA, and an NVIDIA GPU"
)

_OPS = {
    name: op
    for name, op in suite.all_ops().items()
    if op.kernel is not None
    and op.kernel.elementwise
    and any(k.backend == "cuda" and k.elementwise for k in op.device_kernels)
}
# Exponentials, logarithms, trigonometry, powers, the error and gamma functions, and what is made of them.
_LIBRARY = frozenset(
    "acos acosh angle asin asinh atan atan2 atanh binary_cross_entropy celu cos cosh elu erf exp expm1 gelu gelu_backward "
    "kl_divergence log log10 log1p log2 logsigmoid mish pow selu sigmoid sigmoid_cross_entropy silu silu_backward sin sinh "
    "softplus stanh tan tanh tanhshrink".split()
)


def _float_samples(op):
    return [s for s in suite.samples_of(op) if "f32" in s.text and "f64" not in s.text]


def _same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _differences(op, here, there):
    out = []
    for sample in _float_samples(op):
        try:
            want = places.run(proa, op, sample, here)
        except Exception:  # pylint: disable=broad-except
            continue  # refused; places_test.py compares refusals
        got = places.run(proa, op, sample, there)
        for (name, _, a), (_, _, b) in zip(want, got):
            if name.startswith("result") and not _same_bits(_with_one_nan(a), _with_one_nan(b)):
                out.append(f"{sample.text}: {name}")
    return out


def _with_one_nan(a):
    """NaN of one kind: its sign and payload are nobody's promise."""
    a = np.ascontiguousarray(a)
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    return a


@pytest.mark.parametrize("name", sorted(_OPS))
def test_the_bits_of_the_cpu(name):
    differ = _differences(_OPS[name], "cpu", "gpu:0")
    if name in _LIBRARY:
        return
    assert not differ, f"{len(differ)} results have other bits: {differ[:5]}"


@pytest.mark.parametrize("name", sorted(_OPS))
def test_the_same_bits_each_time(name):
    differ = _differences(_OPS[name], "gpu:0", "gpu:0")
    assert not differ, f"{len(differ)} results have other bits the second time: {differ[:5]}"


def test_the_loop_sees_ops():
    assert len(_OPS) > 50
    assert _OPS.keys() > _LIBRARY
