"""Choices among several functions, made when the program runs."""

from proa import _C
from proa.static.nn import cond

__all__ = ["case", "switch_case"]


def case(pred_fn_pairs, default=None, name=None):
    """The result of the function whose condition is the first that holds.

    Args:
        pred_fn_pairs (list): (bool tensor, function) each.
        default (Callable, optional): if none holds; the last function unless given.

    Examples:
        >>> x = proa.to_tensor([0.5])
        >>> proa.static.nn.case([(x.sum() > 1.0, lambda: x), (x.sum() > 0.0, lambda: -x)], lambda: x * 0.0).tolist()
        [-0.5]
    """
    if not isinstance(pred_fn_pairs, (list, tuple)) or not pred_fn_pairs:
        raise _C.located(TypeError("case: pred_fn_pairs must be a list of (condition, function) that is not empty"))
    for pair in pred_fn_pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[1]):
            raise _C.located(TypeError(f"case: a pair must be (bool tensor, function), not {pair!r}"))
    pairs = list(pred_fn_pairs)
    if default is None:
        default = pairs.pop()[1]
    elif not callable(default):
        raise _C.located(TypeError(f"case: default must be a function, not {type(default).__name__}"))
    chosen = default
    for condition, function in reversed(pairs):
        chosen = _either(condition, function, chosen)
    return chosen()


def _either(condition, function, otherwise):
    return lambda: cond(condition, function, otherwise)


def switch_case(branch_index, branch_fns, default=None, name=None):
    """The result of the function of this number.

    Args:
        branch_index (Tensor): one integer.
        branch_fns (dict|list): functions by number; a list of functions, or of (number, function).
        default (Callable, optional): for other numbers; the function of the highest number unless given.

    Examples:
        >>> index = proa.to_tensor(1)
        >>> proa.static.nn.switch_case(index, [lambda: proa.ones([1]), lambda: proa.zeros([1])]).tolist()
        [0.0]
    """
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif isinstance(branch_fns, (list, tuple)) and branch_fns:
        pairs = [fn if isinstance(fn, (list, tuple)) else (i, fn) for i, fn in enumerate(branch_fns)]
    else:
        raise _C.located(TypeError("switch_case: branch_fns must be a dict or list of functions that is not empty"))
    branch_index = _C.tensor_argument(branch_index, "switch_case", "branch_index")
    numbers = [number for number, _ in pairs]
    if len(set(numbers)) != len(numbers):
        raise _C.located(ValueError(f"switch_case: each number may have one function; they are {numbers}"))
    pairs.sort(key=lambda pair: pair[0])
    return case([(_equal(branch_index, number), function) for number, function in pairs], default or pairs[-1][1])


def _equal(index, number):
    return _C.ops.all(_C.ops.equal(index, _C.ops.full_like(index, number)))
