"""The ranks of one machine: processes that are started, watched and ended together, with one log each."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from typing import NamedTuple

from proa import _C

__all__ = ["Failure", "Guardian", "Ranks", "free_ports"]

_GRACE = 10.0  # seconds between "end" and "you are ended"
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_libc = ctypes.CDLL(None, use_errno=True)


class Failure(NamedTuple):
    """The first rank that failed: its number, exit code as a shell says it, what happened, the end of its log."""

    rank: int
    code: int
    text: str
    tail: str


def free_ports(count, first=None):
    """Ports of this machine that nobody has: any, or the next ones from `first` on."""
    if first is None:
        held = [socket.create_server(("", 0)) for _ in range(count)]
        ports = [s.getsockname()[1] for s in held]
        for s in held:
            s.close()
        return ports
    ports = []
    for port in range(first, 65536):
        if len(ports) == count:
            return ports
        try:
            socket.create_server(("", port)).close()
            ports.append(port)
        except OSError:
            continue
    raise _C.located(OSError(f"launch: there are not {count} free ports from {first} on"))


class Guardian:
    """A process that outlives this one by a moment: when this one is killed, it kills the ranks' process groups.

    The kernel ends ranks whose launcher dies, but not what they have started (workers that read data).
    """

    def __init__(self):
        reader, self._writer = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(reader)
            return
        try:
            os.close(self._writer)
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            # Nothing of the launcher's output is held open by it.
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            self._watch(reader)
        finally:
            os._exit(0)

    @staticmethod
    def _watch(reader):
        groups = set()
        with os.fdopen(reader) as lines:
            for line in lines:
                number = int(line)
                groups.add(number) if number > 0 else groups.discard(-number)
        for group in groups:
            _kill(group, signal.SIGKILL)

    def watch(self, group):
        os.write(self._writer, b"%d\n" % group)

    def forget(self, group):
        os.write(self._writer, b"%d\n" % -group)

    def close(self):
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None
            os.waitpid(self._pid, 0)


def _kill(group, number):
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def _dies_with(parent):
    """Called in a new process: the kernel ends it when the launcher ends."""

    def prepare():
        _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _tail(path, begin, lines=20, most=64 * 1024):
    """The last lines of a log, none of them before `begin`."""
    if path is None:
        return ""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(begin, size - most))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])


class _Rank:
    def __init__(self, number, process, log, begin):
        self.number, self.process, self.log, self.begin = number, process, log, begin
        self.shown = begin  # how much of the log the terminal has
        self.code = None


class Ranks:
    """Processes of one round of a job.

    Args:
        guardian (Guardian): is told of each process group.
    """

    def __init__(self, guardian):
        self._guardian = guardian
        self._ranks = []
        self._left = []  # those that are still there

    def start(self, number, command, environment, log):
        """Starts one rank in a process group of its own.

        Args:
            number (int): its rank in the job.
            command (list[str]): what it runs.
            environment (dict): all of its variables.
            log (str|None): the file that its output is added to; None for the terminal.
        """
        begin, out = 0, None
        if log is not None:
            out = open(log, "ab")  # noqa: SIM115 (the rank's, closed below)
            begin = out.tell()
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out and subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_dies_with(os.getpid()),  # noqa: PLW1509 (this process has one thread that runs Python)
            )
        except OSError as error:
            raise _C.located(type(error)(f"launch: {command[0]} does not start: {error.strerror}")) from None
        finally:
            if out is not None:
                out.close()
        self._guardian.watch(process.pid)
        rank = _Rank(number, process, log, begin)
        self._ranks.append(rank)
        self._left.append(rank)

    def show(self):
        """Copies what the first rank of this machine has written since the last time to the terminal."""
        rank = self._ranks[0] if self._ranks else None
        if rank is None or rank.log is None:
            return
        with open(rank.log, "rb") as file:
            file.seek(rank.shown)
            while text := file.read(1 << 16):
                rank.shown += len(text)
                sys.stdout.buffer.write(text)
        sys.stdout.flush()

    def poll(self):
        """Reaps the ranks that are over.

        Returns:
            Failure|None: the first one that failed.
        """
        failed = []
        for rank in list(self._left):
            # Looked at without reaping: while its number is taken, its group is nobody else's.
            if os.waitid(os.P_PID, rank.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            self._reap(rank)
            if rank.code != 0:
                failed.append(rank)
        # Of several at once: one that was killed is the cause, the others noticed it.
        failed.sort(key=lambda rank: (rank.code > 0, rank.number))
        return self._failure(failed[0]) if failed else None

    def _reap(self, rank):
        _kill(rank.process.pid, signal.SIGKILL)  # what it left behind
        rank.code = rank.process.wait()
        self._guardian.forget(rank.process.pid)
        self._left.remove(rank)

    @staticmethod
    def _failure(rank):
        code, text = rank.code, f"exited with code {rank.code}"
        if code < 0:
            text = f"was killed by signal {-code} ({signal.Signals(-code).name})"
            code = 128 - code
        return Failure(rank.number, code, text, _tail(rank.log, rank.begin))

    def over(self):
        """Whether all ranks have ended."""
        return not self._left

    def send(self, number):
        """Passes a signal on to all ranks and what they have started."""
        for rank in self._left:
            _kill(rank.process.pid, number)

    def stop(self, grace=_GRACE):
        """Ends the ranks: asks, waits, then kills; returns when none is left."""
        self.send(signal.SIGTERM)
        limit = time.monotonic() + grace
        while self._left and time.monotonic() < limit:
            self.poll()
            time.sleep(0.02)
        self.send(signal.SIGKILL)
        for rank in list(self._left):
            os.waitid(os.P_PID, rank.process.pid, os.WEXITED | os.WNOWAIT)
            self._reap(rank)
