"""Programs whose workers step alone and take the mean of their parameters at times: `localsgd` and `adaptive_localsgd`."""

from proa import _C
from proa.static.parameters import create_global_var
from proa.utils import unique_name

__all__ = ["average_adaptively", "average_parameters", "every", "variable"]

_LONGEST = 16  # runs between two means that adaptive_localsgd chooses, as in the reference


def variable(name, shape, dtype, value=0.0):
    """A variable of the program that it keeps from run to run."""
    return create_global_var(shape, value, dtype, persistable=True, name=unique_name.generate(name))


def every(name, runs, begin=0):
    """Appends a count of runs; whether this is every `runs`-th, or one before `begin`."""
    if runs < 1:
        raise _C.located(ValueError(f"fleet: {name}_configs['k_steps'] is {runs}; it must be at least 1"))
    now = _counted(f"{name}_runs")
    due = _C.ops.equal(_C.ops.remainder(now, _int(runs)), _int(0))
    if begin > 1:
        due = _C.ops.logical_or(due, _C.ops.less_than(now, _int(begin)))
    return due.reshape([])


def _int(value):
    return _C.ops.full([1], value, _C.int64)


def _counted(name):
    """The number of this run, from 1."""
    count = variable(name, [1], "int64")
    now = count + 1
    _C.ops.store_(count, now)
    return now


def average_parameters(parameters, configs, over_workers):
    """Appends the mean of parameters, in every `k_steps`-th run and in those before `begin_step`.

    Args:
        parameters (list[Tensor]): they.
        configs (dict): `localsgd_configs`.
        over_workers (Callable): appends the means of tensors over the workers.
    """

    def average():
        _store_means(parameters, over_workers)
        return []

    _C.cond(every("localsgd", int(configs["k_steps"]), int(configs["begin_step"])), average, lambda: [])


def _store_means(parameters, over_workers):
    for parameter, mean in zip(parameters, over_workers(parameters, "avg")):
        _C.ops.store_(parameter, mean)


def average_adaptively(parameters, configs, over_workers, loss, rate):
    """Appends the mean of parameters after as many runs as the loss asks for: fewer, the smaller it has become.

    Until run `begin_step` in each; then the next comes after ceil(sqrt(rate_0 loss / (rate loss_0)) init_k_steps) runs, 1 to 16,
    with rate_0 and loss_0 those of run `begin_step`. J. Wang, G. Joshi, "Adaptive Communication Strategies to Achieve the Best
    Error-Runtime Trade-off in Local-Update SGD", MLSys 2019.

    Args:
        configs (dict): `adaptive_localsgd_configs`.
        loss, rate (Tensor): of this run, one element each.
        parameters, over_workers: as of `average_parameters`.
    """
    first, begin = int(configs["init_k_steps"]), int(configs["begin_step"])
    if first < 1 or begin < 1:
        raise _C.located(
            ValueError(
                f"fleet: adaptive_localsgd_configs: init_k_steps and begin_step must be at least 1; they are {first} and {begin}"
            )
        )
    now = _counted("adaptive_localsgd_runs")
    last, wait = (
        variable("adaptive_localsgd_last", [1], "int64"),
        variable("adaptive_localsgd_wait", [1], "int64", first),
    )
    start = variable("adaptive_localsgd_start", [1], "float32")  # loss_0 / rate_0
    ratio = loss.astype(_C.float32).reshape([1]) / rate.astype(_C.float32).reshape([1])
    early = _C.ops.less_equal(now, _int(begin))
    due = _C.ops.logical_or(early, _C.ops.greater_equal(now - last, wait))

    def average():
        _store_means(parameters, over_workers)
        (mean,) = over_workers([ratio], "avg")
        of_start = _C.ops.where(early, mean, start + 0.0)
        _C.ops.store_(start, of_start)
        runs = _C.ops.ceil(_C.ops.sqrt(mean / of_start) * float(first))
        runs = _C.ops.where(_C.ops.isfinite(runs), runs, _C.ops.full([1], 1.0, _C.float32))
        _C.ops.store_(wait, _C.ops.clip(runs, 1.0, float(_LONGEST)).astype(_C.int64))
        _C.ops.store_(last, now + 0)
        return []

    _C.cond(due.reshape([]), average, lambda: [])
