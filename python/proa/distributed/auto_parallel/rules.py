"""How calls are made with parts of their arguments, by the kinds of ops; None where it takes whole ones.

A rule is called as rule(partition, op, args) and gives what the op does, of this process's parts, with its division noted.
"""

from proa import _C
from proa.static.replay import _registry

__all__ = ["rule_of"]


def rule_of(op):
    """The rule of an op; None if there is none."""
    found = _RULES.get(op)
    if found is not None:
        return found
    known = _registry().get(op)
    alone = known is not None and len(known["outputs"]) == 1 and not known["outputs"][0]["is_list"]
    return _pointwise if alone and known["fuse"] == "pointwise" and "random" not in known["traits"] else None


def _merged(partition, tensors):
    """The division of what comes of tensors that broadcast, and those of each; from the right."""
    rank = max(t.ndim for t in tensors)
    out = [-1] * rank
    for tensor in tensors:
        for dim, axis in enumerate(partition.mapping(tensor)):
            at = rank - tensor.ndim + dim
            if axis != -1 and out[at] == -1 and axis not in out:
                out[at] = axis
    return out, [_of_operand(partition, tensor, out) for tensor in tensors]


def _of_operand(partition, tensor, out):
    """How a tensor is divided that broadcasts to a result: its dims of size 1 are not."""
    now = partition.mapping(tensor)
    return [
        -1 if now[dim] == -1 and _is_one(tensor.shape[dim]) else out[len(out) - tensor.ndim + dim]
        for dim in range(tensor.ndim)
    ]


def _is_one(size):
    return isinstance(size, int) and size == 1


def _pointwise(partition, op, args):
    if any(isinstance(a, list) and any(isinstance(t, _C.Tensor) for t in a) for a in args):
        return None
    tensors = [a for a in args if isinstance(a, _C.Tensor)]
    out, each = _merged(partition, tensors)
    changed = iter([partition.change(t, m) for t, m in zip(tensors, each)])
    args = [next(changed) if isinstance(a, _C.Tensor) else a for a in args]
    return partition.mapped(getattr(_C.ops, op)(*args), out)


def _product(partition, x, y, transpose_x, transpose_y):
    """(x, y, the axis along which sums are parts or -1, the division of the result): of a product of matrices."""
    mx, my = partition.mapping(x), partition.mapping(y)
    inner_x, row = (-2, -1) if transpose_x else (-1, -2)
    inner_y, column = (-1, -2) if transpose_y else (-2, -1)
    m, n, along = mx[row], my[column], mx[inner_x] if mx[inner_x] != -1 else my[inner_y]
    if m == n != -1:  # the weight is gathered: activations are many
        n = -1
    if along != -1 and along in (m, n):
        along = -1
    batch, used = [-1] * (max(x.ndim, y.ndim) - 2), {m, n, along}
    for tensor, mapping in ((x, mx), (y, my)):
        for dim, axis in enumerate(mapping[:-2]):
            at = len(batch) - (tensor.ndim - 2) + dim
            if axis != -1 and batch[at] == -1 and axis not in used:
                batch[at] = axis
                used.add(axis)

    def target(tensor, last):
        mapping = [-1] * tensor.ndim
        for dim in range(tensor.ndim - 2):
            if not (_is_one(tensor.shape[dim]) and partition.mapping(tensor)[dim] == -1):
                mapping[dim] = batch[len(batch) - (tensor.ndim - 2) + dim]
        for place, axis in last.items():
            mapping[place] = axis
        return mapping

    x = partition.change(x, target(x, {row: m, inner_x: along}))
    y = partition.change(y, target(y, {inner_y: along, column: n}))
    return x, y, along, [*batch, m, n]


def _matmul(partition, op, args):
    x, y, transpose_x, transpose_y = [*args, False, False][:4]
    if x.ndim < 2 or y.ndim < 2:
        return None
    x, y, along, out = _product(partition, x, y, transpose_x, transpose_y)
    z = _C.ops.matmul(x, y, transpose_x, transpose_y)
    return partition.mapped(z if along == -1 else partition.total(z, along), out)


def _linear(partition, op, args):
    x, weight, bias = [*args, None][:3]
    if x.ndim < 2:
        return None
    x, weight, along, out = _product(partition, x, weight, False, False)
    bias = None if bias is None else partition.change(bias, [out[-1]])
    if along == -1:
        return partition.mapped(_C.ops.linear(x, weight, bias), out)
    z = partition.total(_C.ops.linear(x, weight, None), along)
    return partition.mapped(z if bias is None else _C.ops.add(z, bias), out)


def _embedding(partition, op, args):
    ids, table, padding, sparse = [*args, -1, False][:4]
    of_ids, (rows, columns) = partition.mapping(ids), partition.mapping(table)
    rows, columns = (-1 if axis in of_ids else axis for axis in (rows, columns))
    table = partition.change(table, [rows, columns])
    out = [*of_ids, columns]
    if rows == -1 or partition.groups[rows].nranks == 1:
        return partition.mapped(_C.ops.embedding(ids, table, padding, sparse), out)
    count = table.shape[0]
    first = partition.places[rows] * count
    at = ids - first
    here = _C.ops.logical_and(at >= 0, at < count)
    if padding != -1:
        here = _C.ops.logical_and(here, ids != padding)
    found = _C.ops.embedding(_C.ops.where(here, at, _C.ops.full_like(at, 0)), table, -1, sparse)
    found = found * _C.ops.unsqueeze(here, [-1]).astype(found.dtype)
    return partition.mapped(partition.total(found, rows), out)


def _transpose(partition, op, args):
    x, perm = args
    mapping = partition.mapping(x)
    return partition.mapped(_C.ops.transpose(x, perm), [mapping[d] for d in perm])


def _reduction(partition, op, args):
    """Sums and means: parts of them along dims of the mesh are added up."""
    x, axes = args[0], list(args[1]) if len(args) > 1 else []
    keep = args[-1] if isinstance(args[-1], bool) else False
    axes = {d % x.ndim for d in axes} if axes else set(range(x.ndim))
    mapping = partition.mapping(x)
    out = getattr(_C.ops, op)(*args)
    for dim in sorted(axes):
        if mapping[dim] != -1:
            out = partition.total(out, mapping[dim], "sum" if op == "sum" else "avg")
    return partition.mapped(out, [-1 if d in axes else m for d, m in enumerate(mapping) if keep or d not in axes])


def _along(first):
    """Of ops that look along the dims from one on (`first(args)`) and treat the others alone; parameters behind are whole."""

    def rule(partition, op, args):
        x = args[0]
        begin, end = first(args, x.ndim)
        mapping = [-1 if begin <= d < end else m for d, m in enumerate(partition.mapping(x))]
        args = [partition.change(x, mapping), *[partition.whole(a) for a in args[1:]]]
        return partition.mapped(getattr(_C.ops, op)(*args), mapping)

    return rule


def _at(axis, ndim):
    return axis % ndim, axis % ndim + 1


def _loss(partition, op, args):
    """softmax_with_cross_entropy, whose label has the dims of the logits, of size 1 along the classes unless it is soft."""
    logits, label, *rest = args
    axis = (rest[2] if len(rest) > 2 else -1) % logits.ndim
    if label.ndim != logits.ndim:
        return None
    mapping = [-1 if d == axis else m for d, m in enumerate(partition.mapping(logits))]
    out = _C.ops.softmax_with_cross_entropy(partition.change(logits, mapping), partition.change(label, mapping), *rest)
    return partition.mapped(out, mapping)


def _reshape(partition, op, args):
    """Where the first dim alone is divided, and stays."""
    x, shape = args
    mapping = partition.mapping(x)
    if any(m != -1 for m in mapping[1:]) or not isinstance(shape, list) or not shape:
        return None
    if any(not isinstance(n, int) or isinstance(n, bool) for n in [*shape, *x.shape[1:]]) or -1 in shape[1:]:
        return None
    row = [1, 1]
    for at, sizes in enumerate((shape[1:], x.shape[1:])):
        for n in sizes:
            row[at] *= n
    if row[0] != row[1] or row[0] <= 0:
        return None
    return partition.mapped(_C.ops.reshape(x, [-1, *shape[1:]]), [mapping[0], *[-1] * (len(shape) - 1)])


_RULES = {
    "matmul": _matmul,
    "linear": _linear,
    "embedding": _embedding,
    "transpose": _transpose,
    "sum": _reduction,
    "mean": _reduction,
    "softmax": _along(lambda args, ndim: _at(args[1] if len(args) > 1 else -1, ndim)),
    "log_softmax": _along(lambda args, ndim: _at(args[1] if len(args) > 1 else -1, ndim)),
    "layer_norm": _along(lambda args, ndim: ((args[3] if len(args) > 3 else -1) % ndim, ndim)),
    "softmax_with_cross_entropy": _loss,
    "reshape": _reshape,
}
