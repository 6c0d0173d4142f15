"""BFGS and L-BFGS (Nocedal and Wright, Numerical Optimization, chapters 6 and 7)."""

from collections import deque

from proa import _C
from proa.incubate.optimizer.functional.line_search import Line, strong_wolfe

__all__ = ["minimize_bfgs", "minimize_lbfgs"]


def _checked(what, position, estimate, line_search_fn, dtype):
    """(position, inverse Hessian or None) as tensors of `dtype`."""
    if dtype not in ("float32", "float64"):
        raise _C.located(ValueError(f"{what}: dtype must be 'float32' or 'float64', not {dtype!r}"))
    if line_search_fn != "strong_wolfe":
        raise _C.located(
            NotImplementedError(
                f"{what}: line_search_fn must be 'strong_wolfe', the only one; it is {line_search_fn!r}"
            )
        )
    for name, value in (("initial_position", position), ("initial_inverse_hessian_estimate", estimate)):
        if value is not None and not isinstance(value, _C.Tensor):
            raise _C.located(TypeError(f"{what}: {name} must be a Tensor, not {type(value).__name__}"))
        if value is not None and value.dtype.name != dtype:
            raise _C.located(
                ValueError(f"{what}: {name} is {value.dtype.name}, but dtype says {dtype}; cast one or the other")
            )
    if len(position.shape) != 1:
        raise _C.located(ValueError(f"{what}: initial_position must have one dim; it is {list(position.shape)}"))
    if estimate is not None:
        import numpy as np

        matrix = estimate.numpy()
        if matrix.shape != (position.shape[0],) * 2 or not np.allclose(matrix, matrix.T, atol=1e-6):
            raise _C.located(
                ValueError(f"{what}: initial_inverse_hessian_estimate must be symmetric, [{position.shape[0]}, ...]")
            )
        if (np.linalg.eigvalsh(matrix) <= 0).any():
            raise _C.located(ValueError(f"{what}: initial_inverse_hessian_estimate must be positive definite"))
        estimate = estimate.detach()
    return position.detach(), estimate


class _Search:
    """What both look for, from where, and when they give up: their arguments, checked."""

    def __init__(self, what, objective_func, initial_position, max_iters, tolerance_grad, tolerance_change,
                 initial_inverse_hessian_estimate, line_search_fn, max_line_search_iters, initial_step_length,
                 dtype):  # fmt: skip
        self.position, self.matrix = _checked(
            what, initial_position, initial_inverse_hessian_estimate, line_search_fn, dtype
        )
        self._max_iters, self._line = max_iters, Line(what, objective_func)
        self._tolerance_grad, self._tolerance_change = tolerance_grad, tolerance_change
        self._line_limits = max_line_search_iters, initial_step_length

    def run(self, direction_of, learn):
        """(converged [1], calls [1], position, value, gradient); `learn` is told of each step and change of gradient."""
        position = self.position
        value, gradient = self._line.value_and_gradient(position)
        converged = gradient.abs().max().item() < self._tolerance_grad
        for _ in range(self._max_iters):
            if converged:
                break
            direction = direction_of(gradient)
            step, new_value, new_gradient = strong_wolfe(
                self._line, position, direction, value, gradient, *self._line_limits
            )
            if step == 0.0:
                break  # no way down along this direction
            moved = direction * step
            learn(moved, new_gradient - gradient)
            position, value, gradient = position + moved, new_value, new_gradient
            converged = (
                gradient.abs().max().item() < self._tolerance_grad
                or direction.abs().max().item() < self._tolerance_change
            )
        return _C.to_tensor([bool(converged)]), _C.to_tensor([self._line.calls]), position, value, gradient


def minimize_bfgs(
    objective_func,
    initial_position,
    max_iters=50,
    tolerance_grad=1e-7,
    tolerance_change=1e-9,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimizes a function by BFGS, which learns a matrix of second derivatives from gradients. Eager mode only.

    Args:
        objective_func (Callable): from a Tensor [n] to one number.
        initial_position (Tensor): where to start, [n].
        max_iters (int): the most steps.
        tolerance_grad (float): done when all entries of the gradient are smaller.
        tolerance_change (float): done when all entries of a step's direction are smaller.
        initial_inverse_hessian_estimate (Tensor, optional): [n, n], symmetric and positive definite; the identity unless
            given.
        line_search_fn (str): "strong_wolfe".
        max_line_search_iters (int): the most evaluations of a line search.
        initial_step_length (float): the first that a line search tries.
        dtype (str): "float32" or "float64": that of the tensors that are given.
        name (str, optional): not used.

    Returns:
        tuple: is_converge (bool, [1]), num_func_calls (int64, [1]), position [n], value, gradient [n], and the estimate of
        the inverse Hessian [n, n].

    Raises:
        TypeError, ValueError, NotImplementedError: for other arguments.

    Examples:
        >>> F = proa.incubate.optimizer.functional
        >>> found = F.minimize_bfgs(lambda x: ((x - 3.0) * (x - 3.0)).sum(), proa.zeros([2]))
        >>> found[0].item(), found[2].tolist()
        (True, [3.0, 3.0])
    """
    search = _Search("minimize_bfgs", objective_func, initial_position, max_iters, tolerance_grad, tolerance_change,
                     initial_inverse_hessian_estimate, line_search_fn, max_line_search_iters, initial_step_length,
                     dtype)  # fmt: skip
    size = search.position.shape[0]
    identity = _C.ops.eye(size, size, search.position.dtype)
    inverse = identity if search.matrix is None else search.matrix

    def learn(s, y):
        nonlocal inverse
        curvature = (s * y).sum().item()
        if curvature <= 0.0:
            return
        change = identity - _C.ops.outer(s, y) / curvature
        inverse = change.matmul(inverse).matmul(change.t()) + _C.ops.outer(s, s) / curvature

    return *search.run(lambda gradient: -inverse.matmul(gradient), learn), inverse


def minimize_lbfgs(
    objective_func,
    initial_position,
    history_size=100,
    max_iters=50,
    tolerance_grad=1e-8,
    tolerance_change=1e-8,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimizes a function by L-BFGS: BFGS that keeps its last steps in place of a matrix. Eager mode only.

    Args:
        history_size (int): how many steps are kept.

    The other arguments, and what is returned but for the matrix, are those of `minimize_bfgs`.

    Examples:
        >>> F = proa.incubate.optimizer.functional
        >>> found = F.minimize_lbfgs(lambda x: ((x - 3.0) * (x - 3.0)).sum(), proa.zeros([2]))
        >>> found[0].item(), found[2].tolist(), len(found)
        (True, [3.0, 3.0], 5)
    """
    search = _Search("minimize_lbfgs", objective_func, initial_position, max_iters, tolerance_grad, tolerance_change,
                     initial_inverse_hessian_estimate, line_search_fn, max_line_search_iters, initial_step_length,
                     dtype)  # fmt: skip
    if isinstance(history_size, bool) or not isinstance(history_size, int) or history_size < 1:
        raise _C.located(ValueError(f"minimize_lbfgs: history_size must be a positive int, not {history_size!r}"))
    history = deque(maxlen=history_size)

    def learn(s, y):
        curvature = (s * y).sum().item()
        if curvature > 0.0:
            history.append((s, y, curvature))

    def direction(gradient):
        q, shares = gradient, []
        for s, y, curvature in reversed(history):
            share = (s * q).sum() / curvature
            shares.append(share)
            q = q - share * y
        if search.matrix is not None:
            q = search.matrix.matmul(q)
        elif history:
            _, y, curvature = history[-1]
            q = q * (curvature / (y * y).sum())
        for (s, y, curvature), share in zip(history, reversed(shares)):
            q = q + (share - (y * q).sum() / curvature) * s
        return -q

    return search.run(direction, learn)
