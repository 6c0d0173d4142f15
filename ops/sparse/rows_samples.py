"""References of softmax over groups of rows, group by group."""

import numpy as np

from ops.conformance.samples import Sample


def _grouped(x, ids, f):
    out = np.empty_like(x)
    for k in np.unique(ids):
        out[ids == k] = f(x[ids == k])
    return out


def _softmax(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(0, initial=-np.inf))
        return e / e.sum(0)


def reference_segment_softmax(x, segment_ids):
    return _grouped(x, segment_ids, _softmax)


def reference_segment_totals(x, segment_ids):
    return _grouped(x, segment_ids, lambda rows: np.broadcast_to(rows.sum(0), rows.shape))


def _samples():
    rng = np.random.default_rng(3)
    for ids in ([0, 0, 1, 3, 3, 3], [-2, 5], [4]):
        ids = np.array(ids, np.int64)
        for dims in ((), (3,)):
            yield Sample((rng.uniform(-2, 2, (len(ids), *dims)), ids), {}, f"ids {ids}")
    ids = np.sort(rng.integers(0, 50, 900)).astype(np.int32)
    yield Sample((rng.uniform(-2, 2, (900, 2)), ids), {}, "many ids")
    yield Sample((rng.uniform(-2, 2, 900), ids), {}, "many ids, one column")


samples_segment_softmax = samples_segment_totals = _samples
