"""The places of processes in a job that is parallel in several ways, and the groups that follow from them."""

import itertools

from proa import _C
from proa.distributed.groups import rank as own_rank
from proa.distributed.groups import world_size

__all__ = ["CommunicateTopology", "HybridCommunicateGroup", "ParallelMode"]

_NAMES = ("data", "pipe", "sharding", "model")
_SEPARATE = "sep"  # parts of a sequence


class ParallelMode:
    """What a job is parallel in, when it is one thing above all.

    Examples:
        >>> from proa.distributed.fleet.base.topology import ParallelMode
        >>> ParallelMode.PIPELINE_PARALLEL
        2
    """

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


class CommunicateTopology:
    """Numbers of processes, and their coordinates: the last way changes fastest.

    Args:
        hybrid_group_names (list[str]): the ways of being parallel.
        dims (list[int]): how many processes each has.

    Raises:
        ValueError: for lists of different lengths, a name that stands twice, a dim that is not positive.

    Examples:
        >>> topology = proa.distributed.fleet.CommunicateTopology(["data", "model"], [2, 2])
        >>> topology.get_rank(data=1, model=0), topology.get_axis_list("data", 0)
        (2, [0, 1])
    """

    def __init__(self, hybrid_group_names=_NAMES, dims=(1, 1, 1, 1)):
        if len(hybrid_group_names) != len(dims):
            raise _C.located(ValueError("CommunicateTopology: hybrid_group_names and dims must be of one length"))
        if len(set(hybrid_group_names)) != len(dims):
            raise _C.located(ValueError(f"CommunicateTopology: {list(hybrid_group_names)} has a name twice"))
        for name, dim in zip(hybrid_group_names, dims):
            if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
                raise _C.located(ValueError(f"CommunicateTopology: dims of {name} must be a positive int, not {dim!r}"))
        self._parallel_names = list(hybrid_group_names)
        self._dims = list(dims)
        self._coordinates = list(itertools.product(*(range(d) for d in dims)))
        self._world_size = len(self._coordinates)

    def _axis(self, name):
        if name not in self._parallel_names:
            raise _C.located(
                ValueError(f"CommunicateTopology: there is no {name!r}; there are {', '.join(self._parallel_names)}")
            )
        return self._parallel_names.index(name)

    def get_hybrid_group_names(self):
        return self._parallel_names

    def get_dim(self, axis_name):
        return self._dims[self._axis(axis_name)]

    get_dim_size = get_dim

    def world_size(self):
        return self._world_size

    def get_rank(self, **args):
        """The number of the process at these coordinates."""
        place = tuple(args.get(name) for name in self._parallel_names)
        if len(args) != len(place) or place not in self._coordinates:
            raise _C.located(
                ValueError(f"get_rank: {args} is no place of {dict(zip(self._parallel_names, self._dims))}")
            )
        return self._coordinates.index(place)

    def get_coord(self, rank):
        """The coordinates of a process."""
        if not 0 <= rank < self._world_size:
            raise _C.located(ValueError(f"get_coord: rank {rank} of {self._world_size}"))
        return self._coordinates[rank]

    def get_axis_list(self, axis_name, index):
        """The processes whose coordinate along `axis_name` is `index`."""
        axis = self._axis(axis_name)
        return [rank for rank, place in enumerate(self._coordinates) if place[axis] == index]

    def get_comm_list(self, axis_name):
        """Groups of processes that differ only along `axis_name`."""
        return self.get_fused_comm_list([axis_name])

    def get_fused_comm_list(self, axis_names):
        """Groups of processes that differ only along `axis_names`."""
        axes = {self._axis(name) for name in axis_names}
        groups = {}
        for rank, place in enumerate(self._coordinates):
            key = tuple(at for axis, at in enumerate(place) if axis not in axes)
            groups.setdefault(key, []).append(rank)
        return list(groups.values())

    def get_rank_from_stage(self, global_rank, **kwargs):
        """The process whose coordinates are those of `global_rank`, but for these."""
        place = dict(zip(self._parallel_names, self.get_coord(global_rank)))
        return self.get_rank(**{**place, **kwargs})


class HybridCommunicateGroup:
    """The groups of this process, one for each way of being parallel. All processes of a job make it together.

    Args:
        topology (CommunicateTopology): as many processes as the job has.

    Raises:
        ValueError: another number of processes.

    Examples:
        >>> groups = proa.distributed.fleet.HybridCommunicateGroup()
        >>> groups.get_data_parallel_world_size(), groups.get_model_parallel_rank(), groups.get_data_parallel_group().ranks
        (1, 0, [0])
    """

    def __init__(self, topology=None):
        topology = CommunicateTopology() if topology is None else topology
        if topology.world_size() != world_size():
            raise _C.located(
                ValueError(
                    f"HybridCommunicateGroup: {dict(zip(topology.get_hybrid_group_names(), topology._dims))} are "
                    f"{topology.world_size()} processes, and the job has {world_size()}"
                )
            )
        self._topo, self.global_rank, self.nranks = topology, own_rank(), world_size()
        names = topology.get_hybrid_group_names()
        self._place = dict(zip(names, topology.get_coord(self.global_rank)))
        self._groups = {name: self._make([name]) for name in names}
        # Over it the norm of all gradients is taken: what holds one copy of the model.
        self._check = self._make([name for name in names if name not in ("data", _SEPARATE)])

    def _make(self, names):
        """This process's group among those that differ only along `names`."""
        from proa.distributed import collective

        mine = None
        for ranks in self._topo.get_fused_comm_list(names):
            if len(ranks) == self.nranks:
                return collective.get_group(0)
            if len(ranks) == 1:
                made = collective.Group(ranks, -1)  # nobody to connect with
            else:
                made = collective.new_group(ranks)
            if self.global_rank in ranks:
                mine = made
        return mine

    def get_parallel_mode(self):
        """One of ParallelMode: the way that decides how a model is wrapped."""
        for name, mode in (
            ("pipe", ParallelMode.PIPELINE_PARALLEL),
            ("model", ParallelMode.TENSOR_PARALLEL),
            ("sharding", ParallelMode.SHARDING_PARALLEL),
            (_SEPARATE, ParallelMode.SEGMENT_PARALLEL),
        ):
            if self._size(name) > 1:
                return mode
        return ParallelMode.DATA_PARALLEL

    def topology(self):
        return self._topo

    def get_global_rank(self):
        return self.global_rank

    def _size(self, name):
        return self._topo.get_dim(name) if name in self._place else 1

    def _group(self, name):
        from proa.distributed import collective

        return self._groups[name] if name in self._groups else collective.Group([self.global_rank], -1)

    def get_check_parallel_group(self, sharding=True):
        return self._check

    def get_stage_id(self):
        return self._place.get("pipe", 0)

    def is_first_stage(self):
        return self.get_stage_id() == 0

    def is_last_stage(self):
        return self.get_stage_id() == self._size("pipe") - 1

    def get_rank_from_stage(self, stage_id, **kwargs):
        """The process of another stage at this one's other coordinates."""
        return self._topo.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def get_p2p_groups(self):
        """None: stages exchange tensors in the group of the pipeline."""
        return None


def _define(method, name):
    """get_data_parallel_group and its kind for each way."""
    for what, get in (
        ("world_size", lambda self: self._size(name)),
        ("rank", lambda self: self._place.get(name, 0)),
        ("group", lambda self: self._group(name)),
        ("group_src_rank", lambda self: self._group(name).ranks[0]),
    ):
        get.__name__ = f"get_{method}_parallel_{what}"
        get.__doc__ = f"The {what.replace('_', ' ')} of this process along {name!r}."
        setattr(HybridCommunicateGroup, get.__name__, get)


for _method, _name in (
    ("data", "data"),
    ("model", "model"),
    ("pipe", "pipe"),
    ("sharding", "sharding"),
    ("sep", "sep"),
):
    _define(_method, _name)
