"""UtilBase: exchanges of small things between workers, and their shares of files."""

from proa import _C

__all__ = ["UtilBase"]


class UtilBase:
    """`fleet.util`: of one worker, what is exchanged is its own.

    Examples:
        >>> proa.distributed.fleet.util.all_reduce(3.0), proa.distributed.fleet.util.get_file_shard(["a", "b"])
        (3.0, ['a', 'b'])
    """

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """Sum, max or min of `input` over all workers."""
        if mode not in ("sum", "max", "min"):
            raise _C.located(ValueError(f"all_reduce: mode must be 'sum', 'max' or 'min', not {mode!r}"))
        import numpy

        return input.copy() if isinstance(input, numpy.ndarray) else input

    def all_gather(self, input, comm_world="worker"):
        """The values of all workers."""
        return [input]

    def barrier(self, comm_world="worker"):
        """Waits for all workers."""

    def get_file_shard(self, files):
        """The files of this worker."""
        if not isinstance(files, list):
            raise _C.located(TypeError(f"get_file_shard: files must be a list of paths, not {type(files).__name__}"))
        return list(files)

    def print_on_rank(self, message, rank_id):
        """Prints on one worker."""
        if rank_id == 0:
            print(message)
