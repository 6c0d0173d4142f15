"""Products of sparse matrices with dense and with sparse ones."""

from proa import _C
from proa.sparse.binary import add
from proa.sparse.tensor import SparseCooTensor, SparseTensor, added_up
from proa.sparse.unary import sparse_argument

__all__ = ["addmm", "masked_matmul", "matmul", "mv"]


def _rows(x):
    """x by rows, its columns in any order: what the kernels take."""
    return x if x.is_sparse_csr() else x.to_sparse_csr()


def _require_matrices(op, **tensors):
    for name, t in tensors.items():
        if len(t.shape) not in (2, 3):
            raise _C.located(ValueError(f"{op}: {name} must have 2 or 3 dims; it is {list(t.shape)} {t.dtype.name}"))


def _times_dense(x, y, transpose=False):
    x = _rows(x)
    return _C.ops.csr_matmul(x._values, x._crows, x._cols, y, x._shape, transpose)


def _swapped(x):
    rank = len(x.shape)
    return _C.ops.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def _times_sparse(x, y):
    a, b = x.to_sparse_coo().coalesce(), y.to_sparse_coo().coalesce()
    for name, t in (("x", a), ("y", b)):
        if t.dense_dim():
            raise _C.located(ValueError(f"matmul: all dims of {name} must be sparse; {t.sparse_dim()} of {t.ndim} are"))
    i, j = a._indices, b._indices
    if i.dtype != j.dtype:
        i, j = i.astype("int64"), j.astype("int64")
    indices, left, right, target = _C.ops.coo_product(i, j, a._shape, b._shape)
    products = _C.ops.gather(a._values, left, 0) * _C.ops.gather(b._values, right, 0)
    values = added_up(products, target, indices.shape[1])
    out = SparseCooTensor(indices, values, [*a._shape[:-1], b._shape[-1]], True)
    return out.to_sparse_csr() if x.is_sparse_csr() else out


def matmul(x, y, name=None):
    """The product of matrices, or of each pair of matrices of two batches, of which one or both are sparse.

    Args:
        x (SparseTensor|Tensor): [m, k] or [batch, m, k].
        y (SparseTensor|Tensor): [k, n] or [batch, k, n]; [k] for a vector.
        name (str, optional): not used.

    Returns:
        Tensor: [m, n] or [batch, m, n]. Of two sparse ones a SparseTensor of the kind of x, with elements where products of
        elements meet.

    Raises:
        TypeError: neither is sparse.
        ValueError: shapes do not fit.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 3])
        >>> proa.sparse.matmul(x, proa.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).tolist()
        [[6.0, 8.0], [3.0, 6.0]]
    """
    if isinstance(x, SparseTensor) and isinstance(y, _C.Tensor) and len(y.shape) == 1:
        return mv(x, y)
    if not isinstance(x, SparseTensor):
        sparse_argument("matmul", "y", y)
        x = _C.tensor_argument(x, "matmul", "x")
        _require_matrices("matmul", x=x, y=y)
        return _swapped(_times_dense(y, _swapped(x), True))
    if not isinstance(y, SparseTensor):
        y = _C.tensor_argument(y, "matmul", "y")
    _require_matrices("matmul", x=x, y=y)
    return _times_sparse(x, y) if isinstance(y, SparseTensor) else _times_dense(x, y)


def mv(x, vec, name=None):
    """The product of a sparse matrix and a vector.

    Args:
        x (SparseTensor): [m, k].
        vec (Tensor): [k].
        name (str, optional): not used.

    Returns:
        Tensor: [m].

    Raises:
        ValueError: shapes do not fit.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 3])
        >>> proa.sparse.mv(x, proa.to_tensor([1.0, 2.0, 3.0])).tolist()
        [4.0, 3.0]
    """
    x, vec = sparse_argument("mv", "x", x), _C.tensor_argument(vec, "mv", "vec")
    if x.ndim != 2 or list(vec.shape) != x.shape[1:]:
        raise _C.located(
            ValueError(f"mv: x must be [m, k] and vec [k]; x is {x.shape} {x.dtype.name}, vec is {list(vec.shape)}")
        )
    return _C.ops.squeeze(_times_dense(x, _C.ops.unsqueeze(vec, [1])), [1])


def masked_matmul(x, y, mask, name=None):
    """The product of dense matrices at the places that a sparse one holds alone; nothing else is computed.

    Args:
        x (Tensor): [m, k] or [batch, m, k].
        y (Tensor): [k, n] or [batch, k, n].
        mask (SparseTensor): [m, n] or [batch, m, n]; its values do not matter.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of mask.

    Raises:
        ValueError: shapes do not fit.

    Examples:
        >>> mask = proa.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 1.0], [2, 2])
        >>> x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> proa.sparse.masked_matmul(x, x, mask).to_dense().tolist()
        [[0.0, 10.0], [15.0, 0.0]]
    """
    op = "masked_matmul"
    x, y = _C.tensor_argument(x, op, "x"), _C.tensor_argument(y, op, "y")
    mask = sparse_argument(op, "mask", mask)._distinct()
    _require_matrices(op, x=x, y=y, mask=mask)
    rows = _rows(mask)
    values = _C.ops.csr_sampled_matmul(x, _swapped(y), rows._crows, rows._cols, rows._shape)
    return mask._with_values(values)


def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):
    """beta * input + alpha * (x @ y).

    Args:
        input (Tensor|SparseTensor): of the shape of the product; sparse if x and y both are.
        x, y (SparseTensor|Tensor): as in matmul.
        beta, alpha (float): factors.
        name (str, optional): not used.

    Returns:
        Tensor: or a SparseTensor where all are sparse.

    Raises:
        ValueError: shapes do not fit.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 2])
        >>> proa.sparse.addmm(proa.ones([2, 2]), x, proa.to_tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0, 0.5).tolist()
        [[13.0, 14.0], [11.5, 13.0]]
    """
    product = matmul(x, y)
    if list(input.shape) != list(product.shape):
        raise _C.located(
            ValueError(
                f"addmm: input must have the shape of the product, {list(product.shape)}; it is {list(input.shape)}"
            )
        )
    if isinstance(input, SparseTensor) or isinstance(product, SparseTensor):
        return add(input * beta, product * alpha)
    return input * beta + product * alpha
