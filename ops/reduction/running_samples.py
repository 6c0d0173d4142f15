"""References of running extrema and running sums of exponentials."""

import numpy as np


def _lines(x, axis):
    """x as [outer, n, inner], and the shape of results."""
    if axis is None or x.ndim == 0:
        return x.reshape(1, -1, 1), x.shape if axis is not None else (x.size,)
    axis %= x.ndim
    outer, inner = int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis + 1 :]))
    return x.reshape(outer, x.shape[axis], inner), x.shape


def _extremum(x, axis, dtype, beats):
    lines, shape = _lines(x, axis)
    places = np.zeros(lines.shape, dtype)
    for o, _, k in np.ndindex(lines.shape[0], 1, lines.shape[2]):
        at = 0
        for i, v in enumerate(lines[o, :, k]):
            kept = lines[o, at, k]
            if v != v or (kept == kept and beats(v, kept)):
                at = i
            places[o, i, k] = at
    return np.take_along_axis(lines, places.astype(np.int64), 1).reshape(shape), places.reshape(shape)


def reference_cummax(x, axis=None, dtype="int64"):
    return _extremum(x, axis, dtype, lambda v, kept: v >= kept)


def reference_cummin(x, axis=None, dtype="int64"):
    return _extremum(x, axis, dtype, lambda v, kept: v <= kept)


def gradients_cummax():
    """Of equal elements the last counts."""
    x = np.array([[1.0, 3.0, 3.0, 2.0], [2.0, 1.0, 5.0, 5.0]])
    yield {"x": x, "axis": 1}, {"x": np.array([[1.0, 1.0, 2.0, 0.0], [2.0, 0.0, 1.0, 1.0]])}


def gradients_cummin():
    x = np.array([[1.0, 3.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0]])
    yield {"x": x, "axis": 1}, {"x": np.array([[2.0, 0.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])}


def reference_running_extremum_backward(grad_out, indices, shape, axis=None):
    g, at = _lines(grad_out, axis)[0], _lines(indices, axis)[0]
    out = np.zeros_like(g)
    for o, i, k in np.ndindex(g.shape):
        out[o, at[o, i, k], k] += g[o, i, k]
    return out.reshape(shape)


def reference_logcumsumexp(x, axis=None):
    x = x.astype(np.float64) if x.dtype.kind in "iu" else x
    lines, shape = _lines(x, axis)
    return np.logaddexp.accumulate(lines, 1).reshape(shape)


def _weights(y, log_sums):
    """[outer, n of y, n of log_sums, inner]."""
    return np.exp(y[:, :, None] - log_sums[:, None])


def reference_running_softmax(x, y, log_sums, axis, after=False):
    x, y, log_sums, shape = (_lines(x, axis)[0], _lines(y, axis)[0], _lines(log_sums, axis)[0], x.shape)
    n = x.shape[1]
    upper = np.triu(np.ones((n, n)))[None, :, :, None]
    weights = np.where(upper > 0, _weights(y, log_sums), 0)
    out = np.einsum("ojk,oijk->oik" if after else "oik,oijk->ojk", x, weights)
    return out.reshape(shape)


def reference_logcumsumexp_backward(grad_out, x, out, axis=None):
    g, y, log_sums = (_lines(t, axis)[0] for t in (grad_out, x, out))
    return reference_running_softmax(g, y, log_sums, 1, True).reshape(x.shape)


TOLERANCE = {"running_softmax": {"float32": (1e-4, 1e-4), "float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2)}}
