"""Sparse tensors with the same elements at other places: coalesced, transposed, reshaped, cut; and their sums."""

import math

from proa import _C
from proa.framework.attributes import known, known_number
from proa.framework.dtype import as_dtype
from proa.sparse.tensor import SparseCooTensor, added_up
from proa.sparse.unary import sparse_argument

__all__ = ["coalesce", "reshape", "slice", "sum", "transpose"]


def _like(x, out):
    """A COO result of the kind of x."""
    return out.to_sparse_csr() if x.is_sparse_csr() else out


def _axis(op, axis, rank):
    axis = known_number(op, "axis", axis)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise _C.located(
            IndexError(
                f"{op}: axis {axis} is out of range for a tensor of {rank} dims; valid are {-rank} to {rank - 1}"
            )
        )
    return axis % rank


def _row(indices, i):
    return _C.ops.gather(indices, _C.ops.full([1], i, _C.int64), 0)


def coalesce(x, name=None):
    """The tensor with indices that rise in row-major order, each once; elements at one place are added up.

    Args:
        x (SparseTensor): of CSR the columns of each row are put in order.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], [2])
        >>> x.coalesce().indices().tolist(), x.coalesce().values().tolist()
        ([[0, 1]], [2.0, 4.0])
    """
    x = sparse_argument("coalesce", "x", x)
    if x._coalesced:
        return x
    coo = x.to_sparse_coo()
    dim = coo.sparse_dim()
    indices, places = _C.ops.coo_coalesce(coo._indices, coo._shape[:dim])
    values = added_up(coo._values, places, indices.shape[1])
    return _like(x, SparseCooTensor(indices, values, coo._shape, True))


def transpose(x, perm, name=None):
    """The tensor with its dims in another order.

    Args:
        x (SparseTensor): the tensor.
        perm (list[int]): dim i of the result is dim perm[i] of x. Sparse dims stay before dense ones.
        name (str, optional): not used.

    Raises:
        ValueError: perm does not name each dim once, or brings a dense dim before a sparse one.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [2]], [5.0], [2, 3])
        >>> y = proa.sparse.transpose(x, [1, 0])
        >>> y.shape, y.indices().tolist()
        ([3, 2], [[2], [0]])
    """
    x = sparse_argument("transpose", "x", x)
    rank = x.ndim
    perm = [_axis("transpose", axis, rank) for axis in known("transpose", "perm", perm)]
    if sorted(perm) != list(range(rank)):
        raise _C.located(ValueError(f"transpose: perm must name each of {rank} dims once; it is {perm}"))
    coo = x.to_sparse_coo()
    dim = coo.sparse_dim()
    if sorted(perm[:dim]) != list(range(dim)):
        raise _C.located(
            ValueError(
                f"transpose: sparse dims must stay before dense ones; there are {dim} sparse dims, perm is {perm}"
            )
        )
    indices = _C.ops.gather(coo._indices, _C.to_tensor(perm[:dim], dtype=_C.int64), 0)
    values = coo._values
    if dim < rank:
        values = _C.ops.transpose(values, [0, *(axis - dim + 1 for axis in perm[dim:])])
    return _like(x, SparseCooTensor(indices, values, [x._shape[axis] for axis in perm]))


def _moved(indices, old, new):
    """Indices in shape `new` of the same row-major places in shape `old`."""
    place = None
    for d, size in enumerate(old):
        row = _row(indices, d).astype("int64")
        place = row if place is None else place * size + row
    rows = []
    for size in reversed(new):
        rows.append(place % size)
        place = place // size
    fit = indices.dtype == _C.int32 and max(new) <= 2**31 - 1
    return _C.ops.concat(rows[::-1], 0).astype(_C.int32 if fit else _C.int64)


def reshape(x, shape, name=None):
    """The tensor with other sizes of its sparse dims, elements in row-major order.

    Args:
        x (SparseTensor): the tensor.
        shape (list[int]): the sizes; 0 is the size of x there, -1 (once) what the others leave. It ends with the dense dims.
        name (str, optional): not used.

    Raises:
        ValueError: another number of elements, or other dense dims.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
        >>> proa.sparse.reshape(x, [3, -1]).to_dense().tolist()
        [[0.0, 1.0], [0.0, 0.0], [0.0, 2.0]]
    """
    x = sparse_argument("reshape", "x", x)
    coo = x.to_sparse_coo().coalesce()
    dim = coo.sparse_dim()
    old, dense = coo._shape[:dim], coo._shape[dim:]
    wanted = [int(n) for n in known("reshape", "shape", shape)]
    new = [x._shape[i] if n == 0 and i < x.ndim else n for i, n in enumerate(wanted)]
    count = math.prod(x._shape)
    if new.count(-1) == 1:
        rest = math.prod(n for n in new if n != -1)
        new[new.index(-1)] = count // rest if rest > 0 and count % rest == 0 else -1
    split = len(new) - len(dense)
    fits = split > 0 and new[split:] == dense and min(new) >= 0
    if not fits or math.prod(new[:split]) != math.prod(old):
        raise _C.located(
            ValueError(
                f"reshape: x is {x.shape} with {dim} sparse dims, which cannot become {wanted}; the number of elements and "
                "the dense dims must stay"
            )
        )
    if math.prod(old) > 2**63 - 1:
        raise _C.located(ValueError(f"reshape: {x.shape} has more elements than an int64 counts"))
    if not old or 0 in old:
        indices = _C.ops.full([split, coo.nnz()], 0, coo._indices.dtype)
    else:
        indices = _moved(coo._indices, old, new[:split])
    return _like(x, SparseCooTensor(indices, coo._values, new, True))


def _bounds(op, start, end, size):
    start, end = (known_number(op, "starts and ends", n) for n in (start, end))
    start, end = (max(n + size, 0) if n < 0 else min(n, size) for n in (start, end))
    return start, max(start, end)


def slice(x, axes, starts, ends, name=None):
    """The part of the tensor from starts[i] to ends[i] along each of `axes`.

    Args:
        x (SparseTensor): the tensor.
        axes, starts, ends (list[int]): of one length; negative ones count from the end, and what is beyond is cut.
        name (str, optional): not used.

    Raises:
        ValueError: the lists are of different lengths.
        IndexError: an axis is out of range.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
        >>> proa.sparse.slice(x, [1], [1], [3]).to_dense().tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    x = sparse_argument("slice", "x", x)
    axes, starts, ends = (
        list(known("slice", name, each)) for name, each in (("axes", axes), ("starts", starts), ("ends", ends))
    )
    if not len(axes) == len(starts) == len(ends):
        raise _C.located(
            ValueError(
                f"slice: axes, starts and ends must be of one length; they have {len(axes)}, {len(starts)}, {len(ends)}"
            )
        )
    coo = x.to_sparse_coo()
    dim, shape = coo.sparse_dim(), coo.shape
    indices, values = coo._indices, coo._values
    rows, inside = [_row(indices, d) for d in range(dim)], None
    for axis, start, end in zip(axes, starts, ends, strict=True):
        axis = _axis("slice", axis, x.ndim)
        start, end = _bounds("slice", start, end, shape[axis])
        shape[axis] = end - start
        if axis >= dim:
            values = _C.ops.slice(values, [axis - dim + 1], [start], [end])
            continue
        held = _C.ops.logical_and(rows[axis] >= start, rows[axis] < end)
        inside = held if inside is None else _C.ops.logical_and(inside, held)
        rows[axis] = rows[axis] - start
    if inside is not None:
        kept = _C.ops.nonzero(inside.flatten()).flatten()
        indices, values = _C.ops.gather(_C.ops.concat(rows, 0), kept, 1), _C.ops.gather(values, kept, 0)
    return _like(x, SparseCooTensor(indices, values, shape, coo._coalesced))


def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sums over some dims, as a sparse tensor.

    Args:
        x (SparseTensor): numbers.
        axis (int|list[int], optional): the dims; all unless given.
        dtype (str, optional): values are cast to it first.
        keepdim (bool): keep these dims, with size 1. Matrices by rows always do.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of x, coalesced. If no sparse dim is left, there is one of size 1: the sum of all
        elements has shape [1].

    Raises:
        IndexError: an axis is out of range.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], [1.0, 2.0, 3.0], [2, 3])
        >>> proa.sparse.sum(x, 1).to_dense().tolist(), proa.sparse.sum(x).values().tolist()
        ([1.0, 5.0], [6.0])
    """
    x = sparse_argument("sum", "x", x)
    axis = known("sum", "axis", axis)
    axes = range(x.ndim) if axis is None or axis == [] else [axis] if isinstance(axis, int) else axis
    axes = {_axis("sum", a, x.ndim) for a in axes}
    keepdim = keepdim or x.is_sparse_csr()
    coo = x.to_sparse_coo()
    dim = coo.sparse_dim()
    values = coo._values
    dense = [a - dim + 1 for a in sorted(axes) if a >= dim]
    if dense:
        values = _C.ops.sum(values, dense, values.dtype if dtype is None else as_dtype(dtype), keepdim)
    elif dtype is not None:
        values = values.astype(as_dtype(dtype))
    rows, shape = [], []
    for d in range(dim):
        row = _row(coo._indices, d)
        if d not in axes:
            rows.append(row)
            shape.append(coo._shape[d])
        elif keepdim:
            rows.append(_C.ops.full_like(row, 0))
            shape.append(1)
    if not rows:
        rows.append(_C.ops.full_like(_row(coo._indices, 0), 0))
        shape.append(1)
    out = SparseCooTensor(_C.ops.concat(rows, 0), values, [*shape, *values.shape[1:]])
    return _like(x, coalesce(out))
