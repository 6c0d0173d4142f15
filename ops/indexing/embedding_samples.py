"""References of tables looked up by id, in NumPy."""

import numpy as np


def reference_embedding(x, weight, padding_idx=-1, sparse=False):
    out = weight[x]
    if padding_idx != -1:
        out[x == padding_idx] = 0
    return out


def reference_embedding_grad(dy, x, shape, padding_idx=-1):
    out = np.zeros(shape, dy.dtype)
    np.add.at(out, x, dy)
    if padding_idx != -1:
        out[padding_idx] = 0
    return out


reference_embedding_rows_grad = reference_embedding_grad


def reference_one_hot(x, num_classes, dtype="float32"):
    return (x[..., None] == np.arange(num_classes)).astype(np.int64)


def check_embedding(ops):
    """The gradient of the table is row-sparse if that was asked for, and dense if not."""
    tensor = type(ops.full([], 0.0, "float64"))
    for sparse in (False, True):
        weight = tensor(np.arange(10.0).reshape(5, 2), stop_gradient=False)
        ops.sum(ops.embedding(tensor(np.array([3, 1, 3])), weight, 4, sparse)).backward()
        assert weight.grad.is_selected_rows() is sparse
        np.testing.assert_array_equal(weight.grad.numpy(), np.array([[0.0], [1], [0], [2], [0]]) * [[1, 1]])
