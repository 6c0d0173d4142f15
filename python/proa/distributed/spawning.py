"""spawn: calls a function in each of several processes; in this one, if there is one."""

import os

from proa import _C
from proa.distributed.environment import require_one_process

__all__ = ["MultiprocessContext", "spawn"]

_OPTIONS = ("start_method", "gpus", "xpus", "npus", "mlus", "cpus", "ips", "devices", "backend", "cloud_node_rank",
            "node_ip", "print_config", "selected_devices", "cluster_node_ips", "started_port")  # fmt: skip


class MultiprocessContext:
    """What `spawn(join=False)` returns: the processes, and `join` that waits for them."""

    def __init__(self, result=None):
        self.processes = []
        self.result = result

    def join(self, timeout=None):
        """Waits for all; True when they are over."""
        return True


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Calls `func(*args)` in `nprocs` processes; one is this process.

    Args:
        func (Callable): starts with `init_parallel_env()`.
        args (tuple): its arguments.
        nprocs (int): how many; -1 is one for each device of this machine: 1.
        join (bool): wait for the end.
        daemon, options: accepted.

    Raises:
        NotImplementedError: nprocs is greater than 1.

    Examples:
        >>> proa.distributed.spawn(print, args=("a step",), nprocs=1)
        a step
    """
    if not callable(func):
        raise _C.located(TypeError(f"spawn: func must be a function, not {type(func).__name__}"))
    if isinstance(nprocs, bool) or not isinstance(nprocs, int) or (nprocs < 1 and nprocs != -1):
        raise _C.located(ValueError(f"spawn: nprocs must be a positive int or -1, not {nprocs!r}"))
    wrong = [name for name in options if name not in _OPTIONS]
    if wrong:
        raise _C.located(ValueError(f"spawn: there is no option {wrong[0]!r}; the options are {', '.join(_OPTIONS)}"))
    require_one_process("spawn", nprocs)
    before = {name: os.environ.get(name) for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")}
    os.environ.update(PADDLE_TRAINER_ID="0", PADDLE_TRAINERS_NUM="1")
    try:
        func(*args)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return None if join else MultiprocessContext()
