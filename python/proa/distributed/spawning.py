"""spawn: calls a function in each of several new processes; in this one, if there is one."""

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import traceback

from proa import _C

__all__ = ["MultiprocessContext", "SpawnError", "spawn"]

_OPTIONS = ("start_method", "gpus", "xpus", "npus", "mlus", "cpus", "ips", "devices", "backend", "cloud_node_rank",
            "node_ip", "print_config", "selected_devices", "cluster_node_ips", "started_port")  # fmt: skip
_GRACE = 5.0  # seconds between "end" and "you are ended"


class SpawnError(RuntimeError):
    """A process of `spawn` failed; the message has its traceback, `__cause__` the exception itself if it can be sent.

    Attributes:
        rank (int): its number.
        exit_code (int): negative for a signal.
    """

    def __init__(self, text, rank, exit_code):
        super().__init__(text)
        self.rank, self.exit_code = rank, exit_code


def _dies_with(parent):
    """The kernel ends this process when the one that spawned it ends."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (AttributeError, OSError):
        return
    if os.getppid() != parent:
        os._exit(1)


def _run(parent, function, args, out):
    """What a spawned process does; `out` gets (traceback, exception or None) of a failure."""
    _dies_with(parent)
    # A group of its own: it is ended together with what it has started, and Ctrl-C comes to the parent alone.
    os.setpgid(0, 0)
    try:
        function(*args)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        try:
            sent = pickle.dumps(error)
            pickle.loads(sent)  # what cannot be made again there is not sent
        except Exception:
            sent = None
        out.send((traceback.format_exc(), sent))
        out.close()
        sys.exit(1)


class MultiprocessContext:
    """What `spawn(join=False)` returns: the processes, and `join` that waits for them.

    Attributes:
        processes (list): one for each rank; none if the function was called in this process.
    """

    def __init__(self, processes=(), errors=()):
        self.processes = list(processes)
        self._errors = list(errors)
        self._left = dict(enumerate(self.processes))

    def join(self, timeout=None):
        """Waits for all.

        Args:
            timeout (float, optional): seconds; forever unless given.

        Returns:
            bool: True when they are over, False when the time is.

        Raises:
            SpawnError: one of them failed; the others have been ended.
        """
        limit = None if timeout is None else time.monotonic() + timeout
        try:
            while self._left:
                wait = None if limit is None else max(0.0, limit - time.monotonic())
                ended = multiprocessing.connection.wait([p.sentinel for p in self._left.values()], wait)
                failed = self._reap(ended)
                if failed:
                    self._stop()
                    self._raise(*failed)
                if not ended and limit is not None and time.monotonic() >= limit:
                    return False
        except KeyboardInterrupt:
            self._stop()
            raise
        return True

    def _reap(self, sentinels):
        """(rank, process) of the first that failed, or None; one that was killed counts before the others."""
        failed = []
        for rank, process in list(self._left.items()):
            if process.sentinel in sentinels:
                _kill(process, signal.SIGKILL)  # what it left behind
                process.join()
                del self._left[rank]
                if process.exitcode:
                    failed.append((process.exitcode > 0, rank, process))
        return min(failed)[1:] if failed else None

    def _stop(self):
        """Ends what is left: asks, waits, then kills."""
        for process in self._left.values():
            _kill(process, signal.SIGTERM)
        limit = time.monotonic() + _GRACE
        for process in self._left.values():
            process.join(max(0.0, limit - time.monotonic()))
            _kill(process, signal.SIGKILL)
            process.join()
        self._left.clear()

    def _raise(self, rank, process):
        code = process.exitcode
        text, cause = "", None
        try:
            if self._errors[rank].poll():
                text, sent = self._errors[rank].recv()
                cause = None if sent is None else pickle.loads(sent)
        except (EOFError, OSError):
            pass
        how = f"was killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exited with code {code}"
        how = f"failed:\n\n{text}" if text else how
        raise _C.located(SpawnError(f"spawn: process {rank} of {len(self.processes)} {how}", rank, code)) from cause


def _kill(process, number):
    """A signal to a process and what it has started, or to it alone before it has a group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(process.pid, number)
            return
        except (ProcessLookupError, PermissionError):
            continue


def _call_here(func, args):
    """The only process of a job is this one."""
    before = {name: os.environ.get(name) for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")}
    os.environ.update(PADDLE_TRAINER_ID="0", PADDLE_TRAINERS_NUM="1")
    try:
        func(*args)
    finally:
        _set(before)
    return MultiprocessContext()


def _set(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


_environment = threading.Lock()


def _start(func, args, count, daemon, options):
    from proa.distributed.launch.agent import rank_environment
    from proa.distributed.launch.options import parse
    from proa.distributed.launch.ranks import free_ports

    # The launcher's own account of one machine with so many ranks.
    flags = ["--standalone", "--nproc_per_node", str(count)]
    if options.get("started_port"):
        flags += ["--started_port", str(options["started_port"])]
    devices = next(
        (options[n] for n in ("gpus", "xpus", "npus", "mlus", "devices", "selected_devices") if options.get(n)), None
    )
    if devices:
        flags += ["--devices", devices if isinstance(devices, str) else ",".join(map(str, devices))]
    plan = parse([*flags, "spawn"])
    message = {
        "nodes": [{"host": plan.host, "processes": count, "ports": free_ports(count + 1, plan.port)}],
        "number": 0,
        "restarts": 0,
    }
    context = multiprocessing.get_context(options.get("start_method") or "spawn")
    processes, errors = [], []
    for rank in range(count):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(
            target=_run, args=(os.getpid(), func, args, writer), daemon=daemon, name=f"spawn-{rank}"
        )
        with _environment:
            # A new process reads its variables before it runs anything of ours: OpenMP counts its threads once.
            wanted = rank_environment(plan, message, rank)
            changed = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
            before = {name: os.environ.get(name) for name in changed}
            os.environ.update(changed)
            try:
                process.start()
            except BaseException:
                _set(before)
                MultiprocessContext(processes, errors)._stop()
                raise
            _set(before)
        writer.close()
        processes.append(process)
        errors.append(reader)
    return MultiprocessContext(processes, errors)


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Calls `func(*args)` in `nprocs` new processes that are one job; one is this process.

    The function and its arguments go to the processes by pickle: it is a function of a module or of the script, whose
    own call of `spawn` stands under `if __name__ == "__main__":`. When one process fails, the others are ended.

    Args:
        func (Callable): starts with `init_parallel_env()`.
        args (tuple): its arguments.
        nprocs (int): how many; -1 is one for each device of this machine: 1.
        join (bool): wait for the end.
        daemon (bool): they are ended when this process ends, and start no processes themselves.
        start_method (str): "spawn" (a new interpreter), "fork" or "forkserver".
        started_port (int): the first of their ports; any that are free unless given.
        gpus, devices (str|list): one or several numbers for each process.
        options: the others of the reference are accepted.

    Returns:
        MultiprocessContext, or None with `join`.

    Raises:
        SpawnError: a process failed; the message has its traceback.
        TypeError, ValueError: for other arguments.

    Examples:
        >>> proa.distributed.spawn(print, args=("a step",), nprocs=1)
        a step
    """
    if not callable(func):
        raise _C.located(TypeError(f"spawn: func must be a function, not {type(func).__name__}"))
    if isinstance(nprocs, bool) or not isinstance(nprocs, int) or (nprocs < 1 and nprocs != -1):
        raise _C.located(ValueError(f"spawn: nprocs must be a positive int or -1, not {nprocs!r}"))
    wrong = [name for name in options if name not in _OPTIONS]
    if wrong:
        raise _C.located(ValueError(f"spawn: there is no option {wrong[0]!r}; the options are {', '.join(_OPTIONS)}"))
    if options.get("start_method") not in (None, "spawn", "fork", "forkserver"):
        raise _C.located(
            ValueError(f"spawn: start_method must be 'spawn', 'fork' or 'forkserver', not {options['start_method']!r}")
        )
    if not isinstance(args, tuple):
        args = (args,)
    if nprocs in (1, -1):
        context = _call_here(func, args)
    else:
        context = _start(func, args, nprocs, daemon, options)
    if join:
        context.join()
        return None
    return context
