"""What a launcher says about the job in the environment: who this process is, how many there are, where they meet.

Launchers write different variables for the same facts. One table lists them, by launcher; the first launcher whose
count of processes is there speaks. What contradicts itself or the other launcher's words is an error, not a guess.
"""

import os
import re
import zlib
from typing import NamedTuple, Optional

from proa import _C

__all__ = ["Job", "first_host", "is_initialized", "job", "require_one_process", "trainer_count", "trainer_id"]


class Job(NamedTuple):
    """One process of a job.

    Attributes:
        rank, world_size: its number, and how many there are.
        local_rank, local_world_size: the same on its machine.
        node_rank, node_count: of its machine.
        master: (address, port) where processes meet, or None for a job of one process.
        endpoints: "address:port" of each process, or none.
        source: who said so.
        etcd: Etcd where processes meet in place of master, or None.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    node_rank: int
    node_count: int
    master: Optional[tuple[str, int]]
    endpoints: list[str]
    source: str
    etcd: Optional["Etcd"] = None


class Etcd(NamedTuple):
    """A place in an etcd server: "etcd://address:port/prefix"."""

    host: str
    port: int
    prefix: str

    def below(self, name):
        """The place of this name in it."""
        return self._replace(prefix=f"{self.prefix}/{name}")

    def store(self, timeout):
        """Connects, within so many seconds."""
        return _C.distributed.EtcdStore(self.host, self.port, self.prefix, timeout)

    def __str__(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"etcd://{host}:{self.port}{self.prefix}"


def etcd_place(text, name):
    """The Etcd of "etcd://address:port/prefix", None for what begins otherwise; 2379 is the port unless one is given."""
    if not text.startswith("etcd://"):
        return None
    address, _, prefix = text.removeprefix("etcd://").partition("/")
    if ":" not in address.rpartition("]")[2]:
        address += ":2379"
    host, port = _endpoint(address, name)
    return Etcd(host, port, "/" + prefix.strip("/") if prefix.strip("/") else "")


class _Names(NamedTuple):
    """The variables of one launcher; the first that is set counts."""

    source: str
    world_size: tuple
    rank: tuple
    local_rank: tuple = ()
    local_world_size: tuple = ()
    node_rank: tuple = ()
    node_count: tuple = ()


_MINE = _Names(
    "paddle.distributed.launch",
    ("PADDLE_TRAINERS_NUM",),
    ("PADDLE_TRAINER_ID", "PADDLE_GLOBAL_RANK"),
    ("PADDLE_RANK_IN_NODE", "PADDLE_LOCAL_RANK"),
    ("PADDLE_LOCAL_SIZE",),
    ("PADDLE_NODE_RANK",),
    ("PADDLE_NNODES",),
)
_TORCHRUN = _Names(
    "torchrun",
    ("WORLD_SIZE",),
    ("RANK",),
    ("LOCAL_RANK",),
    ("LOCAL_WORLD_SIZE",),
    ("GROUP_RANK",),
    ("GROUP_WORLD_SIZE",),
)
_LAUNCHERS = (
    _MINE,
    _TORCHRUN,
    # Of srun alone: a batch script sees SLURM_NTASKS and SLURM_PROCID too, and is one process.
    _Names("Slurm", ("SLURM_STEP_NUM_TASKS",), ("SLURM_PROCID",), ("SLURM_LOCALID",), (), ("SLURM_NODEID",),
           ("SLURM_STEP_NUM_NODES",)),
    _Names("Open MPI", ("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_LOCAL_RANK",),
           ("OMPI_COMM_WORLD_LOCAL_SIZE",)),
    _Names("MPI (PMI)", ("PMI_SIZE",), ("PMI_RANK",), ("MPI_LOCALRANKID",), ("MPI_LOCALNRANKS",)),
    # An indexed job knows its index; the count has to be written into the pod's template.
    _Names("Kubernetes", ("JOB_COMPLETIONS",), ("JOB_COMPLETION_INDEX",)),
)  # fmt: skip


def _wrong(text):
    return _C.located(ValueError(f"distributed: the environment says {text}"))


def _number(names, default, least=0):
    """(value, name) of the first variable of `names` that is set, (default, None) if none is."""
    for name in names:
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        try:
            value = int(text)
        except ValueError:
            raise _wrong(f"{name}={text!r}; it must be an integer") from None
        if value < least:
            raise _wrong(f"{name}={text!r}; it must be at least {least}")
        return value, name
    return default, None


def _same(launcher, other, what, least):
    """Raises if two launchers name different numbers for the same thing."""
    value, name = _number(getattr(launcher, what), None, least)
    second, second_name = _number(getattr(other, what), None, least)
    if name and second_name and value != second:
        raise _wrong(f"{name}={value} and {second_name}={second}, which contradict each other; unset one of them")


def first_host(hosts):
    """The first name of a Slurm list: "node[03-07,9],gpu1" begins with node03.

    Args:
        hosts (str): as SLURM_JOB_NODELIST has it.
    """
    found = re.match(r"([^\[,]*)(?:\[([^\]]*)\]([^,\[]*))?", hosts.strip())
    name, ranges, end = found.groups() if found else ("", None, None)
    if ranges is not None:
        name += re.split("[-,]", ranges)[0] + (end or "")
    if not name:
        raise _wrong(f"a list of machines {hosts!r} that has no first one")
    return name


def _endpoint(text, name):
    """(address, port) of "address:port"; an IPv6 address stands in brackets."""
    address, _, port = text.strip().rpartition(":")
    if not address or not port.isdigit() or not 0 < int(port) < 65536:
        raise _wrong(f"{name}={text!r}; it must be address:port with a port of 1 to 65535")
    return address.strip("[]"), int(port)


def _port_of(text):
    """A port that all processes of one job find from its name, below those that systems give out."""
    return 15000 + zlib.crc32(text.encode()) % 10000


def _master(source, endpoints, node_count):
    """Where the processes of a job of several meet."""
    get = os.environ.get
    if get("PADDLE_MASTER") and not _etcd():
        return _endpoint(get("PADDLE_MASTER"), "PADDLE_MASTER")
    address, (port, _) = get("MASTER_ADDR"), _number(("MASTER_PORT",), None, 1)
    if address and port:
        return _endpoint(f"{address}:{port}", "MASTER_ADDR:MASTER_PORT")
    if endpoints:
        return _endpoint(endpoints[0], "PADDLE_TRAINER_ENDPOINTS")
    name = None
    if source == "Slurm":
        hosts = get("SLURM_STEP_NODELIST") or get("SLURM_JOB_NODELIST") or ""
        address = address or (first_host(hosts) if hosts else None)
        name = f"slurm.{get('SLURM_JOB_ID')}.{get('SLURM_STEP_ID')}"
    elif source in ("Open MPI", "MPI (PMI)"):
        address = address or ("127.0.0.1" if node_count == 1 else None)
        name = get("PMIX_NAMESPACE") or get("OMPI_MCA_orte_hnp_uri") or get("OMPI_MCA_ess_base_jobid") or get("PMI_ID")
    port = port or (_port_of(name) if name else None)
    if _etcd() and not (address and port):
        return None
    if not address or not port:
        missing = " and ".join(n for n, value in (("MASTER_ADDR", address), ("MASTER_PORT", port)) if not value)
        raise _wrong(
            f"that {source} started several processes, but not where they meet: set {missing} to the address of the "
            "process of rank 0 and a free port there, the same for all"
        )
    return address, port


def _etcd():
    return etcd_place(os.environ.get("PADDLE_MASTER", "").strip(), "PADDLE_MASTER")


def _launcher():
    for launcher in _LAUNCHERS:
        if any(os.environ.get(name, "").strip() for name in launcher.world_size):
            return launcher
    return None


class _Place(NamedTuple):
    """What follows of a process's machine from the other variables, where its own are not set."""

    local_rank: int
    local_world_size: int
    node_rank: int
    node_count: int


def _place(launcher, rank, world_size, endpoints):
    if launcher.source == "Kubernetes":  # a process a pod, and its machine is nobody's business
        return _Place(0, 1, rank, world_size)
    if endpoints:
        hosts = [endpoint.rpartition(":")[0] for endpoint in endpoints]
        mine, machines = hosts[rank], list(dict.fromkeys(hosts))
        return _Place(hosts[:rank].count(mine), hosts.count(mine), machines.index(mine), len(machines))
    if launcher.source == "Slurm":
        # "2(x3),1": two on each of three machines, one on the fourth.
        tasks = os.environ.get("SLURM_STEP_TASKS_PER_NODE", "")
        counts = [int(n) for n, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", tasks) for _ in range(int(times or 1))]
        node, _ = _number(launcher.node_rank, 0)
        if node < len(counts):
            return _Place(0, counts[node], node, len(counts))
    size, _ = _number(launcher.local_world_size, None, 1)
    nodes, _ = _number(launcher.node_count, -(-world_size // size) if size else 1, 1)
    size = size or -(-world_size // nodes)
    return _Place(rank % size, size, rank // size, nodes)


def job():
    """What the environment says of this process; of a process that nobody launched, that it is alone.

    Returns:
        Job

    Raises:
        ValueError: for what is no number, contradicts itself, or is not enough.
    """
    launcher = _launcher()
    if launcher is None:
        rank, name = _number(_MINE.rank, 0)
        if rank:
            raise _wrong(f"{name}={rank} but not how many processes there are; set PADDLE_TRAINERS_NUM")
        return Job(0, 1, 0, 1, 0, 1, None, _endpoints(), "nobody")
    world_size, size_name = _number(launcher.world_size, None, 1)
    rank, rank_name = _number(launcher.rank, 0)
    if launcher is _MINE and os.environ.get("WORLD_SIZE"):
        _same(_MINE, _TORCHRUN, "world_size", 1)
        _same(_MINE, _TORCHRUN, "rank", 0)
    if rank >= world_size:
        raise _wrong(f"{rank_name}={rank} and {size_name}={world_size}; numbers go from 0 to {world_size - 1}")
    endpoints = _endpoints()
    if endpoints and launcher is _MINE:
        _check_endpoints(endpoints, world_size, rank)
    found = _place(launcher, rank, world_size, endpoints if launcher is _MINE else [])
    node_count, count_name = _number(launcher.node_count, found.node_count, 1)
    node_rank, node_name = _number(launcher.node_rank, found.node_rank)
    if node_rank >= node_count:
        raise _wrong(f"{node_name}={node_rank} and {count_name or 'machines'}={node_count}")
    local_size, local_size_name = _number(launcher.local_world_size, found.local_world_size, 1)
    local_rank, local_name = _number(launcher.local_rank, found.local_rank)
    if local_rank >= local_size:
        raise _wrong(f"{local_name}={local_rank} and {local_size_name or 'processes on this machine'}={local_size}")
    master = _master(launcher.source, endpoints, node_count) if world_size > 1 else None
    etcd = _etcd() if world_size > 1 else None
    return Job(
        rank, world_size, local_rank, local_size, node_rank, node_count, master, endpoints, launcher.source, etcd
    )


def _endpoints():
    text = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
    return [endpoint.strip() for endpoint in text.split(",") if endpoint.strip()]


def _check_endpoints(endpoints, world_size, rank):
    for endpoint in endpoints:
        _endpoint(endpoint, "PADDLE_TRAINER_ENDPOINTS with")
    if len(endpoints) != world_size:
        raise _wrong(f"PADDLE_TRAINERS_NUM={world_size} and PADDLE_TRAINER_ENDPOINTS with {len(endpoints)} addresses")
    twice = next((e for e in endpoints if endpoints.count(e) > 1), None)
    if twice:
        raise _wrong(f"PADDLE_TRAINER_ENDPOINTS with {twice} twice; each process has an address and port of its own")
    mine = os.environ.get("PADDLE_CURRENT_ENDPOINT", "").strip()
    if mine and mine != endpoints[rank]:
        raise _wrong(
            f"PADDLE_CURRENT_ENDPOINT={mine}, and PADDLE_TRAINER_ENDPOINTS has {endpoints[rank]} for process {rank}"
        )


def trainer_id():
    """The number of this process in its job, 0 without a launcher."""
    launcher = _launcher()
    return 0 if launcher is None else _number(launcher.rank, 0)[0]


def trainer_count():
    """How many processes the job has, 1 without a launcher."""
    launcher = _launcher()
    return 1 if launcher is None else _number(launcher.world_size, 1, 1)[0]


def require_one_process(what, count=None):
    """Raises NotImplementedError if the job (or `count`) is more than one process."""
    count = trainer_count() if count is None else count
    if count > 1:
        raise _C.located(
            NotImplementedError(
                f"{what}: this version trains in one process, and {count} are asked for; start one (unset "
                "PADDLE_TRAINERS_NUM, or nprocs=1), which uses all cores of the machine"
            )
        )


_state = {"initialized": False}


def is_initialized():
    """Whether `init_parallel_env` has been called.

    Examples:
        >>> _ = proa.distributed.init_parallel_env()
        >>> proa.distributed.is_initialized()
        True
        >>> proa.distributed.destroy_process_group()
    """
    return _state["initialized"]


def note_initialized(whether):
    """This process is a member of the job from now on, or no longer."""
    _state["initialized"] = whether
