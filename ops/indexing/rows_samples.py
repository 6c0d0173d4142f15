"""References of row-sparse tensors, in NumPy."""

import numpy as np


def reference_row_sparse(rows, values, height):
    out = np.zeros((height, *values.shape[1:]), values.dtype)
    np.add.at(out, rows, values)
    return out


def reference_merge_rows(x):
    return x


def reference_to_dense(x):
    return x


def reference_held_rows(x):
    return np.arange(len(x))


def reference_held_values(x):
    return x


def reference_held_values_grad(dy, x):
    return dy


def _sparse(ops, stop_gradient=True):
    """(values [2, 3] float64, the tensor of 5 rows that holds them at rows 3 and 1)."""
    tensor = type(ops.full([], 0.0, "float64"))
    values = tensor(np.arange(1.0, 7.0).reshape(2, 3), stop_gradient=stop_gradient)
    return values, ops.row_sparse(tensor(np.array([3, 1])), values, 5)


def check_held_values(ops):
    """The gradient goes to the rows that x holds, and nowhere else."""
    values, x = _sparse(ops, stop_gradient=False)
    held = ops.held_values(x)
    np.testing.assert_array_equal(held.numpy(), values.numpy())
    ops.sum(ops.multiply(held, held)).backward()
    np.testing.assert_array_equal(values.grad.numpy(), 2 * values.numpy())


def check_held_values_grad(ops):
    """The gradient of dy is that of the rows that x holds."""
    dy, x = _sparse(ops)
    dy.stop_gradient = False
    weights = np.arange(15.0).reshape(5, 3)
    out = ops.held_values_grad(dy, x)
    assert out.rows().tolist() == [3, 1]
    ops.sum(ops.multiply(ops.to_dense(out), type(dy)(weights))).backward()
    np.testing.assert_array_equal(dy.grad.numpy(), weights[[3, 1]])
