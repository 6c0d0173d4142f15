"""UtilBase: exchanges of small things between workers, and their shares of files."""

import numpy as np

from proa import _C
from proa.distributed.groups import rank as own_rank
from proa.distributed.groups import world_size

__all__ = ["UtilBase"]


def _many(what, comm_world):
    """Whether there is anybody to exchange with; a job that has not begun is begun."""
    if comm_world not in ("worker", "all"):
        raise _C.located(
            NotImplementedError(
                f"{what}: comm_world {comm_world!r}: this version has workers only, no parameter servers"
            )
        )
    if world_size() == 1:
        return False
    from proa.distributed import parallel

    if not parallel.is_initialized():
        parallel.init_parallel_env()
    return True


class UtilBase:
    """`fleet.util`: exchanges between all workers; of one worker, what is exchanged is its own.

    Examples:
        >>> proa.distributed.fleet.util.all_reduce(3.0), proa.distributed.fleet.util.get_file_shard(["a", "b"])
        (3.0, ['a', 'b'])
    """

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """Sum, max or min of `input` over all workers.

        Args:
            input (ndarray|list|number): of one shape on all workers.
            mode (str): "sum", "max" or "min".
            comm_world (str): "worker".

        Returns:
            ndarray, or a number for a number.
        """
        if mode not in ("sum", "max", "min"):
            raise _C.located(ValueError(f"all_reduce: mode must be 'sum', 'max' or 'min', not {mode!r}"))
        array = np.asarray(input)
        if _many("all_reduce", comm_world):
            from proa.distributed import collective

            op = {"sum": collective.ReduceOp.SUM, "max": collective.ReduceOp.MAX, "min": collective.ReduceOp.MIN}[mode]
            with _C.eager_mode():  # beside a program that is being recorded
                tensor = _C.ops.reshape(_C.to_tensor(array), [-1])
                collective.all_reduce(tensor, op)
            array = tensor.numpy().reshape(array.shape).astype(array.dtype)
        elif isinstance(input, np.ndarray):
            array = input.copy()
        else:
            return input
        return array if isinstance(input, (np.ndarray, list, tuple)) else array.item()

    def all_gather(self, input, comm_world="worker"):
        """The values of all workers, by number."""
        if not _many("all_gather", comm_world):
            return [input]
        from proa.distributed import collective

        found = []
        collective.all_gather_object(found, input)
        return found

    def barrier(self, comm_world="worker"):
        """Waits for all workers."""
        if _many("barrier", comm_world):
            from proa.distributed import collective

            collective.barrier()

    def get_file_shard(self, files):
        """The files of this worker: neighbours in the list, as many for each worker but for one."""
        if not isinstance(files, list):
            raise _C.located(TypeError(f"get_file_shard: files must be a list of paths, not {type(files).__name__}"))
        rank, count = own_rank(), world_size()
        size, more = divmod(len(files), count)
        begin = rank * size + min(rank, more)
        return files[begin : begin + size + (rank < more)]

    def print_on_rank(self, message, rank_id):
        """Prints on one worker."""
        if rank_id == own_rank():
            print(message)
