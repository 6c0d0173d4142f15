"""References of products with CSR matrices: dense ones."""

import numpy as np

from ops.conformance.samples import Sample
from ops.sparse.layout_samples import reference_coo_crows, reference_csr_indices


def _dense(values, crows, cols, shape):
    out = np.zeros(shape, values.dtype)
    np.add.at(out, tuple(reference_csr_indices(crows, cols, shape)), values)
    return out


def reference_csr_matmul(values, crows, cols, y, shape, transpose=False):
    x = _dense(values, crows, cols, shape)
    return (x.swapaxes(-1, -2) if transpose else x) @ y


def reference_csr_sampled_matmul(x, y, crows, cols, shape):
    return (x @ y.swapaxes(-1, -2))[tuple(reference_csr_indices(crows, cols, shape))]


def _matrices():
    """(values, crows, cols, shape), columns of a row in any order, some twice."""
    rng = np.random.default_rng(8)
    for shape, count in (([4, 5], 9), ([3, 4, 2], 11), ([1, 6], 0), ([40, 30], 300)):
        rows = int(np.prod(shape[:-1]))
        places = np.sort(rng.integers(0, rows, count))
        indices = np.stack([*np.unravel_index(places, shape[:-1]), rng.integers(0, shape[-1], count)])
        yield rng.uniform(-2, 2, count), reference_coo_crows(indices, shape), indices[-1], shape


def samples_csr_matmul():
    rng = np.random.default_rng(9)
    for k, (values, crows, cols, shape) in enumerate(_matrices()):
        for transpose in (False, True):
            rows = shape[-2] if transpose else shape[-1]
            for n in (1, 3, 70) if k == 0 else (2,):
                y = rng.uniform(-2, 2, [*shape[:-2], rows, n])
                yield Sample((values, crows, cols, y, shape, transpose), {}, f"shape {shape}, n {n}")
    y = rng.uniform(-2, 2, [30, 150]).astype(np.float32)
    yield Sample((values.astype(np.float32), crows.astype(np.int32), cols, y, shape), {}, "wide")
    yield Sample((values, crows, cols.astype(np.int32), rng.uniform(-2, 2, [1, 30]).T, shape), {}, "a vector")


def samples_csr_sampled_matmul():
    rng = np.random.default_rng(10)
    for k, (_, crows, cols, shape) in enumerate(_matrices()):
        for n in (1, 3, 70) if k == 0 else (4,):
            x, y = (rng.uniform(-2, 2, [*shape[:-2], m, n]) for m in shape[-2:])
            yield Sample((x, y, crows, cols, shape), {}, f"shape {shape}, n {n}")
