"""The places of processes in a job that is parallel in several ways; here every way has one process."""

import itertools

from proa import _C

__all__ = ["CommunicateTopology", "HybridCommunicateGroup"]


class CommunicateTopology:
    """Numbers of processes, and their coordinates.

    Args:
        hybrid_group_names (list[str]): the ways of being parallel.
        dims (list[int]): how many processes each has.

    Examples:
        >>> topology = proa.distributed.fleet.CommunicateTopology(["data", "model"], [2, 2])
        >>> topology.get_rank(data=1, model=0), topology.get_axis_list("data", 0)
        (2, [0, 1])
    """

    def __init__(self, hybrid_group_names=("data", "pipe", "sharding", "model"), dims=(1, 1, 1, 1)):
        if len(hybrid_group_names) != len(dims):
            raise _C.located(ValueError("CommunicateTopology: hybrid_group_names and dims must be of one length"))
        self._parallel_names = list(hybrid_group_names)
        self._dims = list(dims)
        self._coordinates = list(itertools.product(*(range(d) for d in dims)))
        self._world_size = len(self._coordinates)

    def get_hybrid_group_names(self):
        return self._parallel_names

    def get_dim(self, axis_name):
        return self._dims[self._parallel_names.index(axis_name)]

    get_dim_size = get_dim

    def world_size(self):
        return self._world_size

    def get_rank(self, **args):
        """The number of the process at these coordinates."""
        return self._coordinates.index(tuple(args[name] for name in self._parallel_names))

    def get_coord(self, rank):
        """The coordinates of a process."""
        return self._coordinates[rank]

    def get_axis_list(self, axis_name, index):
        """The processes whose coordinate along `axis_name` is `index`."""
        axis = self._parallel_names.index(axis_name)
        return [rank for rank, place in enumerate(self._coordinates) if place[axis] == index]

    def get_comm_list(self, axis_name):
        """Groups of processes that differ only along `axis_name`."""
        axis = self._parallel_names.index(axis_name)
        groups = {}
        for rank, place in enumerate(self._coordinates):
            groups.setdefault(place[:axis] + place[axis + 1 :], []).append(rank)
        return list(groups.values())


class HybridCommunicateGroup:
    """The groups of this process: of one process each.

    Examples:
        >>> groups = proa.distributed.fleet.HybridCommunicateGroup()
        >>> groups.get_data_parallel_world_size(), groups.get_model_parallel_rank(), groups.get_data_parallel_group().ranks
        (1, 0, [0])
    """

    def __init__(self, topology=None):
        topology = CommunicateTopology() if topology is None else topology
        if topology.world_size() != 1:
            raise _C.located(
                NotImplementedError(
                    f"HybridCommunicateGroup: this version trains in one process, not {topology.world_size()}"
                )
            )
        self._topo = topology

    def topology(self):
        return self._topo

    def get_global_rank(self):
        return 0

    def _one(self):
        return 1

    def _zero(self):
        return 0

    def _group(self):
        from proa.distributed import collective

        return collective.get_group(0)

    get_data_parallel_world_size = get_model_parallel_world_size = get_sharding_parallel_world_size = _one
    get_pipe_parallel_world_size = _one
    get_data_parallel_rank = get_model_parallel_rank = get_sharding_parallel_rank = get_stage_id = _zero
    get_data_parallel_group = get_model_parallel_group = get_sharding_parallel_group = _group
    get_pipe_parallel_group = get_check_parallel_group = _group
    get_data_parallel_group_src_rank = get_model_parallel_group_src_rank = _zero
    get_sharding_parallel_group_src_rank = _zero
