"""Activations of the elements that a sparse tensor holds."""

from proa import _C
from proa.framework.attributes import known_number
from proa.sparse import shapes
from proa.sparse.unary import of_values, sparse_argument

__all__ = ["leaky_relu", "relu", "relu6", "softmax"]


def relu(x, name=None):
    """max(x, 0).

    Args:
        x (SparseTensor): numbers.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-1.0, 2.0], [3])
        >>> proa.sparse.nn.functional.relu(x).values().tolist()
        [0.0, 2.0]
    """
    return of_values("relu", _C.ops.relu, x)


def relu6(x, name=None):
    """min(max(x, 0), 6); arguments as in relu.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-1.0, 8.0], [3])
        >>> proa.sparse.nn.functional.relu6(x).values().tolist()
        [0.0, 6.0]
    """
    return of_values("relu6", _C.ops.relu6, x)


def leaky_relu(x, negative_slope=0.01, name=None):
    """x where it is positive, else x * negative_slope.

    Args:
        x (SparseTensor): floating point.
        negative_slope (float): the factor.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-4.0, 8.0], [3])
        >>> proa.sparse.nn.functional.leaky_relu(x, 0.5).values().tolist()
        [-2.0, 8.0]
    """
    return of_values("leaky_relu", lambda values: _C.ops.leaky_relu(values, negative_slope), x)


def _groups(indices, sizes):
    """A number for each element, the same for those with the same indices but the last."""
    ids = None
    for d, size in enumerate(sizes[:-1]):
        row = shapes._row(indices, d).flatten().astype("int64")
        ids = row if ids is None else ids * size + row
    return _C.ops.full_like(shapes._row(indices, 0).flatten(), 0) if ids is None else ids


def softmax(x, axis=-1, name=None):
    """exp(x) over its sum along a dim, among the elements that are held: those that are not count as -inf.

    Args:
        x (SparseTensor): floating point.
        axis (int): the dim; of CSR the last.
        name (str, optional): not used.

    Raises:
        IndexError: the axis is out of range.
        ValueError: another axis than the last of CSR.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [1.0, 1.0, 5.0], [2, 3])
        >>> proa.sparse.nn.functional.softmax(x).to_dense().tolist()
        [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    """
    x = sparse_argument("softmax", "x", x)._distinct()
    axis = shapes._axis("softmax", known_number("softmax", "axis", axis), x.ndim)
    if x.is_sparse_csr() and axis != x.ndim - 1:
        raise _C.located(ValueError(f"softmax: of CSR the axis must be the last, {x.ndim - 1}; it is {axis}"))
    coo = x.to_sparse_coo()
    dim = coo.sparse_dim()
    if axis >= dim:
        return x._with_values(_C.ops.softmax(x._values, axis - dim + 1))
    if axis != dim - 1:
        perm = [d for d in range(x.ndim) if d != axis]
        perm.insert(dim - 1, axis)
        back = [perm.index(d) for d in range(x.ndim)]
        return shapes.transpose(softmax(shapes.transpose(x, perm), dim - 1), back).coalesce()
    return x._with_values(_C.ops.segment_softmax(x._values, _groups(coo._indices, coo._shape[:dim])))
