"""Who this process is in a job: worker or server, and its number."""

import os

from proa import _C
from proa.distributed.environment import job
from proa.distributed.groups import rank as own_rank
from proa.distributed.groups import world_size

__all__ = ["PaddleCloudRoleMaker", "Role", "RoleMakerBase", "UserDefinedRoleMaker"]


class Role:
    """What a process does.

    Examples:
        >>> proa.distributed.fleet.Role.WORKER
        1
    """

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


def _util():
    from proa.distributed.fleet.base.util_factory import UtilBase

    return UtilBase()


class RoleMakerBase:
    """A worker; the first of one unless a subclass knows better."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs
        self._is_collective = False
        self._role = Role.WORKER
        self._current_id = 0
        self._workers, self._nodes = 1, 1
        self._worker_endpoints = ["127.0.0.1:6170"]
        self._server_endpoints = []

    def _is_worker(self):
        return self._role == Role.WORKER

    def _is_server(self):
        return self._role == Role.SERVER

    def _is_first_worker(self):
        return self._is_worker() and self._current_id == 0

    def _worker_num(self):
        return self._workers

    def _server_num(self):
        return len(self._server_endpoints)

    def _worker_index(self):
        return self._current_id

    _server_index = _role_id = _worker_index

    def _node_num(self):
        return self._nodes

    def _get_trainer_endpoints(self):
        return self._worker_endpoints

    def _get_pserver_endpoints(self):
        return self._server_endpoints

    def _generate_role(self):
        pass

    def _barrier(self, comm_world="worker"):
        _util().barrier(comm_world)

    def _all_gather(self, value, comm_world="worker"):
        return _util().all_gather(value, comm_world)

    def _all_reduce(self, value, mode="sum", comm_world="worker"):
        return _util().all_reduce(value, mode, comm_world)

    # As 1.x programs call them.
    is_worker, is_server, is_first_worker = _is_worker, _is_server, _is_first_worker
    worker_num, server_num, worker_index, server_index = _worker_num, _server_num, _worker_index, _worker_index
    get_trainer_endpoints, get_pserver_endpoints = _get_trainer_endpoints, _get_pserver_endpoints
    generate_role, barrier_worker = _generate_role, _barrier

    def to_string(self):
        """One line for logs."""
        return (
            f"role: {self._role}, current_id: {self._current_id}, worker_endpoints: {self._worker_endpoints}, "
            f"server_endpoints: {self._server_endpoints}"
        )


class PaddleCloudRoleMaker(RoleMakerBase):
    """What the launcher says in the environment.

    Args:
        is_collective (bool): workers only, no parameter servers.

    Raises:
        NotImplementedError: the environment asks for a parameter server.
        ValueError: it contradicts itself.

    Examples:
        >>> role = proa.distributed.fleet.PaddleCloudRoleMaker(is_collective=True)
        >>> proa.distributed.fleet.init(role)
        >>> proa.distributed.fleet.worker_index(), proa.distributed.fleet.worker_num()
        (0, 1)
    """

    def __init__(self, is_collective=False, **kwargs):
        super().__init__(**kwargs)
        self._is_collective = is_collective
        if os.environ.get("TRAINING_ROLE", "TRAINER").upper() == "PSERVER":
            raise _C.located(
                NotImplementedError(
                    "PaddleCloudRoleMaker: TRAINING_ROLE is PSERVER, and this version has no parameter servers; "
                    "start the worker alone"
                )
            )
        told = job()
        self._current_id, self._workers, self._nodes = own_rank(), world_size(), told.node_count
        if told.endpoints:
            self._worker_endpoints = told.endpoints
        elif told.world_size > 1 and told.master:  # a launcher that gives out one address: ranks stand for ports
            self._worker_endpoints = [f"{told.master[0]}:{told.master[1] + rank}" for rank in range(told.world_size)]


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """What the program says itself.

    Args:
        is_collective (bool): workers only.
        role (int): Role.WORKER.
        current_id (int): the number of this worker.
        worker_num (int): how many workers.
        worker_endpoints, server_endpoints (list[str]): addresses.

    Raises:
        NotImplementedError: for a server.
        ValueError: the launcher says something else.

    Examples:
        >>> fleet = proa.distributed.fleet
        >>> fleet.init(fleet.UserDefinedRoleMaker(current_id=0, worker_endpoints=["127.0.0.1:6170"]))
        >>> fleet.worker_endpoints()
        ['127.0.0.1:6170']
    """

    def __init__(self, is_collective=False, init_gloo=False, **kwargs):
        RoleMakerBase.__init__(self, **kwargs)
        self._is_collective = is_collective
        self._current_id = kwargs.get("current_id", 0)
        if kwargs.get("role", Role.WORKER) != Role.WORKER:
            raise _C.located(
                NotImplementedError("UserDefinedRoleMaker: this version has workers only; role must be Role.WORKER")
            )
        endpoints = list(kwargs.get("worker_endpoints") or ())
        self._workers = kwargs.get("worker_num") or len(endpoints) or 1
        told = job()
        if (self._current_id, self._workers) != (told.rank, told.world_size):
            raise _C.located(
                ValueError(
                    f"UserDefinedRoleMaker: worker {self._current_id} of {self._workers}, and the environment says "
                    f"{told.rank} of {told.world_size} ({told.source}); start the script with fleetrun"
                )
            )
        self._nodes = told.node_count
        if endpoints:
            self._worker_endpoints = endpoints
