"""Lists of places, and settings of where ops run."""

import contextlib

from proa import _C
from proa.static.program import default_main_program

__all__ = ["cpu_places", "cuda_places", "device_guard", "mlu_places", "npu_places", "xpu_places"]

# Of a list that is made: no machine has so many processors.
_MOST = 1 << 16


def cpu_places(device_count=None):
    """A list of CPU places: CPU_NUM in the environment, or one.

    Examples:
        >>> len(proa.static.cpu_places(2))
        2
    """
    import os

    if device_count is not None and (type(device_count) is not int or not 0 <= device_count <= _MOST):
        raise _C.located(
            ValueError(f"cpu_places: device_count must be an int from 0 (CPU_NUM) to {_MOST}; it is {device_count!r}")
        )
    return [_C.CPUPlace()] * (device_count or int(os.environ.get("CPU_NUM") or 1))


def _devices(what, kind, ids):
    import os

    if ids is None:
        listed = [i for i in os.environ.get("FLAGS_selected_gpus", "").split(",") if i.strip().isdigit()]
        ids = [int(i) for i in listed] or list(range(_C.device_count(kind)))
    ids = [ids] if isinstance(ids, int) else list(ids)
    return [_C.Place(f"{kind}:{i}") if kind != "gpu" else _C.CUDAPlace(i) for i in ids]


def cuda_places(device_ids=None):
    """A list of GPU places: of these numbers, or of all that there are.

    Examples:
        >>> proa.static.cuda_places() if proa.device.cuda.device_count() == 0 else []
        []
    """
    return _devices("cuda_places", "gpu", device_ids)


def xpu_places(device_ids=None):
    """A list of places of XPUs; there are none unless a plugin brings them.

    Examples:
        >>> proa.static.xpu_places()
        []
    """
    return _devices("xpu_places", "xpu", device_ids)


def npu_places(device_ids=None):
    """A list of places of NPUs; there are none unless a plugin brings them.

    Examples:
        >>> proa.static.npu_places()
        []
    """
    return _devices("npu_places", "npu", device_ids)


def mlu_places(device_ids=None):
    """A list of places of MLUs; there are none unless a plugin brings them.

    Examples:
        >>> proa.static.mlu_places()
        []
    """
    return _devices("mlu_places", "mlu", device_ids)


@contextlib.contextmanager
def device_guard(device=None):
    """Inside, ops run on `device`: "cpu", or None for where the program runs.

    A number names a stage of a pipeline: what is recorded under "gpu:1" (or "cpu:1") belongs to stage 1 of a program that is
    trained with `strategy.pipeline` of fleet.

    Raises:
        ValueError: for a kind of device that this package has no kernels for.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()), proa.static.device_guard("cpu"):
        ...     y = proa.static.data("x", [None, 2]) * 2.0
        >>> with proa.static.device_guard("tpu"):
        ...     pass
        Traceback (most recent call last):
            ...
        ValueError: ...device must be 'cpu', 'gpu' or None, not 'tpu'...
    """
    if device is not None and device.split(":")[0] not in ("cpu", "gpu", "xpu", "npu"):
        raise _C.located(ValueError(f"device_guard: device must be 'cpu', 'gpu' or None, not {device!r}"))
    number = (device or "").partition(":")[2]
    if not number.isdigit():  # "gpu:all" is every stage
        yield
        return
    program = default_main_program()
    first = program.num_operations
    try:
        yield
    finally:
        program._devices.append((first, program.num_operations, int(number)))
