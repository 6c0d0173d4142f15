"""References of convolutions by rules, pair by pair."""

import numpy as np

from ops.conformance.samples import Sample


def _offsets(counts):
    return np.repeat(np.arange(len(counts)), counts)


def reference_rulebook_matmul(x, weight, source, target, counts, rows):
    rows = rows if isinstance(rows, int) else rows[0]
    out = np.zeros((rows, weight.shape[2]), np.result_type(x, weight))
    for i, j, k in zip(source, target, _offsets(counts), strict=True):
        out[j] += x[i] @ weight[k]
    return out


def reference_rulebook_weight_grad(x, dy, source, target, counts):
    out = np.zeros((len(counts), x.shape[1], dy.shape[1]), np.result_type(x, dy))
    for i, j, k in zip(source, target, _offsets(counts), strict=True):
        out[k] += np.outer(x[i], dy[j])
    return out


def _rules():
    rng = np.random.default_rng(14)
    for n, c, m, rows, counts in ((4, 3, 2, 5, [2, 0, 3]), (30, 5, 7, 20, [40, 300, 1]), (1, 1, 1, 1, [2])):
        pairs = sum(counts)
        x, dy, weight = (rng.uniform(-1, 1, dims) for dims in ((n, c), (rows, m), (len(counts), c, m)))
        yield x, weight, dy, rng.integers(0, n, pairs), rng.integers(0, rows, pairs), np.array(counts, np.int64)


def samples_rulebook_matmul():
    for x, weight, dy, source, target, counts in _rules():
        yield Sample((x, weight, source, target, counts, [len(dy)]), {}, f"counts {counts}")


def samples_rulebook_weight_grad():
    for x, _, dy, source, target, counts in _rules():
        yield Sample((x, dy, source, target.astype(np.int32), counts), {}, f"counts {counts}")
