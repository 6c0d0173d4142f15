"""References of messages, edge by edge."""

import numpy as np


def _rows(x, out_size):
    size = np.ravel(np.asarray(out_size if out_size is not None else [], np.int64))
    return int(size[0]) if size.size and (size[0] > 0 or size.size > 1) else len(x)


def _pooled(x, src, dst, out_size, f):
    out = np.zeros((_rows(x, out_size), *x.shape[1:]), x.dtype)
    for k in range(len(out)):
        rows = x[src[dst == k]]
        if len(rows):
            out[k] = f(rows)
    return out


def _mean(rows):
    return np.trunc(rows.mean(0)) if rows.dtype.kind in "iu" else rows.mean(0)


def reference_graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=()):
    kinds = {"sum": lambda r: r.sum(0), "mean": _mean, "max": lambda r: r.max(0), "min": lambda r: r.min(0)}
    return _pooled(x, src_index, dst_index, out_size, kinds[pool_type])


def reference_graph_sum(x, src_index, dst_index, out_size, mean=False):
    return reference_graph_send_recv(x, src_index, dst_index, "mean" if mean else "sum", out_size)


def reference_graph_extreme(x, src_index, dst_index, out_size, largest):
    return reference_graph_send_recv(x, src_index, dst_index, "max" if largest else "min", out_size)


def reference_graph_sum_grad(dy, src_index, dst_index, shape, mean=False):
    out = np.zeros(shape)
    for s, d in zip(src_index, dst_index):
        out[s] += dy[d] / (np.sum(dst_index == d) if mean else 1)
    return out


def gradients_graph_extreme():
    """Each of equal elements has the whole gradient."""
    call = {"src_index": np.array([0, 1, 2]), "dst_index": np.array([0, 0, 1]), "out_size": [3], "largest": True}
    yield {"x": np.array([[2.0], [2.0], [1.0]]), **call}, {"x": np.array([[1.0], [1.0], [1.0]])}
