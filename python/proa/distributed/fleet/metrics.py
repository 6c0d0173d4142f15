"""Metrics over all workers, from the sums that each of them has: of one worker, from its own.

A value is an array, a tensor, or the name of a variable that a program keeps (looked up in `scope`). `util` exchanges values between
workers; `fleet.util` unless given.
"""

import numpy as np

from proa import _C

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]


def _array(what, name, value, scope):
    if isinstance(value, str):
        from proa.static import global_scope

        found = (global_scope() if scope is None else scope).find_var(value)
        if found is None:
            raise _C.located(ValueError(f"{what}: the scope has no variable {value!r}"))
        return np.array(found.get_tensor())
    if isinstance(value, _C.Tensor):
        if _C.is_symbolic(value):
            return _array(what, name, value.name, scope)
        return value.numpy()
    if isinstance(value, (np.ndarray, int, float)) and not isinstance(value, bool):
        return np.asarray(value)
    raise _C.located(
        TypeError(f"{what}: {name} must be an array, a tensor or a variable's name, not {type(value).__name__}")
    )


def _of_all(what, name, value, scope, util, mode="sum"):
    if util is None:
        from proa.distributed import fleet

        util = fleet.util
    array = _array(what, name, value, scope)
    return np.asarray(util.all_reduce(array, mode)).reshape(array.shape)


def sum(input, scope=None, util=None):  # noqa: A001
    """The sum of a value over all workers.

    Args:
        input (ndarray|Tensor|str): of this worker.
        scope (Scope, optional): where names are looked up.
        util (UtilBase, optional): how workers exchange values.

    Returns:
        ndarray: of the value's shape.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.sum(np.array([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _of_all("sum", "input", input, scope, util)


def max(input, scope=None, util=None):  # noqa: A001
    """The largest of a value over all workers, element by element; arguments as in `sum`.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.max(proa.to_tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _of_all("max", "input", input, scope, util, "max")


def min(input, scope=None, util=None):  # noqa: A001
    """The smallest of a value over all workers, element by element; arguments as in `sum`.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.min(np.array([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _of_all("min", "input", input, scope, util, "min")


def auc(stat_pos, stat_neg, scope=None, util=None):
    """The area under the ROC curve, from counts in buckets of rising scores, as `static.auc` keeps them.

    Args:
        stat_pos, stat_neg (ndarray|Tensor|str): numbers of positives and negatives by bucket, of this worker.
        scope, util (optional): as in `sum`.

    Returns:
        float: 0.5 where one of both kinds is missing.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.auc(np.array([0.0, 1.0, 3.0]), np.array([3.0, 1.0, 0.0]))
        0.96875
    """
    positive = _of_all("auc", "stat_pos", stat_pos, scope, util).astype("float64").reshape(-1)[::-1]
    negative = _of_all("auc", "stat_neg", stat_neg, scope, util).astype("float64").reshape(-1)[::-1]
    if positive.shape != negative.shape:
        raise _C.located(ValueError(f"auc: stat_pos has {positive.size} buckets, stat_neg {negative.size}"))
    all_pairs = positive.sum() * negative.sum()
    if all_pairs == 0:
        return 0.5
    reached = positive.cumsum()
    return float((negative * (reached - positive / 2)).sum() / all_pairs)


def _mean(what, total, count, scope, util, names):
    total = float(_of_all(what, names[0], total, scope, util).sum())
    count = float(_of_all(what, names[1], count, scope, util).sum())
    if count == 0:
        raise _C.located(ValueError(f"{what}: {names[1]} is 0 over all workers"))
    return total / count


def mae(abserr, total_ins_num, scope=None, util=None):
    """The mean absolute error: the sum of absolute errors over the number of samples, both of all workers.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.mae(np.array([6.0]), 4)
        1.5
    """
    return _mean("mae", abserr, total_ins_num, scope, util, ("abserr", "total_ins_num"))


def mse(sqrerr, total_ins_num, scope=None, util=None):
    """The mean squared error: the sum of squared errors over the number of samples, both of all workers.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.mse(np.array([16.0]), 4)
        4.0
    """
    return _mean("mse", sqrerr, total_ins_num, scope, util, ("sqrerr", "total_ins_num"))


def rmse(sqrerr, total_ins_num, scope=None, util=None):
    """The root of `mse`.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.rmse(np.array([16.0]), 4)
        2.0
    """
    return _mean("rmse", sqrerr, total_ins_num, scope, util, ("sqrerr", "total_ins_num")) ** 0.5


def acc(correct, total, scope=None, util=None):
    """The accuracy: right answers over all answers, both of all workers.

    Examples:
        >>> from proa.distributed.fleet import metrics
        >>> metrics.acc(np.array([3]), np.array([4]))
        0.75
    """
    return _mean("acc", correct, total, scope, util, ("correct", "total"))
