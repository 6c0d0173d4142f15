"""Rules of windows, looked up element by element."""

import itertools

import numpy as np

from ops.conformance.samples import Sample


def reference_window_rules(indices, shape, window, strides, paddings, dilations, submanifold=False):
    held = {tuple(int(v) for v in column): i for i, column in enumerate(indices.T)}
    sizes = [
        (n + paddings[2 * d] + paddings[2 * d + 1] - dilations[d] * (window[d] - 1) - 1) // strides[d] + 1
        for d, n in enumerate(shape[1:])
    ]
    pairs = []
    for offset in itertools.product(*map(range, window)):
        found = []
        for result in itertools.product(range(shape[0]), *map(range, sizes)):
            at = [result[d + 1] * strides[d] - paddings[2 * d] + offset[d] * dilations[d] for d in range(len(window))]
            source = held.get((result[0], *at))
            if source is not None and (not submanifold or result in held):
                found.append((source, result))
        pairs.append(found)
    results = sorted(held) if submanifold else sorted({result for found in pairs for _, result in found})
    number = {result: k for k, result in enumerate(results)}
    out = np.array(results, indices.dtype).reshape(-1, len(shape)).T
    every = [pair for found in pairs for pair in sorted(found)]
    source, target = [i for i, _ in every], [number[result] for _, result in every]
    return out, *(np.array(x, np.int64) for x in (source, target, [len(found) for found in pairs]))


def samples_window_rules():
    rng = np.random.default_rng(12)
    for shape, window, strides, paddings, dilations, submanifold in (
        ([2, 5, 6], [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], True),
        ([2, 5, 6], [3, 2], [2, 1], [0, 1, 1, 0], [1, 2], False),
        ([1, 4, 4, 5], [2, 3, 3], [2, 2, 1], [0, 0, 1, 1, 2, 0], [1, 1, 1], False),
        ([2, 3, 4, 4], [3, 3, 3], [1, 1, 1], [1, 1, 2, 2, 1, 1], [1, 2, 1], True),
        ([3, 9], [1], [3], [0, 0], [1], False),
    ):
        indices = np.stack(np.nonzero(rng.random(shape) < 0.4)).astype(np.int64)
        yield Sample((indices, shape, window, strides, paddings, dilations, submanifold), {}, f"{shape} by {window}")
