"""References of indices of sparse tensors: SciPy's ideas in NumPy, and samples that are in order."""

import numpy as np

from ops.conformance.samples import Sample


def reference_coo_check(indices, shape):
    return indices.copy()


def reference_coo_coalesce(indices, shape):
    if not len(indices):  # one place, if any element is held
        return indices[:, :1], np.zeros(indices.shape[1], np.int64)
    out, inverse = np.unique(indices, axis=1, return_inverse=True)
    return out, inverse.reshape(-1).astype(np.int64)


def reference_coo_crows(indices, shape):
    counts = np.zeros([*shape[:-1]], np.int64)
    np.add.at(counts, tuple(indices[:-1]), 1)
    starts = np.concatenate([np.zeros([*shape[:-2], 1], np.int64), counts.cumsum(-1)], -1)
    return starts.reshape(-1).astype(indices.dtype)


def reference_csr_indices(crows, cols, shape):
    counts = np.diff(crows.reshape(-1, shape[-2] + 1)).reshape(-1)
    row = np.repeat(np.arange(len(counts)), counts)
    parts = [row, cols] if len(shape) == 2 else [row // shape[-2], row % shape[-2], cols]
    return np.stack(parts).astype(cols.dtype)


def reference_coo_product(x_indices, y_indices, x_shape, y_shape):
    found = [
        ((*x_indices[:-1, i], y_indices[-1, j]), i, j)
        for i in range(x_indices.shape[1])
        for j in range(y_indices.shape[1])
        if x_indices[-1, i] == y_indices[-2, j] and (len(x_shape) == 2 or x_indices[0, i] == y_indices[0, j])
    ]
    found.sort(key=lambda each: each[0])
    places = sorted({place for place, _, _ in found})
    number = {place: k for k, place in enumerate(places)}
    out = np.array(places, x_indices.dtype).reshape(-1, len(x_shape)).T
    lists = ([i for _, i, _ in found], [j for _, _, j in found], [number[place] for place, _, _ in found])
    return out, *(np.array(each, np.int64) for each in lists)


def _indices(rng, shape, share=0.4):
    return np.stack(np.nonzero(rng.random(shape) < share)).astype(np.int64)


def _shapes():
    return ([4, 5], [3, 4, 5], [2, 7, 1], [1, 6])


def samples_coo_crows():
    rng = np.random.default_rng(5)
    for shape in _shapes():
        yield Sample((_indices(rng, shape), shape), {}, f"shape {shape}")
    yield Sample((_indices(rng, [300, 90]).astype(np.int32), [300, 90]), {}, "many")


def samples_csr_indices():
    rng = np.random.default_rng(6)
    for shape in _shapes():
        indices = _indices(rng, shape)
        yield Sample((reference_coo_crows(indices, shape), indices[-1], shape), {}, f"shape {shape}")
    indices = _indices(rng, [300, 90]).astype(np.int32)
    yield Sample((reference_coo_crows(indices, [300, 90]), indices[-1], [300, 90]), {}, "many")


def samples_coo_product():
    rng = np.random.default_rng(7)
    for x, y in (([4, 5], [5, 3]), ([2, 3, 4], [2, 4, 2]), ([20, 30], [30, 25])):
        yield Sample((_indices(rng, x), _indices(rng, y), x, y), {}, f"{x} by {y}")
