"""References of segments, row by row; richer ids than text samples can say."""

import numpy as np

from ops.conformance.samples import Sample


def _groups(x, ids):
    count = int(ids[-1]) + 1 if len(ids) else 0
    return [x[ids == k] for k in range(count)]


def _reduced(x, ids, f):
    rows = [f(group) if len(group) else np.zeros(x.shape[1:], x.dtype) for group in _groups(x, ids)]
    return np.array(rows, x.dtype).reshape((len(rows), *x.shape[1:]))


def reference_segment_sum(x, segment_ids):
    return _reduced(x, segment_ids, lambda rows: rows.sum(0))


def reference_segment_mean(x, segment_ids):
    return _reduced(x, segment_ids, lambda rows: rows.mean(0))


def reference_segment_max(x, segment_ids):
    return _reduced(x, segment_ids, lambda rows: rows.max(0))


def reference_segment_min(x, segment_ids):
    return _reduced(x, segment_ids, lambda rows: rows.min(0))


def reference_segment_mean_grad(dy, segment_ids):
    counts = np.bincount(segment_ids, minlength=len(dy)) if len(segment_ids) else np.zeros(len(dy))
    return dy[segment_ids] / counts[segment_ids].reshape((-1,) + (1,) * (dy.ndim - 1))


def _samples(rows=True):
    rng = np.random.default_rng(3)
    for ids in ([0, 0, 1, 3, 3, 3], [2, 2], [0, 1, 2], [5]):
        count = len(ids) if rows else ids[-1] + 1
        x = rng.permutation(count * 3).reshape(count, 3) * 0.25
        yield Sample((x, np.array(ids, np.int64)), {}, f"ids {ids}")
    ids = np.sort(rng.integers(0, 50, 700)).astype(np.int32)
    x = rng.permutation((len(ids) if rows else ids[-1] + 1) * 2).reshape(-1, 2) * 0.25
    yield Sample((x, ids), {}, "many ids")


samples_segment_sum = samples_segment_mean = samples_segment_max = samples_segment_min = _samples


def samples_segment_mean_grad():
    yield from _samples(rows=False)


def gradients_segment_max():
    """Each of equal elements has the whole gradient."""
    x, ids = np.array([[1.0], [1.0], [0.0]]), np.array([0, 0, 2])
    yield {"x": x, "segment_ids": ids}, {"x": np.array([[1.0], [1.0], [1.0]])}


gradients_segment_min = gradients_segment_max
