"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import math

import numpy as np

from proa import _C
from proa.onnx.import_rule import dtype_named, flat, numbers, refuse, scalar, to

ops = _C.ops


def from_ConstantOfShape(shape: numbers, *, value=None):
    number = 0.0 if value is None else value.tensor().item()
    return ops.full(flat(shape), number, "float32" if value is None else value.dtype)


def from_EyeLike(x, *, dtype=None, k=0):
    if len(x.shape) != 2:
        refuse("it takes matrices")
    rows, columns = x.shape
    where = ops.unsqueeze(ops.arange(0, columns, 1, "int64"), [0]) - ops.unsqueeze(ops.arange(0, rows, 1, "int64"), [1])
    return to(ops.equal(where, ops.full([], k, "int64")), x.dtype if dtype is None else dtype_named(dtype))


def from_Range(start: numbers, limit: numbers, delta: numbers):
    numbers_of = [scalar(n) for n in (start, limit, delta)]
    if numbers_of[2] == 0:
        refuse("delta is 0")
    dtype = next((n.dtype.name for n in (start, limit, delta) if np.asarray(n).dtype != object), "int64")
    return ops.arange(*numbers_of, dtype)


def _seed(seed):
    return 0 if seed is None else int(seed) & 0x7FFFFFFF or 1


def from_RandomNormal(*, shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    return ops.gaussian(list(shape), dtype_named(dtype), mean, scale, _seed(seed))


def from_RandomNormalLike(x, *, dtype=None, mean=0.0, scale=1.0, seed=None):
    return ops.gaussian(list(x.shape), x.dtype if dtype is None else dtype_named(dtype), mean, scale, _seed(seed))


def from_RandomUniform(*, shape, dtype=1, low=0.0, high=1.0, seed=None):
    return ops.uniform(list(shape), dtype_named(dtype), low, high, _seed(seed))


def from_RandomUniformLike(x, *, dtype=None, low=0.0, high=1.0, seed=None):
    return ops.uniform(list(x.shape), x.dtype if dtype is None else dtype_named(dtype), low, high, _seed(seed))


def from_Bernoulli(x, *, dtype=None, seed=None):
    return to(ops.bernoulli(x, _seed(seed)), x.dtype if dtype is None else dtype_named(dtype))


def from_Multinomial(x, *, dtype=6, sample_size=1, seed=None):
    return to(ops.multinomial(ops.softmax(x, -1), sample_size, True, _seed(seed)), dtype_named(dtype))


def _window(*cosines):
    """A sum of cosines over a window."""

    def rule(size: numbers, *, output_datatype=1, periodic=1):
        n = scalar(size)
        dtype = dtype_named(output_datatype)
        at = ops.arange(0, n, 1, "int64")
        phase = to(at, "float64") * (2 * math.pi / (n if periodic else max(n - 1, 1)))
        total = ops.full_like(phase, cosines[0])
        for k, factor in enumerate(cosines[1:], 1):
            total = total + ops.cos(phase * float(k)) * factor
        return to(total, dtype)

    return rule


from_HannWindow = _window(0.5, -0.5)
from_HammingWindow = _window(25 / 46, -21 / 46)
from_BlackmanWindow = _window(0.42, -0.5, 0.08)
