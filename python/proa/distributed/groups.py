"""The job that this process (or thread) is a rank of, and its groups.

A job begins with `begin` and ends with `end`. Ranks are processes, which meet in a store that rank 0 serves, or threads
of one process (`run_threads`), each with a job of its own. Without a job there is one group, of this process alone.
"""

import atexit
import ctypes
import os
import threading
import time
from typing import NamedTuple

from proa import _C
from proa.distributed.environment import is_initialized, note_initialized, trainer_count, trainer_id

__all__ = ["DEFAULT_TIMEOUT", "Context", "Group", "PerRank", "begin", "context", "end", "groups", "rank", "resolve", "run_threads", "world_size"]  # fmt: skip

DEFAULT_TIMEOUT = 1800.0  # seconds that a collective waits


class Group:
    """Processes that take part in a collective together.

    Attributes:
        ranks (list[int]): their numbers in the job.
        nranks (int): how many they are.
        rank (int): this process's place among them, -1 if it is none of them.
        id (int): the group's number; 0 is the group of all.

    Examples:
        >>> group = proa.distributed.new_group([0])
        >>> group.ranks, group.nranks, group.rank, group.get_group_rank(3)
        ([0], 1, 0, -1)
    """

    def __init__(self, ranks, id=0, name=None, carrier=None):
        self.ranks = list(ranks)
        self.id = id
        self.name = name or f"_default_pg{id}"
        self.carrier = carrier  # of _C.distributed; None: this process alone, or not a member
        self.pending = []  # tasks that were not waited for

    @property
    def nranks(self):
        return len(self.ranks)

    world_size = nranks

    @property
    def rank(self):
        return self.get_group_rank(rank())

    def get_group_rank(self, rank):
        """The place of a process of the job in the group; -1 if it is not in it."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def is_member(self):
        """Whether this process is in it."""
        return self.rank >= 0

    @property
    def process_group(self):
        return self

    def __repr__(self):
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {', '.join(map(str, self.ranks))}"


class Context:
    """A job, as one of its ranks sees it.

    Attributes:
        job: of _C.distributed; None for a job of one process.
        store, server: where ranks meet; the server is rank 0's.
        groups (dict[int, Group]): by number.
        kept (dict): what objects of the process keep for this rank alone (PerRank).
        forked (bool): this process is a child of the rank, and has nothing to say in the job.
    """

    def __init__(self, job=None, rank=0, size=1, store=None, server=None):
        self.job, self.rank, self.size, self.store, self.server = job, rank, size, store, server
        self.groups, self.kept, self.forked = {}, {}, False

    def check_member(self):
        """RuntimeError in a process that a rank has forked: what it sent would be taken for the rank's."""
        if self.forked:
            raise _C.located(
                RuntimeError(
                    f"distributed: process {os.getpid()} was forked by rank {self.rank} and is no rank of the job itself; exchange "
                    "tensors in the rank's own process"
                )
            )

    def new_group(self, ranks, timeout=DEFAULT_TIMEOUT, backend=None):
        """The next group: all ranks of the job call this, in the same order, and those in it wait for each other."""
        self.check_member()
        id = max(self.groups, default=-1) + 1
        backend = _backend(backend)
        carrier = None
        if self.job is not None and self.rank in ranks:
            shared = os.environ.get("PROA_SHARED_MEMORY", "1") != "0"
            carrier = self.job.new_group(id, ranks, timeout, shared, backend)
        group = self.groups[id] = Group(ranks, id, carrier=carrier)
        return group


def _backend(name):
    """The registered backend that an argument or the environment names."""
    said = "new_group: backend" if name is not None else "PADDLE_DISTRI_BACKEND"
    name = os.environ.get("PADDLE_DISTRI_BACKEND", "auto") if name is None else name
    there = _C.distributed.backends()
    if not isinstance(name, str):
        raise _C.located(TypeError(f"{said} must be a name, not {type(name).__name__}; there are: {', '.join(there)}"))
    if name.lower() in ("", "auto"):
        return "proa"
    if name.lower() not in there:
        why = _C.distributed.why_absent(name.lower())
        raise _C.located(
            ValueError(
                f"{said}={name!r}: there is no such backend here{why and ': ' + why}; there are: {', '.join(there)}, and "
                "None for the best"
            )
        )
    return name.lower()


_alone = Context()
_alone.groups[0] = Group([0], 0)
_process = {"context": None}
_thread = threading.local()


def context():
    """The job of this thread, else that of the process, else that of one process."""
    return getattr(_thread, "context", None) or _process["context"] or _alone


class PerRank:
    """An attribute of an object of the process of which ranks that are threads have a value each.

    Args:
        start: the value before one is set.

    Examples:
        >>> class Counter:
        ...     count = proa.distributed.groups.PerRank(0)
        >>> counter = Counter()
        >>> counter.count += 1
        >>> counter.count
        1
    """

    def __init__(self, start=None):
        self._start = start

    def __set_name__(self, owner, name):
        self._name = name

    @staticmethod
    def _home(instance):
        own = getattr(_thread, "context", None)
        return instance.__dict__ if own is None else own.kept.setdefault(instance, {})

    def __get__(self, instance, owner=None):
        return self if instance is None else self._home(instance).get(self._name, self._start)

    def __set__(self, instance, value):
        self._home(instance)[self._name] = value


def rank():
    """The number of this process in its job."""
    found = context()
    return found.rank if found is not _alone else trainer_id()


def world_size():
    """How many processes the job has."""
    found = context()
    return found.size if found is not _alone else trainer_count()


def groups():
    """{number: Group} of this process."""
    return context().groups


def resolve(group):
    """The Group that an argument `group` names: None is the group of all, a number is its."""
    context().check_member()
    if group is None:
        return groups()[0]
    if isinstance(group, int) and not isinstance(group, bool):
        if group not in groups():
            raise _C.located(ValueError(f"get_group: there is no group {group!r}; new_group makes one"))
        return groups()[group]
    return group


def begin(rank, size, master, timeout=DEFAULT_TIMEOUT, meeting_timeout=None, etcd=None):
    """Makes this process rank `rank` of a job of `size`; returns when all are there.

    Args:
        master (tuple[str, int]): where rank 0 listens; not asked for with etcd.
        timeout (float): seconds that a collective waits for others.
        meeting_timeout (float, optional): seconds that ranks wait for each other here; `PROA_INIT_TIMEOUT`, else 300.
        etcd (Etcd, optional): where they meet in place of a store of rank 0.
    """
    if _process["context"] is not None:
        return _process["context"]
    seconds = float(os.environ.get("PROA_INIT_TIMEOUT", "300")) if meeting_timeout is None else meeting_timeout
    _failed.clear()  # its port may be this one's
    store, server = (etcd.store(seconds), None) if etcd is not None else _served_store(rank, master, seconds)
    until = time.monotonic() + seconds
    try:
        if etcd is None:
            _introduce(store, rank, size)
        job = _C.distributed.processes(store, rank, size, seconds)
    except Exception:
        if server is not None:
            _failed.append(_Failed(store, server, size, min(until, time.monotonic() + _PATIENCE_AFTER_FAILURE)))
        raise
    made = Context(job, rank, size, store, server)
    _C.distributed.set_job_of_process(job)
    _process["context"] = made
    made.new_group(list(range(size)), timeout)
    store.add(_BEGUN, 1)
    note_initialized(True)
    return made


def _served_store(rank, master, seconds):
    """The store that rank 0 serves, and its server."""
    host, port = master
    # A launcher that serves the store says so.
    serves = rank == 0 and os.environ.get("PROA_STORE_SERVED", "0") == "0"
    server = _C.distributed.TcpStoreServer(port) if serves else None
    host = "127.0.0.1" if server is not None and host == "localhost" else host
    return _C.distributed.TcpStore(host, port, seconds, rank), server


_SIZES = "processes and the numbers of ranks that they know of"
_ONE = 1 << 40  # a process, beside the sum of those numbers


def _introduce(store, rank, size):
    """Says who this process is: RuntimeError where another is the same rank, or knows of another number of ranks."""
    store.set(f"size by {rank}", str(size).encode())
    if store.add(f"processes of rank {rank}", 1) > 1:
        raise _C.located(
            RuntimeError(
                f"init_parallel_env: another process is rank {rank} of this job already; give each process another number "
                "(PADDLE_TRAINER_ID), and each job another master port"
            )
        )
    count, total = divmod(store.add(_SIZES, _ONE + size), _ONE)
    if total != count * size:
        raise _C.located(
            RuntimeError(
                f"init_parallel_env: processes know of different numbers of ranks: rank {rank} of {size}"
                f"{_other_size(store, size)}; PADDLE_TRAINERS_NUM is the same for all"
            )
        )


def _other_size(store, size):
    """Who else said which other number, as far as it is found soon."""
    for other in range(min(4096, 2 * size)):
        try:
            said = int(store.get(f"size by {other}", 0.0))
        except Exception:  # noqa: BLE001
            continue
        if said != size:
            return f", rank {other} of {said}"
    return ""


# In the store: how many ranks have begun. Who serves the store stays until all have, or this many seconds.
_BEGUN = "ranks that have begun"
_PATIENCE = 3.0


def _wait_for_late_ones(made):
    until = time.monotonic() + _PATIENCE
    try:
        while made.store.add(_BEGUN, 0) < made.size and time.monotonic() < until:
            time.sleep(0.01)
    except Exception:  # noqa: BLE001
        return  # the store itself is in trouble, and the job with it


class _Failed(NamedTuple):
    """A meeting that came to nothing, and its store, which says why to ranks that come later.

    Attributes:
        until (float): on the monotonic clock; who comes after that finds nobody.
    """

    store: _C.distributed.TcpStore
    server: _C.distributed.TcpStoreServer
    size: int
    until: float


_failed: list[_Failed] = []
_PATIENCE_AFTER_FAILURE = 10.0


def _tell_late_ones():
    """Before this process ends: ranks that come to a meeting of which another one died would wait their whole limit."""
    for store, _, size, until in _failed:
        try:
            while store.add(_SIZES, 0) // _ONE < size and time.monotonic() < until:
                time.sleep(0.01)
        except Exception:  # noqa: BLE001
            continue  # the store itself is in trouble
        time.sleep(0.5)  # the last one asks for who died every 100 ms
    _failed.clear()


def end():
    """Leaves the job; what still runs ends with an error."""
    if context().forked:
        _process["context"] = None
        return
    if getattr(_thread, "context", None) is not None:
        made, _thread.context = _thread.context, None
        _C.distributed.set_job_of_thread(None)
    else:
        note_initialized(False)
        made, _process["context"] = _process["context"], None
        _C.distributed.set_job_of_process(None)
    if made is not None:
        if made.server is not None or (made.rank == 0 and isinstance(made.store, _C.distributed.EtcdStore)):
            _wait_for_late_ones(made)
            _leave_nothing(made.store)
        for group in made.groups.values():
            group.carrier = None
        made.groups.clear()
        made.kept.clear()
        made.job = made.store = made.server = None


def _leave_nothing(store):
    """What a job has left in a server that goes on."""
    try:
        if isinstance(store, _C.distributed.EtcdStore):
            store.clear()
    except Exception:  # noqa: BLE001
        return  # nobody is there any more


@atexit.register
def _leave():
    if _process["context"] is not None:
        end()
    _tell_late_ones()


def _in_child():
    """In a process that a rank has forked: it has the rank's objects, and neither their threads nor their connections."""
    for failed in _failed:
        _never_destroy(failed)
    _failed.clear()
    made = _process["context"]
    if made is None:
        return
    made.forked = True
    for thing in (made.job, made.store, made.server, *(group.carrier for group in made.groups.values())):
        if thing is not None:
            _never_destroy(thing)
    _C.distributed.set_job_of_process(None)


def _never_destroy(thing):
    """In a child: its end would say goodbye for the rank, and wait for threads that are not here."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


os.register_at_fork(after_in_child=_in_child)


_jobs = {"count": 0}
_count = threading.Lock()


def run_threads(function, ranks, *args, timeout=60.0):
    """Calls `function(*args)` on `ranks` threads, each of which is a rank of one job; for tests and for debuggers.

    Args:
        timeout (float): seconds that a collective waits for others.

    Returns:
        list: what each rank returned.

    Raises:
        Exception: what the first rank that failed raised.

    Examples:
        >>> def rank_and_sum():
        ...     x = proa.ones([2]) * proa.distributed.get_rank()
        ...     proa.distributed.all_reduce(x)
        ...     return proa.distributed.get_rank(), x.tolist()
        >>> from proa.distributed.groups import run_threads
        >>> run_threads(rank_and_sum, 2)
        [(0, [1.0, 1.0]), (1, [1.0, 1.0])]
    """
    with _count:
        _jobs["count"] += 1
        name = f"threads {_jobs['count']}"
    results, errors = [None] * ranks, []
    # All at once: a rank that is done early must not end the job before others begin.
    jobs = [_C.distributed.threads(name, rank, ranks) for rank in range(ranks)]

    def run(rank):
        try:
            _thread.context = Context(jobs[rank], rank, ranks)
            _C.distributed.set_job_of_thread(jobs[rank])
            jobs[rank] = None
            _thread.context.new_group(list(range(ranks)), timeout)
            results[rank] = function(*args)
        except BaseException as error:
            errors.append(error)
        finally:
            end()

    before = is_initialized()
    note_initialized(True)
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    note_initialized(before)
    if errors:
        raise errors[0]
    return results
