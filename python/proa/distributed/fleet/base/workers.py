"""The workers of a job, as fleet knows them: how many there are, which one this is, where they are."""

from proa import _C
from proa.distributed.environment import job
from proa.distributed.fleet.base.util_factory import UtilBase
from proa.distributed.groups import PerRank


class Workers:
    """What `Fleet` says of the workers of its job, and what they exchange."""

    _role_maker = PerRank()

    def __init__(self):
        self._util = UtilBase()

    def _started(self, what):
        if self._role_maker is None:
            raise _C.located(RuntimeError(f"fleet.{what}: call fleet.init() first"))
        return self._role_maker

    def is_first_worker(self):
        """Whether this is worker 0.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.is_first_worker()
            True
        """
        return self._started("is_first_worker")._is_first_worker()

    def worker_index(self):
        """The number of this worker.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.worker_index()
            0
        """
        return self._started("worker_index")._worker_index()

    def worker_num(self):
        """How many workers there are.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.worker_num()
            1
        """
        return self._started("worker_num")._worker_num()

    def is_worker(self):
        """Whether this process is a worker.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.is_worker()
            True
        """
        return self._started("is_worker")._is_worker()

    def is_server(self):
        """Whether this process is a parameter server.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.is_server()
            False
        """
        return self._started("is_server")._is_server()

    def worker_endpoints(self, to_string=False):
        """The addresses of the workers: a list, or text with commas.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> len(proa.distributed.fleet.worker_endpoints())
            1
        """
        found = self._started("worker_endpoints")._get_trainer_endpoints()
        return ",".join(found) if to_string else found

    def server_endpoints(self, to_string=False):
        """The addresses of the parameter servers.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.server_endpoints()
            []
        """
        found = self._started("server_endpoints")._get_pserver_endpoints()
        return ",".join(found) if to_string else found

    def server_num(self):
        """How many parameter servers there are.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.server_num()
            0
        """
        return self._started("server_num")._server_num()

    def server_index(self):
        """The number of this parameter server.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.server_index()
            0
        """
        return self._started("server_index")._server_index()

    def node_num(self):
        """How many machines there are.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.node_num()
            1
        """
        return self._started("node_num")._node_num()

    def local_rank(self):
        """The number of this worker on its machine.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.local_rank()
            0
        """
        return job().local_rank

    rank_in_node = local_rank

    def local_device_ids(self):
        """The devices of this worker.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.local_device_ids()
            [0]
        """
        return [self._device()]

    @staticmethod
    def _device():
        from proa.distributed.parallel import ParallelEnv

        return ParallelEnv().device_id

    def world_device_ids(self):
        """The devices of all workers.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.world_device_ids()
            [[0]]
        """
        return self._util.all_gather(self.local_device_ids())

    @property
    def util(self):
        """UtilBase: exchanges between workers."""
        return self._util

    def barrier_worker(self):
        """Waits for all workers.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.barrier_worker()
        """
        self._util.barrier()

    def all_reduce(self, input, mode="sum"):
        """Sum, max or min over all workers.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> np.asarray(proa.distributed.fleet.all_reduce(np.array([1.0, 2.0]), "max")).tolist()
            [1.0, 2.0]
        """
        return self._util.all_reduce(input, mode)
