"""Connections between the launchers of a job: lines of JSON over TCP, of peers that know the job's secret."""

import hashlib
import hmac
import json
import os
import secrets
import selectors
import time

from proa import _C
from proa.distributed.launch.meeting import Meeting

__all__ = ["Client", "Server"]

_MOST = 1 << 20  # bytes of a message
_HELLO = 10.0  # seconds to say who one is
_BEAT = 5.0  # seconds between signs of life
_DEAD = 30.0  # of silence: the other machine is lost


def _proof(job, nonce, side):
    """That one knows the secret (PROA_JOB_SECRET; the job's name without one) without saying it."""
    secret = os.environ.get("PROA_JOB_SECRET") or "job " + job
    return hmac.new(secret.encode(), f"{side} {job} {nonce}".encode(), hashlib.sha256).hexdigest()


class _Peer:
    """One connection; reads and writes whole messages."""

    def __init__(self, connection):
        connection.setblocking(True)
        connection.settimeout(10.0)  # of a write; reads are asked for when something is there
        self.connection, self._buffer = connection, b""
        self.heard = self.since = self._said = time.monotonic()
        self.nonce, self.known = secrets.token_hex(16), False

    def send(self, message):
        self._said = time.monotonic()
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def beat(self):
        if time.monotonic() - self._said > _BEAT:
            self.send({"kind": "beat"})

    def read(self):
        """Messages that have come; ConnectionError when it is over or speaks another language."""
        data = self.connection.recv(1 << 16)
        if not data:
            raise _C.located(ConnectionError("closed the connection"))
        self.heard = time.monotonic()
        self._buffer += data
        if len(self._buffer) > _MOST:
            raise _C.located(ConnectionError("sent a message that is too long"))
        *lines, self._buffer = self._buffer.split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
            if not all(isinstance(m, dict) and isinstance(m.get("kind"), str) for m in messages):
                raise ValueError
        except ValueError:
            raise _C.located(ConnectionError("is no launcher of this job")) from None
        return [m for m in messages if m["kind"] != "beat"]

    def close(self):
        self.connection.close()


_LOCAL = 0  # the key of the machine that has the meeting


class Server:
    """The launcher that machines meet at, and its own machine among them.

    Args:
        plan (Plan): what is started.
        listener (socket|None): where others come; None for a job of one machine.
        office (Office|None): by which others find it; for as long as it is held the meeting is here.
    """

    def __init__(self, plan, listener=None, office=None):
        self._plan, self._office = plan, office
        self.meeting = Meeting(plan.nodes, plan.restarts, plan.timeout, token=secrets.token_hex(8))
        self._listener, self._peers, self._keys = listener, {}, 0
        self._selector = selectors.DefaultSelector()
        if listener is not None:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, None)

    def send(self, message):
        """What this machine says."""
        self._handle(_LOCAL, message)

    def _handle(self, key, message):
        kind, meeting = message["kind"], self.meeting
        if kind == "join":
            meeting.join(key, _offer(message))
        elif kind == "ready":
            meeting.ready(key, _offer(message))
        elif kind == "done":
            meeting.done(key)
        elif kind == "failed":
            meeting.failed(key, int(message["code"]), str(message["text"]), bool(message.get("clash")))
        elif kind == "leave":
            meeting.leave(key, str(message["why"]))

    def poll(self, wait=0.0):
        """Takes in what has come, and gives the messages to this machine."""
        if self._listener is not None:
            for event, _ in self._selector.select(wait):
                self._accept() if event.data is None else self._take(event.data)
        elif wait:
            time.sleep(wait)
        for key in list(self._peers):
            self._pulse(key)
        if self._office is not None and not self._office.hold():
            return [{"kind": "lost", "why": "another launcher has taken the meeting over"}]
        self.meeting.tick()
        mine = []
        while messages := self.meeting.messages():
            for key, message in messages:
                mine.append(message) if key == _LOCAL else self._deliver(key, message)
        return mine

    def _accept(self):
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        self._keys += 1
        peer = self._peers[self._keys] = _Peer(connection)
        self._selector.register(connection, selectors.EVENT_READ, self._keys)
        self._deliver(self._keys, {"kind": "challenge", "nonce": peer.nonce})

    def _take(self, key):
        peer = self._peers.get(key)
        if peer is None:
            return
        try:
            for message in peer.read():
                if peer.known:
                    self._handle(key, message)
                else:
                    self._welcome(key, peer, message)
        except (OSError, KeyError, TypeError, ValueError) as error:
            self._drop(key, str(error) or "has left")

    def _welcome(self, key, peer, message):
        job = self._plan.job_id
        if message.get("job") != job:
            peer.send({"kind": "refuse", "text": f"it belongs to job {message.get('job')!r}, and this is job {job!r}"})
            raise _C.located(ConnectionError("another job"))
        if not hmac.compare_digest(str(message.get("proof", "")), _proof(job, peer.nonce, "client")):
            peer.send({"kind": "refuse", "text": "it does not know the job's secret (PROA_JOB_SECRET)"})
            raise _C.located(ConnectionError("no secret"))
        peer.known = True
        peer.send({"kind": "welcome", "proof": _proof(job, str(message["nonce"]), "server")})
        self._handle(key, message)

    def _pulse(self, key):
        peer, now = self._peers[key], time.monotonic()
        if now - peer.heard > _DEAD or (not peer.known and now - peer.since > _HELLO):
            return self._drop(key, f"has not been heard of for {now - peer.heard:.0f} seconds")
        try:
            return peer.beat()
        except OSError:
            return self._drop(key, "has left")

    def _deliver(self, key, message):
        if key in self._peers:
            try:
                self._peers[key].send(message)
            except OSError:
                self._drop(key, "has left")

    def _drop(self, key, why):
        peer = self._peers.pop(key)
        self._selector.unregister(peer.connection)
        peer.close()
        if peer.known:
            self.meeting.leave(key, why)

    def close(self):
        """Says to the others that this machine leaves, if the job goes on, and ends; with an office they meet elsewhere."""
        if not self.meeting.ended and self._office is None:
            for key in list(self._peers):
                self._deliver(key, {"kind": "stop", "code": 1, "why": "the master's launcher was ended"})
        for peer in self._peers.values():
            peer.close()
        if self._listener is not None:
            self._listener.close()
        self._selector.close()
        if self._office is not None:
            self._office.leave(ended=self.meeting.ended)


def _offer(message):
    return {
        "rank": int(message["rank"]),
        "processes": int(message["processes"]),
        "host": str(message["host"]),
        "ports": [int(port) for port in message["ports"]],
        "restarts": int(message.get("restarts", 0)),
    }


class Client:
    """A launcher that has connected to the one that machines meet at."""

    def __init__(self, plan, connection, address):
        self._plan, self._peer, self._address = plan, _Peer(connection), _address(address)
        self._hello()

    def _hello(self):
        """Waits for the challenge; the proof goes out with the first message."""
        patience = min(_HELLO, self._plan.timeout)
        limit = time.monotonic() + patience
        self._peer.connection.settimeout(patience)
        while time.monotonic() < limit:
            for message in self._peer.read():
                if message["kind"] == "challenge":
                    self._nonce = str(message["nonce"])
                    return
                raise _C.located(ConnectionError("is no launcher of this job"))
        raise _C.located(ConnectionError("does not answer"))

    def send(self, message):
        if message["kind"] == "join":
            job = self._plan.job_id
            message = {**message, "job": job, "proof": _proof(job, self._nonce, "client"), "nonce": self._peer.nonce}
        try:
            self._peer.send(message)
        except OSError:
            pass  # the next poll says so

    def poll(self, wait=0.0):
        found = []
        try:
            self._peer.beat()
            connection = self._peer.connection
            with selectors.DefaultSelector() as selector:
                selector.register(connection, selectors.EVENT_READ)
                if selector.select(wait):
                    found = self._peer.read()
            if time.monotonic() - self._peer.heard > _DEAD:
                raise _C.located(ConnectionError("is silent"))
        except OSError as error:
            why = f"the master {self._address} {error}"
            # With etcd, another machine has the meeting then.
            return [
                {"kind": "stop", "code": 1, "why": why} if self._plan.etcd is None else {"kind": "lost", "why": why}
            ]
        for message in found:
            if message["kind"] == "welcome" and not hmac.compare_digest(
                str(message.get("proof", "")), _proof(self._plan.job_id, self._peer.nonce, "server")
            ):
                text = f"the master {self._address} does not know the job's secret (PROA_JOB_SECRET)"
                return [{"kind": "stop", "code": 1, "why": text}]
        return [message for message in found if message["kind"] != "welcome"]

    def close(self):
        self._peer.close()


def _address(endpoint):
    return f"[{endpoint[0]}]:{endpoint[1]}" if ":" in endpoint[0] else f"{endpoint[0]}:{endpoint[1]}"
