"""The workers of a job that call functions of each other.

Each worker has a port of its own, on which others call it. A call has a connection for itself while it lasts, so that calls
within calls, also back to the caller, do not wait for each other; connections are used again.
"""

import atexit
import concurrent.futures
import os
import pickle
import socket
import threading
import time
import traceback
from typing import NamedTuple

from proa import _C
from proa.distributed.rpc.links import Link, Stranger, job_key

__all__ = [
    "WorkerInfo",
    "get_all_worker_infos",
    "get_current_worker_info",
    "get_worker_info",
    "init_rpc",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_MEETING = float(os.environ.get("PROA_INIT_TIMEOUT", "300"))  # seconds that workers wait for each other
_DEFAULT = -1  # no limit


class WorkerInfo(NamedTuple):
    """A worker: its name, its number, and where it is called.

    Examples:
        >>> proa.distributed.rpc.WorkerInfo("ps", 0, "127.0.0.1", 8001).name
        'ps'
    """

    name: str
    rank: int
    ip: str
    port: int


class _Future:
    """What a call will have returned."""

    def __init__(self, future, text):
        self._future, self._text = future, text

    def wait(self):
        """Waits; the value, or the error that the function raised.

        Raises:
            TimeoutError: it took longer than the call allows.
            ConnectionError: the worker is gone.
        """
        try:
            return self._future.result()
        except concurrent.futures.CancelledError:
            raise _C.located(ConnectionError(f"{self._text}: this worker has left the job")) from None

    result = wait

    def done(self):
        """Whether `wait` would return at once."""
        return self._future.done()


class _Room:
    """What one worker has: its port, those it knows, and connections to them."""

    def __init__(self, own, workers, key, listener, store, served):
        self.own, self.workers, self.key, self.store, self.served = own, workers, key, store, served
        self.named = {w.name: w for w in workers}
        self._listener, self._lock = listener, threading.Lock()
        self._free, self._all, self._open = {}, set(), True
        self.calls = concurrent.futures.ThreadPoolExecutor(max_workers=256, thread_name_prefix="rpc")
        threading.Thread(target=self._accept, name="rpc port", daemon=True).start()

    # Being called --------------------------------------------------------------

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="rpc served", daemon=True).start()

    def _serve(self, connection):
        try:
            link = Link(connection, self.key, caller=False)
        except OSError:  # a stranger, or one that left
            connection.close()
            return
        if not self._note(link):
            return
        try:
            while True:
                link.send(_answer(link.receive()))
        except OSError:
            self._drop(link)

    # Calling -------------------------------------------------------------------

    def call(self, to, data, until):
        """The bytes that the worker answers."""
        with self._lock:
            free = self._free.setdefault(to.name, [])
            link = free.pop() if free else None
        link = link or self._connect(to, until)
        try:
            link.send(data)
            answer = link.receive(until)
        except BaseException:
            self._drop(link)
            raise
        with self._lock:
            self._free[to.name].append(link)
        return answer

    def _connect(self, to, until):
        left = None if until is None else max(until - time.monotonic(), 0.001)
        connection = socket.create_connection((to.ip, to.port), timeout=left)
        try:
            link = Link(connection, self.key, caller=True)
        except BaseException:
            connection.close()
            raise
        if not self._note(link):
            raise _C.located(ConnectionError("this worker has left the job"))
        return link

    def _note(self, link):
        with self._lock:
            if self._open:
                self._all.add(link)
        if not self._open:
            link.close()
        return self._open

    def _drop(self, link):
        with self._lock:
            self._all.discard(link)
        link.close()

    def close(self):
        with self._lock:
            self._open = False
            links, self._all = list(self._all), set()
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        for link in links:
            link.close()
        self.calls.shutdown(wait=False, cancel_futures=True)


def _answer(data):
    """What is sent back for a call that came over a link."""
    try:
        function, args, kwargs = pickle.loads(data)
        answer = (True, function(*args, **kwargs))
    except Exception as error:  # noqa: BLE001
        answer = (False, (error, traceback.format_exc()))
    try:
        made = pickle.dumps(answer)
        if not answer[0]:
            pickle.loads(made)  # some errors cannot be made again
        return made
    except Exception as error:  # noqa: BLE001
        text = answer[1][1] if not answer[0] else f"its result does not travel: {type(error).__name__}: {error}"
        name = type(answer[1][0]).__name__ if not answer[0] else "TypeError"
        kind = TypeError if answer[0] else RuntimeError
        return pickle.dumps((False, (kind(f"{name}: {text}"), text)))


_rooms: dict = {"own": None, "used": 0, "met": None}


def init_rpc(name, rank=None, world_size=None, master_endpoint=None):
    """Makes this process a worker that others call, and returns when all of the job are there.

    Workers prove to each other that they know `PROA_JOB_SECRET` before anything is read from them; without one, all must be
    on the machine of the master, as one user.

    Args:
        name (str): of this worker; no other has it.
        rank (int, optional): its number; `PADDLE_TRAINER_ID` unless given, or that of the job where one has begun.
        world_size (int, optional): how many workers there are; `PADDLE_TRAINERS_NUM` unless given.
        master_endpoint (str, optional): "host:port" at which worker 0 listens; `PADDLE_MASTER_ENDPOINT` or `PADDLE_MASTER` unless given.
            A job that has begun meets where it did.

    Raises:
        RuntimeError: it was called before; another worker has the name or number; there is no secret that all know.
        ValueError: a number that is none of the job, or an endpoint that is none.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("alone", rank=0, world_size=1)
        >>> rpc.get_current_worker_info().name
        'alone'
        >>> rpc.shutdown()
    """
    if _rooms["own"] is not None:
        raise _C.located(RuntimeError("init_rpc: this process is a worker already; call shutdown first"))
    if not isinstance(name, str) or not name:
        raise _C.located(TypeError(f"init_rpc: name must be a string that is not empty, not {name!r}"))
    store, served, rank, size, host = _meeting(rank, world_size, master_endpoint)
    _rooms["used"] += 1
    prefix = f"rpc {_rooms['used']}"
    local = host in ("127.0.0.1", "localhost", "::1")
    key, file = job_key(store, rank, prefix, local, _MEETING) if size > 1 else (os.urandom(32), None)
    ip = "127.0.0.1" if local else _address_towards(host)
    listener = socket.create_server((ip, 0), backlog=256)
    own = WorkerInfo(name, rank, ip, listener.getsockname()[1])
    try:
        workers = _introduce(store, prefix, own, size)
    except BaseException:
        listener.close()
        raise
    finally:
        if file is not None:  # who has introduced itself has read it
            os.unlink(file)
    _rooms["own"] = _Room(own, workers, key, listener, store, served)
    _rooms["prefix"] = prefix
    _wait_for_all(store, f"{prefix} ready", size)


def _meeting(rank, size, endpoint):
    """(store, its server, rank, size, host) where workers find each other."""
    from proa.distributed import groups
    from proa.distributed.environment import is_initialized

    job = groups.context()
    if is_initialized() and job.store is not None and endpoint is None:
        for said, own, what in ((rank, job.rank, "rank"), (size, job.size, "world_size")):
            if said not in (None, own):
                raise _C.located(ValueError(f"init_rpc: {what} is {said}, and in the job that has begun it is {own}"))
        host = (
            os.environ.get("PADDLE_MASTER", os.environ.get("MASTER_ADDR", "127.0.0.1")).split("://")[-1].split(":")[0]
        )
        return job.store, None, job.rank, job.size, host
    rank = int(os.environ.get("PADDLE_TRAINER_ID", "0")) if rank is None else rank
    size = int(os.environ.get("PADDLE_TRAINERS_NUM", "1")) if size is None else size
    if isinstance(rank, bool) or not isinstance(rank, int) or not isinstance(size, int) or not 0 <= rank < size:
        raise _C.located(ValueError(f"init_rpc: rank must be 0 to world_size - 1, not {rank!r} of {size!r}"))
    if endpoint is None:
        endpoint = os.environ.get("PADDLE_MASTER_ENDPOINT") or os.environ.get("PADDLE_MASTER")
    if size == 1 and endpoint is None:
        return _C.distributed.HashStore(), None, 0, 1, "127.0.0.1"
    host, _, port = str(endpoint).rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise _C.located(ValueError(f"init_rpc: master_endpoint must be 'host:port', not {endpoint!r}"))
    host = "127.0.0.1" if host == "localhost" else host
    if _rooms["met"] is None or _rooms["met"][0] != (host, port):
        # It stays for a later init_rpc: who is early there must not find it gone.
        server = _C.distributed.TcpStoreServer(int(port)) if rank == 0 else None
        _rooms["met"] = (host, port), _C.distributed.TcpStore(host, int(port), _MEETING, rank), server
    _, store, server = _rooms["met"]
    return store, server, rank, size, host


def _address_towards(host):
    """The address of this machine that who reaches `host` reaches."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((host, 1))  # sends nothing
        return s.getsockname()[0]


def _introduce(store, prefix, own, size):
    """All workers, by number."""
    if store.add(f"{prefix} number {own.rank}", 1) > 1:
        raise _C.located(
            RuntimeError(f"init_rpc: another process is worker {own.rank} of this job; each has another rank")
        )
    store.set(f"{prefix} worker {own.rank}", "\n".join([own.ip, str(own.port), own.name]).encode())
    found = []
    for rank in range(size):
        ip, port, name = store.get(f"{prefix} worker {rank}", _MEETING).decode().split("\n", 2)
        found.append(WorkerInfo(name, rank, ip, int(port)))
    names = [w.name for w in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise _C.located(
            RuntimeError(
                f"init_rpc: workers {[w.rank for w in found if w.name == twice[0]]} are all named {twice[0]!r}; give each a name of its own"
            )
        )
    return found


def _wait_for_all(store, key, size, limit=_MEETING):
    until = time.monotonic() + limit
    store.add(key, 1)
    while store.add(key, 0) < size:
        if time.monotonic() > until:
            raise _C.located(TimeoutError(f"{key}: not all {size} workers came within {limit:.0f} s"))
        time.sleep(0.005)


def _room(what):
    if _rooms["own"] is None:
        raise _C.located(RuntimeError(f"{what}: this process is no worker; call init_rpc first"))
    return _rooms["own"]


def rpc_async(to, fn, args=None, kwargs=None, timeout=_DEFAULT):
    """Begins a call of a function on another worker.

    Args:
        to (str): the worker's name.
        fn (Callable): a function that the other worker has under the same name; it goes as a pickle, as do arguments and results.
        args (tuple, optional): what it is called with.
        kwargs (dict, optional): the same, by name.
        timeout (float): seconds until the call is given up; 0 or less: never.

    Returns:
        what has `wait()`, which returns what the function did, or raises what it raised.

    Raises:
        ValueError: there is no such worker.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.rpc_async("worker0", pow, args=(2, 10)).wait()
        1024
        >>> rpc.shutdown()
    """
    room, worker = _room("rpc_async"), get_worker_info(to)
    if not callable(fn):
        raise _C.located(TypeError(f"rpc: fn must be callable, not {type(fn).__name__}"))
    text = f"rpc to {to!r} of {getattr(fn, '__qualname__', fn)}"
    data = pickle.dumps((fn, tuple(args or ()), dict(kwargs or {})))
    until = None if timeout is None or timeout <= 0 else time.monotonic() + timeout

    def call():
        try:
            good, value = pickle.loads(room.call(worker, data, until))
        except TimeoutError:
            raise _C.located(TimeoutError(f"{text}: no answer within {timeout} s")) from None
        except Stranger as error:
            raise _C.located(ConnectionError(f"{text}: {error}")) from None
        except OSError as error:
            raise _C.located(ConnectionError(f"{text}: worker {worker.rank} is gone ({error})")) from None
        if good:
            return value
        raised, trace = value
        if hasattr(raised, "add_note"):
            raised.add_note(f"raised by {text}, there:\n{trace}")
        raise raised

    return _Future(room.calls.submit(call), text)


def rpc_sync(to, fn, args=None, kwargs=None, timeout=_DEFAULT):
    """Calls a function on another worker and waits for what it returns.

    Args:
        to (str): the worker's name.
        fn (Callable): a function that the other worker has under the same name.
        args (tuple, optional): what it is called with.
        kwargs (dict, optional): the same, by name.
        timeout (float): seconds until TimeoutError; 0 or less: never.

    Raises:
        TimeoutError: it took longer.
        ConnectionError: the worker is gone.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.rpc_sync("worker0", sorted, args=([3, 1],), kwargs={"reverse": True})
        [3, 1]
        >>> rpc.shutdown()
    """
    return rpc_async(to, fn, args, kwargs, timeout).wait()


def get_worker_info(name):
    """The worker of a name.

    Raises:
        ValueError: there is none.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.get_worker_info("worker0").rank
        0
        >>> rpc.shutdown()
    """
    room = _room("get_worker_info")
    if name not in room.named:
        raise _C.located(ValueError(f"rpc: there is no worker {name!r}; there are: {', '.join(map(repr, room.named))}"))
    return room.named[name]


def get_all_worker_infos():
    """All workers, by number.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> [w.name for w in rpc.get_all_worker_infos()]
        ['worker0']
        >>> rpc.shutdown()
    """
    return list(_room("get_all_worker_infos").workers)


def get_current_worker_info():
    """This worker.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.get_current_worker_info().rank
        0
        >>> rpc.shutdown()
    """
    return _room("get_current_worker_info").own


def shutdown():
    """Leaves when all workers have called it: until then this one is called by others.

    Examples:
        >>> from proa.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.shutdown()
        >>> rpc.get_all_worker_infos()
        Traceback (most recent call last):
            ...
        RuntimeError: ...call init_rpc first...
    """
    room = _room("shutdown")
    size, prefix = len(room.workers), _rooms["prefix"]
    try:
        _wait_for_all(room.store, f"{prefix} done", size)
        if room.served is not None:
            # The store goes with this process: others must have read that all are done.
            _wait_until(lambda: room.store.add(f"{prefix} left", 0) >= size - 1, 3.0)
        else:
            room.store.add(f"{prefix} left", 1)
    finally:
        _leave()


def _wait_until(true, limit):
    until = time.monotonic() + limit
    while not true() and time.monotonic() < until:
        time.sleep(0.005)


@atexit.register
def _leave():
    room, _rooms["own"] = _rooms["own"], None
    if room is not None:
        room.close()
        room.store = room.served = None
