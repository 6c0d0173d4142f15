"""References of random tensors: the Philox generator and each distribution's map, in NumPy.

Every sample gives a seed, so that results are functions of the arguments.
"""

import math

import numpy as np

TOLERANCE = {
    "gaussian": {"float32": (1e-4, 1e-5), "float16": (4e-3, 4e-3)},
    "exponential": {"float32": (1e-5, 1e-6)},
    "truncated_gaussian": {"float32": (1e-5, 1e-6), "float64": (1e-9, 1e-10)},
}
_M32 = np.uint64(0xFFFFFFFF)


def philox(seed, blocks):
    """[blocks, 4] words of the Philox4x32-10 sequence of a seed, from its beginning."""
    i = np.arange(blocks, dtype=np.uint64)
    c = [i & _M32, i >> np.uint64(32), np.zeros_like(i), np.zeros_like(i)]
    seed %= 2**64
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a = c[0] * np.uint64(0xD2511F53)
        b = c[2] * np.uint64(0xCD9E8D57)
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]),
            b & _M32,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]),
            a & _M32,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, 1)


def _words(seed, n):
    return philox(seed, -(-n // 4)).reshape(-1)[:n]


def _uniform(seed, shape, dtype):
    """Numbers in [0, 1): 24 bits of one word, or 53 of two for float64."""
    n = math.prod(shape)
    if dtype == "float64":
        return (_bits64(seed, n) >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53
    return (_words(seed, n) >> np.uint64(8)).astype(np.float64).reshape(shape) * 2.0**-24


def _bits64(seed, n):
    w = _words(seed, 2 * n).reshape(-1, 2)
    return w[:, 0] << np.uint64(32) | w[:, 1]


def reference_uniform(shape, dtype="float32", min=-1.0, max=1.0, seed=0, place=None):
    return min + _uniform(seed, shape, dtype) * (max - min)


def reference_gaussian(shape, dtype="float32", mean=0.0, std=1.0, seed=0, place=None):
    n = math.prod(shape)
    if dtype == "float64":
        r = philox(seed, -(-n // 2))
        pair = r.reshape(-1, 2, 2)
        u = (pair[..., 0] << np.uint64(32) | pair[..., 1]) >> np.uint64(11)
        u = u.astype(np.float64) * 2.0**-53
        u, v = u[:, 0] + 2.0**-53, u[:, 1]
    else:
        r = philox(seed, -(-n // 4)).reshape(-1, 2)
        u = (r[:, 0].astype(np.float64) + 1) * 2.0**-32
        v = (r[:, 1] >> np.uint64(8)).astype(np.float64) * 2.0**-24
    radius = np.sqrt(-2 * np.log(u))
    z = np.stack([radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)], 1)
    return mean + std * z.reshape(-1)[:n].reshape(shape)


def _inverse_normal(p):
    """By bisection of erf, which is slow and sure."""
    low, high = np.full_like(p, -9.0), np.full_like(p, 9.0)
    erf = np.vectorize(math.erf, otypes=[np.float64])
    for _ in range(80):
        middle = (low + high) / 2
        below = erf(middle) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def reference_truncated_gaussian(shape, dtype="float32", mean=0.0, std=1.0, a=-2.0, b=2.0, seed=0, place=None):
    low, high = math.erf(a / math.sqrt(2)), math.erf(b / math.sqrt(2))
    p = low + (high - low) * _uniform(seed, shape, dtype)
    return mean + std * math.sqrt(2) * _inverse_normal(p) if p.size else p


def reference_randint(low=0, high=None, shape=(1,), dtype="int64", seed=0, place=None):
    low, high = (0, low) if high is None else (low, high)
    bits = _bits64(seed, math.prod(shape))
    return np.array([low + (int(b) * (high - low) >> 64) for b in bits], np.int64).reshape(shape)


def reference_randperm(n, dtype="int64", seed=0, place=None):
    order = list(range(n))
    bits = _bits64(seed, n)
    for i in range(n - 1, 0, -1):
        j = int(bits[i]) * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def check_bernoulli(ops):
    """Ones where the uniform number is below the probability; certain at 0 and 1."""
    p = ops.full([20000], 0.3, "float64")
    x = ops.bernoulli(p, 5).numpy()
    np.testing.assert_array_equal(x, _uniform(5, (20000,), "float64") < 0.3)
    assert ops.bernoulli(ops.full([100], 1.0, "float32"), 5).numpy().all()
    assert not ops.bernoulli(ops.full([100], 0.0, "float32"), 5).numpy().any()


def reference_multinomial(x, num_samples=1, replacement=False, seed=0):
    rows = x.reshape(-1, x.shape[-1])
    n = rows.shape[1]
    per_row = num_samples if replacement else n
    u = (_bits64(seed, len(rows) * per_row) >> np.uint64(11)).astype(np.float64).reshape(-1, per_row) * 2.0**-53
    out = []
    for w, v in zip(rows, u):
        if replacement:
            sums = np.cumsum(w)
            out.append(np.searchsorted(sums, v * w.sum(), "right"))
        else:
            out.append(np.argsort(-np.log(1 - v) / w, kind="stable")[:num_samples])
    return np.array(out, np.int64).reshape(x.shape[:-1] + (num_samples,))


def check_exponential(ops):
    """Mean and variance of many numbers, by the seed."""
    zeros = ops.full([20000], 0.0, "float64")
    x = ops.exponential(zeros, 2.0, 5).numpy()
    assert (x >= 0).all() and abs(x.mean() - 0.5) < 0.02 and abs(x.var() - 0.25) < 0.03
    np.testing.assert_allclose(x, -np.log1p(-_uniform(5, (20000,), "float64")) / 2, rtol=1e-12)


def check_poisson(ops):
    """Mean and variance of many numbers, below and above the change of method."""
    for mean in (0.5, 9.0, 11.0, 300.0):
        x = ops.poisson(ops.full([20000], mean, "float64"), 5).numpy()
        assert (x == np.floor(x)).all() and (x >= 0).all()
        assert abs(x.mean() - mean) < 5 * math.sqrt(mean / 20000), (mean, x.mean())
        assert abs(x.var() / mean - 1) < 0.06, (mean, x.var())
