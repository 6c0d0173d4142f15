"""References of order, in NumPy."""

import numpy as np

from ops.conformance.samples import Sample


def _order(x, axis, descending):
    """Stable order with NaN above every number."""
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # Ranks of different values, so that falling is rising of what has no NaN.
    _, ranks = np.unique(x, return_inverse=True)
    return np.argsort(-ranks.reshape(x.shape), axis, kind="stable")


def _take(x, order, axis):
    return np.take_along_axis(x, order, axis) if x.ndim else x


def _ties(shape, dtype):
    # Arrays, not text: text is run in every dtype, and differences know no gradient at ties.
    return np.random.default_rng(6).integers(0, 4, shape).astype(dtype)


def reference_sort(x, axis=-1, descending=False):
    order = _order(x, axis, descending)
    return _take(x, order, axis), order


def samples_sort():
    rng = np.random.default_rng(3)
    yield Sample((rng.normal(size=5000).astype(np.float32),), {}, "float32 long")
    yield Sample((rng.integers(-(10**12), 10**12, (2, 600)), 1, True), {}, "int64 long")
    yield Sample((_ties((600, 3), np.int32), 0), {}, "int32 ties")


def samples_argsort():
    yield Sample((_ties(20, np.int32),), {}, "int32 ties")
    yield Sample((_ties(20, np.int64), 0, True), {}, "int64 ties, falling")


def reference_argsort(x, axis=-1, descending=False):
    return _order(x, axis, descending)


def reference_topk(x, k, axis=-1, largest=True, sorted=True):
    order = _order(x, axis, largest)
    if x.ndim:
        order = np.take(order, range(k), axis)
    return _take(x, order, axis), order


def samples_topk():
    yield Sample((_ties(20, np.int32), 5), {}, "int32 ties")
    yield Sample((_ties(300, np.int64), 7), {}, "int64 ties")
    yield Sample((_ties((40, 3), np.float32), 7, 0, False), {}, "float32 ties")


def samples_kthvalue():
    yield Sample((_ties(9, np.int32), 5), {}, "int32 ties")


def samples_mode():
    yield Sample((_ties((3, 9), np.int32), 1, True), {}, "int32 ties")
    yield Sample((_ties(20, np.int64), 0), {}, "int64 ties")
    yield Sample((_ties((9, 3), np.float32), 0), {}, "float32 ties")


def reference_kthvalue(x, k, axis=-1, keepdim=False):
    order = np.take(_order(x, axis, False), [k - 1], axis)
    out = _take(x, order, axis)
    return (out, order) if keepdim else (out.squeeze(axis), order.squeeze(axis))


def reference_mode(x, axis=-1, keepdim=False):
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    lines = np.moveaxis(x, axis, -1)
    out = np.zeros(lines.shape[:-1], x.dtype)
    indices = np.zeros(lines.shape[:-1], np.int64)
    for at in np.ndindex(*lines.shape[:-1]):
        values, inverse, counts = np.unique(lines[at], return_inverse=True, return_counts=True)
        best = int(np.argmax(counts))
        out[at] = values[best]
        indices[at] = np.nonzero(inverse == best)[0][-1]
    if keepdim:
        return np.expand_dims(out, axis), np.expand_dims(indices, axis)
    return out, indices


def samples_searchsorted():
    rng = np.random.default_rng(4)
    s = np.sort(rng.integers(0, 9, 12)).astype(np.float64)
    v = np.append(np.arange(-1.0, 11.0), np.nan)
    for right in (False, True):
        yield Sample((s, v), {"right": right}, f"float64 ties, right={right}")
        yield Sample((np.append(s, np.nan), v), {"right": right, "out_int32": True}, f"float64 nan, right={right}")
    rows = np.sort(rng.normal(size=(3, 7)), -1)
    yield Sample((rows, rng.normal(size=(3, 5))), {}, "float64 rows")


def reference_searchsorted(sorted_sequence, values, out_int32=False, right=False):
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side)
    out = np.zeros(values.shape, np.int64)
    for at in np.ndindex(*values.shape[:-1]):
        out[at] = np.searchsorted(sorted_sequence[at], values[at], side)
    return out


def reference_unique(x, axis=None):
    if axis is not None and x.size == 0 and x.shape[axis]:
        # NumPy has no order of items without elements; they are all the same.
        out = np.take(x, [0], axis)
        return out, np.array([0]), np.zeros(x.shape[axis], np.int64), np.array([x.shape[axis]])
    out, index, inverse, counts = np.unique(x, True, True, True, axis=axis)
    return out, index, inverse.reshape(-1), counts


def reference_unique_consecutive(x, axis=None):
    items = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    same = [np.array_equal(a, b, equal_nan=x.dtype.kind == "f") for a, b in zip(items, items[1:])]
    first = [0] + [k + 1 for k, s in enumerate(same) if not s] if len(items) else []
    inverse = np.cumsum([0] + [not s for s in same])[: len(items)] if len(items) else np.zeros(0, np.int64)
    counts = np.diff(first + [len(items)])
    out = items[first] if axis is None else np.moveaxis(items[first], 0, axis)
    return out, inverse, counts


def reference_chosen_along_axis_grad(dy, indices, shape, axis, keepdim):
    out = np.zeros(shape, dy.dtype)
    if not shape:
        return dy + out
    if not keepdim:
        dy, indices = np.expand_dims(dy, axis), np.expand_dims(indices, axis)
    np.put_along_axis(out, indices, dy, axis)
    return out
