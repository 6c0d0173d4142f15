"""Connections between workers that call each other: frames of bytes of peers that have proved that they know the job's key.

Both ends send a nonce and answer the other's with an HMAC of the key; every frame carries one too, over its number, so that
nothing is unpickled but what a worker of the job has sent. The bytes are not hidden: use a network that you trust.
"""

import hashlib
import hmac
import os
import secrets
import socket
import stat
import struct
import tempfile
import time

from proa import _C

__all__ = ["Link", "Stranger", "job_key"]

_NONCE = _MAC = 32
_HEAD = struct.Struct("!4sQ")  # what it is, and the bytes behind it
_MAGIC = b"PRPC"
_MOST = 1 << 34  # bytes of a frame
_PIECE = 1 << 20
_HELLO = 10.0  # seconds to prove who one is


class Stranger(ConnectionError):
    """The other end does not know the key of the job."""


class Link:
    """One connection, after both ends have proved that they know the key.

    Args:
        connection (socket.socket): connected.
        key (bytes): of the job.
        caller (bool): this end has connected; the two sides prove different things.

    Raises:
        Stranger: the other end does not know it.
    """

    def __init__(self, connection, key, caller):
        self._socket = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(_HELLO)
        own = secrets.token_bytes(_NONCE)
        connection.sendall(_MAGIC + own)
        began = self._exactly(len(_MAGIC) + _NONCE)
        if began[: len(_MAGIC)] != _MAGIC:
            raise _C.located(Stranger("it is no worker of a job"))
        nonces = own + began[len(_MAGIC) :] if caller else began[len(_MAGIC) :] + own
        sides = (b"caller", b"called") if caller else (b"called", b"caller")
        keys = [hmac.digest(key, side + nonces, hashlib.sha256) for side in sides]
        connection.sendall(hmac.digest(keys[0], b"hello", hashlib.sha256))
        if not hmac.compare_digest(self._exactly(_MAC), hmac.digest(keys[1], b"hello", hashlib.sha256)):
            raise _C.located(Stranger("it does not know the job's secret (PROA_JOB_SECRET)"))
        connection.settimeout(None)
        self._out, self._in = keys
        self._sent = self._read = 0

    def _exactly(self, size):
        """So many bytes; memory is taken as they come."""
        found = bytearray()
        while len(found) < size:
            piece = self._socket.recv(min(size - len(found), _PIECE))
            if not piece:
                raise _C.located(ConnectionError("it closed the connection"))
            found += piece
        return bytes(found)

    @staticmethod
    def _mac(key, number, head, data):
        made = hmac.new(key, struct.pack("!Q", number) + head, hashlib.sha256)
        made.update(data)
        return made.digest()

    def send(self, data):
        """One frame."""
        head = _HEAD.pack(_MAGIC, len(data))
        # The head has a proof of its own, so that nobody else decides how much is read.
        self._socket.sendall(head + self._mac(self._out, self._sent, head, b""))
        self._socket.sendall(data)
        self._socket.sendall(self._mac(self._out, self._sent, head, data))
        self._sent += 1

    def receive(self, until=None):
        """The next frame.

        Args:
            until (float, optional): of time.monotonic, at which TimeoutError is raised.

        Raises:
            Stranger: it is not what the other end has sent.
        """
        self._limit(until)
        head = self._exactly(_HEAD.size)
        if not hmac.compare_digest(self._exactly(_MAC), self._mac(self._in, self._read, head, b"")):
            raise _C.located(Stranger("it sent a frame without proof of the job's secret"))
        magic, size = _HEAD.unpack(head)
        if magic != _MAGIC or size > _MOST:
            raise _C.located(Stranger(f"it announces a frame of {size} bytes; at most {_MOST} are read"))
        data = self._exactly(size)
        if not hmac.compare_digest(self._exactly(_MAC), self._mac(self._in, self._read, head, data)):
            raise _C.located(Stranger("it sent a frame that was changed on the way"))
        self._read += 1
        self._socket.settimeout(None)
        return data

    def _limit(self, until):
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise _C.located(TimeoutError("timed out"))
        self._socket.settimeout(left)

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


def job_key(store, rank, name, local, limit):
    """The key of a job's calls, the same on all workers.

    It is made of `PROA_JOB_SECRET` and a number of this job. Without a secret, workers of one machine and user find it in a file
    that nobody else can read.

    Args:
        store: where workers meet; it is not trusted with the key itself.
        local (bool): all workers are on this machine.
        limit (float): seconds that worker 0 is waited for.

    Returns:
        (bytes, str or None): the key, and on worker 0 the file, which is to go when all have it.

    Raises:
        RuntimeError: there is no secret that all workers can know.
    """
    secret = os.environ.get("PROA_JOB_SECRET", "")
    said = f"{name} secret"
    if rank == 0:
        store.set(f"{name} number", secrets.token_bytes(16))
        store.set(said, b"known" if secret else _keep().encode() if local else b"none")
    number, where = store.get(f"{name} number", limit), store.get(said, limit).decode()
    if (where == "known") != bool(secret) or where == "none":
        raise _C.located(
            RuntimeError(
                "init_rpc: calls run code of whoever makes them, so that workers prove to each other that they are of the job: set "
                "PROA_JOB_SECRET, to the same value on all workers"
                + ("" if where != "none" else ", or meet at 127.0.0.1")
            )
        )
    base = secret.encode() if secret else _kept(where)
    return hmac.digest(base, b"rpc" + number, hashlib.sha256), where if rank == 0 and not secret else None


def _keep():
    """A file with a new secret, which this user alone can read."""
    handle, path = tempfile.mkstemp(prefix="proa_rpc_")
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(32))
    return path


def _kept(path):
    """What such a file says."""
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077 or not stat.S_ISREG(about.st_mode):
                raise _C.located(OSError("others can read or write it"))
            secret = file.read(32)
            if len(secret) != 32:
                raise _C.located(OSError("it is cut off"))
            return secret
    except OSError as error:
        raise _C.located(
            RuntimeError(
                f"init_rpc: the secret of the job in {path} cannot be had ({error}); set PROA_JOB_SECRET to the same value on all workers"
            )
        ) from None
