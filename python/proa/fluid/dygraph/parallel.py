"""Data parallelism of one process, under its old names."""

from proa.distributed.parallel import DataParallel, ParallelEnv, init_parallel_env
from proa.framework.names import missing as _missing

__all__ = ["DataParallel", "Env", "ParallelEnv", "prepare_context"]

__getattr__ = _missing(__name__)

Env = ParallelEnv


class ParallelStrategy:
    """What `prepare_context` gives: how many processes there are, and which this is."""

    def __init__(self):
        env = ParallelEnv()
        self.nranks = env.nranks
        self.local_rank = env.local_rank
        self.trainer_endpoints = env.trainer_endpoints
        self.current_endpoint = env.current_endpoint


def prepare_context(strategy=None):
    """`distributed.init_parallel_env`; what DataParallel takes."""
    init_parallel_env()
    return ParallelStrategy() if strategy is None else strategy
