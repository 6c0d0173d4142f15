"""Sparse tensors made of their parts, and of dense ones."""

from proa import _C
from proa.framework.dtype import as_dtype
from proa.sparse.tensor import SparseCooTensor, SparseCsrTensor, SparseTensor

__all__ = ["mask_as", "sparse_coo_tensor", "sparse_csr_tensor"]


def _integers(op, name, value):
    """Indices as a tensor of int32 or int64."""
    t = value if isinstance(value, _C.Tensor) else _C.to_tensor(value)
    if t.dtype in (_C.int32, _C.int64):
        return t
    if not isinstance(value, _C.Tensor) and t.size == 0:  # [] has the dtype of floats
        return t.astype("int64")
    raise _C.located(TypeError(f"{op}: {name} must be int32 or int64; it is {list(t.shape)} {t.dtype.name}"))


def _values(op, value, dtype, place, stop_gradient):
    if isinstance(value, SparseTensor):
        raise _C.located(TypeError(f"{op}: values must be a dense tensor"))
    t = value if isinstance(value, _C.Tensor) else _C.to_tensor(value)
    if dtype is not None:
        t = t.astype(as_dtype(dtype))
    if place is not None:
        t = t.to(place)
    if stop_gradient:
        return t.detach()
    if t.stop_gradient:
        t = t.detach()
        t.stop_gradient = False
    return t


def _sizes(shape):
    if isinstance(shape, _C.Tensor):
        return shape.tolist()
    return [int(n) if not isinstance(n, _C.Tensor) else n for n in shape]


def sparse_coo_tensor(indices, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse tensor by the indices of its elements.

    Args:
        indices (Tensor|ndarray|list): integers [sparse_dim, nnz]; column i is where values[i] is. Elements at one place are
            added up, by coalesce and by whatever needs to.
        values (Tensor|ndarray|list): [nnz, ...]; dims behind the first are dense dims of the tensor.
        shape (list[int], optional): of the tensor; the smallest that has all indices unless given.
        dtype (str, optional): values are cast to it.
        place (str|Place, optional): values are moved there.
        stop_gradient (bool): False for values with gradient; a tensor that has one already passes it on.

    Returns:
        SparseCooTensor.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes of indices, values and `shape` do not fit each other.
        IndexError: an index is negative or outside of the shape.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], [3, 3])
        >>> x
        Tensor(shape=[3, 3], dtype=float32, place=Place(cpu), stop_gradient=True,
               indices=[[0, 1, 2],
                        [1, 2, 0]],
               values=[1., 2., 3.])
    """
    op = "sparse_coo_tensor"
    indices = _integers(op, "indices", indices)
    values = _values(op, values, dtype, place, stop_gradient)
    if len(indices.shape) != 2:
        raise _C.located(ValueError(f"{op}: indices must be [sparse_dim, nnz]; it is {list(indices.shape)}"))
    count = indices.shape[1]
    if not values.shape or values.shape[0] != count:
        raise _C.located(
            ValueError(
                f"{op}: values must be [{count}, ...] by indices; it is {list(values.shape)} {values.dtype.name}"
            )
        )
    sparse_dim, dense = indices.shape[0], list(values.shape[1:])
    if shape is None:
        if not count:
            raise _C.located(ValueError(f"{op}: shape is needed where there are no elements"))
        shape = [n + 1 for n in indices.max(1).tolist()] + dense
    shape = _sizes(shape)
    if len(shape) != sparse_dim + len(dense) or shape[sparse_dim:] != dense:
        raise _C.located(
            ValueError(
                f"{op}: shape must be {sparse_dim} sizes for indices {list(indices.shape)}, then {dense} by values; "
                f"it is {shape}"
            )
        )
    return SparseCooTensor(_C.ops.coo_check(indices, shape[:sparse_dim]), values, shape)


def sparse_csr_tensor(crows, cols, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse matrix, or a batch of matrices, by rows.

    Args:
        crows (Tensor|ndarray|list): integers [rows + 1], where each row begins; of a batch [batch * (rows + 1)], those of each
            matrix from 0.
        cols (Tensor|ndarray|list): integers [nnz], the column of each element; of a row each once, in any order.
        values (Tensor|ndarray|list): [nnz].
        shape (list[int], optional): [rows, columns] or [batch, rows, columns]; unless given that of the smallest matrix
            that has all columns.
        dtype, place, stop_gradient: as for sparse_coo_tensor.

    Returns:
        SparseCsrTensor.

    Raises:
        TypeError: crows or cols are no integers.
        ValueError: shapes do not fit each other, crows fall, do not begin with 0 or do not come to nnz, or a row
            has a column twice.
        IndexError: a column is outside of the shape.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 2, 3, 5], [1, 3, 2, 0, 1], [1, 2, 3, 4, 5], [3, 4])
        >>> x.to_dense().tolist()
        [[0, 1, 0, 2], [0, 0, 3, 0], [4, 5, 0, 0]]
    """
    op = "sparse_csr_tensor"
    crows, cols = _integers(op, "crows", crows), _integers(op, "cols", cols)
    values = _values(op, values, dtype, place, stop_gradient)
    for name, t in (("crows", crows), ("cols", cols), ("values", values)):
        if len(t.shape) != 1:
            raise _C.located(ValueError(f"{op}: {name} must have 1 dim; it is {list(t.shape)} {t.dtype.name}"))
    if values.shape[0] != cols.shape[0]:
        raise _C.located(
            ValueError(
                f"{op}: values must be [{cols.shape[0]}] by cols; it is {list(values.shape)} {values.dtype.name}"
            )
        )
    if crows.dtype != cols.dtype:
        crows, cols = crows.astype("int64"), cols.astype("int64")
    if shape is None:
        shape = [crows.shape[0] - 1, cols.max().item() + 1 if cols.shape[0] else 0]
    shape = _sizes(shape)
    cols = _C.ops.csr_indices(crows, cols, shape)[-1]  # which says what is wrong with them
    return SparseCsrTensor(crows, cols, values, shape)


def mask_as(x, mask, name=None):
    """The elements of a dense tensor at the places that a sparse one holds.

    Args:
        x (Tensor): of the shape of mask.
        mask (SparseTensor): its values do not matter.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of mask.

    Raises:
        ValueError: another shape.

    Examples:
        >>> mask = proa.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 1.0], [2, 2])
        >>> proa.sparse.mask_as(proa.to_tensor([[1.0, 2.0], [3.0, 4.0]]), mask).values().tolist()
        [2.0, 3.0]
    """
    x = _C.tensor_argument(x, "mask_as", "x")
    if not isinstance(mask, SparseTensor):
        raise _C.located(TypeError(f"mask_as: mask must be a sparse tensor, not {type(mask).__name__}"))
    if list(x.shape) != mask.shape:
        raise _C.located(ValueError(f"mask_as: x must have the shape of mask, {mask.shape}; it is {list(x.shape)}"))
    mask = mask._distinct()
    return mask._with_values(_C.ops.gather_nd(x, _C.ops.transpose(mask.to_sparse_coo().indices(), [1, 0])))


def of_file(layout, shape, coalesced, parts):
    """What `load` has read, checked: the parts of a tensor of layout "coo" or "csr"."""
    make, count, kind = {
        "coo": (sparse_coo_tensor, 2, SparseCooTensor),
        "csr": (sparse_csr_tensor, 3, SparseCsrTensor),
    }[layout]
    if len(parts) != count or not all(isinstance(part, _C.Tensor) for part in parts):
        raise _C.located(ValueError(f"{len(parts)} parts"))
    made = make(*parts, shape=shape, stop_gradient=parts[-1].stop_gradient)
    if coalesced is True and not _same_places(made, made.coalesce()):
        raise _C.located(ValueError("places that are not in order"))
    return kind(*made._parts().values(), made._shape, coalesced is True)


def _same_places(x, y):
    return x.nnz() == y.nnz() and all(
        bool((a == b).all())
        for name, a, b in zip(x._parts(), x._parts().values(), y._parts().values())
        if name != "values"
    )
