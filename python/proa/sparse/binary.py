"""Sums, differences, products and quotients of sparse tensors, with each other and with dense ones."""

from proa import _C
from proa.sparse.tensor import SparseCooTensor, SparseTensor, added_up, of_dense
from proa.sparse.unary import sparse_argument

__all__ = ["add", "divide", "is_same_shape", "multiply", "subtract"]


def _is_number(y):
    return isinstance(y, (int, float, complex)) or (isinstance(y, _C.Tensor) and not y.shape)


def _as_indices(x, dtype):
    indices = x.indices()
    return indices if indices.dtype == dtype else indices.astype(dtype)


def _require_same_shape(op, x, y):
    if list(x.shape) != list(y.shape):
        raise _C.located(
            ValueError(
                f"{op}: shapes must be equal; x is {list(x.shape)} {x.dtype.name}, y is {list(y.shape)} {y.dtype.name}"
            )
        )


def of_pairs(op, function, x, y):
    """function(x, y) of two sparse tensors at all places that either has; of the kind of x."""
    _require_same_shape(op, x, y)
    by_rows = x.is_sparse_csr()
    a, b = x.to_sparse_coo(), y.to_sparse_coo()
    if a.sparse_dim() != b.sparse_dim():
        b = b.to_sparse_coo(a.sparse_dim())
    if a._indices is b._indices and a._coalesced:
        out = a._with_values(function(a._values, b._values))
    else:
        dtype = _C.int32 if a.indices().dtype == b.indices().dtype == _C.int32 else _C.int64
        joined = _C.ops.concat([_as_indices(a, dtype), _as_indices(b, dtype)], 1)
        dim = a.sparse_dim()
        indices, places = _C.ops.coo_coalesce(joined, a._shape[:dim])
        of_a, of_b = _C.ops.split(places, [a.nnz(), b.nnz()], 0)
        count = indices.shape[1]
        left = added_up(a._values, of_a, count)
        right = added_up(b._values, of_b, count)
        out = SparseCooTensor(indices, function(left, right), a._shape, True)
    return out.to_sparse_csr() if by_rows else out


def at_places(op, function, x, y):
    """function(x, y) with a dense y that broadcasts to the shape of x, where x has elements."""
    x = x._distinct()
    try:
        y = _C.ops.broadcast_to(y, x.shape)
    except ValueError:
        raise _C.located(
            ValueError(
                f"{op}: y does not broadcast to the shape of x; x is {x.shape} {x.dtype.name}, y is {list(y.shape)}"
            )
        ) from None
    where = _C.ops.transpose(x.to_sparse_coo().indices(), [1, 0])
    return x._with_values(function(x._values, _C.ops.gather_nd(y, where)))


def _sum(op, function, x, y):
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return of_pairs(op, function, x, y)
    if not isinstance(x, SparseTensor):
        sparse_argument(op, "y", y)
    for t in (x, y):
        if _is_number(t):
            raise _C.located(
                TypeError(f"{op}: a number changes all elements, those that are not held too; use x.to_dense()")
            )
    dense = [
        t.to_dense() if isinstance(t, SparseTensor) else _C.tensor_argument(t, op, n) for n, t in (("x", x), ("y", y))
    ]
    return function(*dense)


def add(x, y, name=None):
    """x + y.

    Args:
        x, y (SparseTensor|Tensor): of one shape; one of them may be dense, and then may broadcast.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of x, with an element wherever x or y has one, also where the sum is 0. With a dense one a
        dense Tensor.

    Raises:
        TypeError: a number, which would change all elements.
        ValueError: shapes differ.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> y = proa.sparse.sparse_coo_tensor([[1, 2]], [3.0, 4.0], [3])
        >>> proa.sparse.add(x, y).values().tolist()
        [1.0, 5.0, 4.0]
    """
    return _sum("add", _C.ops.add, x, y)


def subtract(x, y, name=None):
    """x - y; arguments, result and errors as in add.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> y = proa.sparse.sparse_coo_tensor([[1, 2]], [3.0, 4.0], [3])
        >>> proa.sparse.subtract(x, y).to_dense().tolist()
        [1.0, -1.0, -4.0]
    """
    return _sum("subtract", _C.ops.subtract, x, y)


def multiply(x, y, name=None):
    """x * y.

    Args:
        x, y (SparseTensor|Tensor|number): of one shape; one of them may be a number, or dense, and then may broadcast.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of x, with an element wherever x or y has one, also where the product is 0; with a number
        or a dense tensor where the sparse one has one.

    Raises:
        ValueError: shapes differ.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> proa.sparse.multiply(x, proa.to_tensor([5.0, 6.0, 7.0])).to_dense().tolist()
        [5.0, 12.0, 0.0]
    """
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return of_pairs("multiply", _C.ops.multiply, x, y)
    if not isinstance(x, SparseTensor):
        x, y = sparse_argument("multiply", "y", y), x
    if _is_number(y):
        return x._with_values(_C.ops.multiply(x._values, y))
    return at_places("multiply", _C.ops.multiply, x, _C.tensor_argument(y, "multiply", "y"))


def divide(x, y, name=None):
    """x / y. Integers become floats.

    Args:
        x (SparseTensor): numbers.
        y (SparseTensor|Tensor|number): of the shape of x; a number, or dense, and then may broadcast.
        name (str, optional): not used.

    Returns:
        SparseTensor: of the kind of x. Divided by a sparse tensor it has all elements: 0 / 0 is NaN where neither has one. Divided
        by a number or a dense tensor it has those of x, and stays 0 elsewhere.

    Raises:
        TypeError: x is not sparse.
        ValueError: shapes differ.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> proa.sparse.divide(x, 4).to_dense().tolist()
        [0.25, 0.5, 0.0]
    """
    x = sparse_argument("divide", "x", x)
    if isinstance(y, SparseTensor):
        _require_same_shape("divide", x, y)
        out = _all_elements(_C.ops.divide(x.to_dense(), y.to_dense()), x.to_sparse_coo().sparse_dim())
        return out.to_sparse_csr() if x.is_sparse_csr() else out
    if _is_number(y):
        return x._with_values(_C.ops.divide(x._values, y))
    return at_places("divide", _C.ops.divide, x, _C.tensor_argument(y, "divide", "y"))


def _all_elements(x, sparse_dim):
    """A dense tensor as one that holds all of its elements."""
    everywhere = of_dense(_C.ops.full(list(x.shape[:sparse_dim]), True, _C.bool))
    values = _C.ops.reshape(x, [everywhere.nnz(), *x.shape[sparse_dim:]])
    return SparseCooTensor(everywhere._indices, values, list(x.shape), True)


def is_same_shape(x, y):
    """Whether two tensors, sparse or dense, have one shape.

    Args:
        x, y (SparseTensor|Tensor): the tensors.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> proa.sparse.is_same_shape(x, proa.zeros([3])), proa.sparse.is_same_shape(x, proa.zeros([1, 3]))
        (True, False)
    """
    for name, t in (("x", x), ("y", y)):
        if not isinstance(t, SparseTensor):
            _C.tensor_argument(t, "is_same_shape", name)
    return list(x.shape) == list(y.shape)
