"""The CPU group of a job, for programs that start it by hand; of one process it has nobody to connect."""

from proa.distributed.environment import require_one_process

__all__ = ["gloo_barrier", "gloo_init_parallel_env", "gloo_release"]


def gloo_init_parallel_env(rank_id, rank_num, server_endpoint):
    """Connects `rank_num` processes over `server_endpoint`.

    Raises:
        NotImplementedError: rank_num is greater than 1.

    Examples:
        >>> proa.distributed.gloo_init_parallel_env(0, 1, "127.0.0.1:8100")
        >>> proa.distributed.gloo_barrier()
        >>> proa.distributed.gloo_release()
    """
    require_one_process("gloo_init_parallel_env", rank_num)


def gloo_barrier():
    """Waits for all processes.

    Examples:
        >>> proa.distributed.gloo_barrier()
    """


def gloo_release():
    """Disconnects.

    Examples:
        >>> proa.distributed.gloo_release()
    """
